"""Ingestion: what each file says, as written, with file and line."""
