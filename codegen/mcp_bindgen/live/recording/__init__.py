"""Record messages, and read those that were recorded or logged."""
