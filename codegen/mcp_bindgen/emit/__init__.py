"""Emission: turns the intermediate representation into views, and views into Python source files."""
