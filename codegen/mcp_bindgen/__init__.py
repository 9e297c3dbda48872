"""The generator of mcp-bindgen: reads the schema of one protocol revision and writes typed Python bindings for it."""
