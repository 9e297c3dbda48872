"""Ingestion: files become documents, which say exactly what the file says."""
