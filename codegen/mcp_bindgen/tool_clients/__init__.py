"""Typed clients for the tools of one server: from a list of tools to a module, and from two lists to findings."""
