"""Changes of lists and resources: what a server reports, and who subscribed or listens."""
