"""Differences between two revisions: what breaks, for whom, and a message that proves it."""
