"""Serve what a Python file defines, and restart the server when files change."""
