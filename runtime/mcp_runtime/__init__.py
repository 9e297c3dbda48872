"""The runtime of mcp-bindgen: what every generated revision stands on. It imports no generated module."""
