"""Elicitation and sampling beyond the typed requests: forms, web pages, review of what a model gets."""
