"""Calling: the module of a typed client, from the types of its tools to its text."""
