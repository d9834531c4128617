"""The tool server for agents that speak the Model Context Protocol.

``tools`` says what the tools take and give, ``roots`` which files they may touch, ``editor`` does
the work in a thread, ``results`` words the answers, ``server`` is the protocol's side, and
``transport`` runs it over standard input and output or over HTTP.
"""
