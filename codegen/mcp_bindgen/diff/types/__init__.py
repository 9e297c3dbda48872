"""Types of two revisions: what they come down to, and which of them say the same."""
