"""The local service: HTTP in front of one loaded target."""
