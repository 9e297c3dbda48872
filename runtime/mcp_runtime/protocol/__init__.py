"""The protocol without I/O: JSON-RPC messages, sessions, lifecycles, capabilities, and what values must look like."""
