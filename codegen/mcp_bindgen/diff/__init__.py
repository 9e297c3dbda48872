"""Differences between two revisions: what breaks, which programs it affects, and a message that proves it."""
