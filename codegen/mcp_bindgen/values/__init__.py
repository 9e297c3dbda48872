"""Values of the types of a protocol: for proofs, examples and tests."""
