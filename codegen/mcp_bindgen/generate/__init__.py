"""Generation: from a request to a plan of files, and to the files."""
