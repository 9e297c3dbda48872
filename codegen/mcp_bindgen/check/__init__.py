"""Check servers against the requirements of the revisions that they speak."""
