"""Find the lines of a user's Python code that are affected by the differences between two revisions."""
