"""Migration guides from one revision to another."""
