"""The protocol without I/O: JSON-RPC messages, sessions, lifecycles, capabilities, and validation."""
