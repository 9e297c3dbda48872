"""Which lines of a user's own Python code the differences between two revisions touch."""
