"""Schemas and results in the forms of three providers of models. No SDK is imported."""
