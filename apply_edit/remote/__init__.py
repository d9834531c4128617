"""Edits merged by a service that runs on this machine already, so that no second target is loaded.

``announcement`` says what a service tells about itself and which of that is trusted, ``client``
speaks its native API, ``applier`` decides when it is asked. Does not know the service's own code.
"""
