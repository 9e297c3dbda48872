"""The generator of mcp-bindgen: reads the schema of a protocol revision and writes typed Python bindings for it."""
