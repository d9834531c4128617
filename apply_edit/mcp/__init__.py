"""The tool server for agents that speak the Model Context Protocol."""
