"""A gateway that watches tasks."""
