"""The runtime that all generated bindings use. It imports no generated module."""
