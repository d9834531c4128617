"""The decode engine: target, cache, drafts, verification, the loop.

Importing this package imports no torch; its modules do.
"""
