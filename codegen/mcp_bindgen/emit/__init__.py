"""Emission: the intermediate representation becomes views, the views become Python source files."""
