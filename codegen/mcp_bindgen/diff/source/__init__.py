"""The source view of a comparison: definitions, the classes made of them, and what a schema says beside types."""
