"""Checks messages of other programs: one by one, or a whole conversation observed between its two sides."""
