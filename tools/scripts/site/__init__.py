"""The documentation site: pages of docs/, and reference pages from docstrings, commands and examples."""
