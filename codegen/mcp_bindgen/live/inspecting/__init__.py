"""Inspect a server: what it offers, one call, the answers to its questions, all servers of a configuration."""
