"""Proposals: what a changed schema.ts means for messages, bindings, peers of its base, and the runtime."""
