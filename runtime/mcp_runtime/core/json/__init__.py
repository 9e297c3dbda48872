"""JSON: its text, the types of its values in Python, and pointers into it."""
