"""Types of two revisions: their normal forms, and which of them are equivalent."""
