"""The source view of a comparison: definitions, the classes generated from them, and annotations."""
