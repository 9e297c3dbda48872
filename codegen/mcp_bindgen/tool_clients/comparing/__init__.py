"""Comparing: what a changed contract breaks, in schemas and in the lines of code that call its tools."""
