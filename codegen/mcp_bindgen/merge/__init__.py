"""Merge two readings of a revision into one: lowering, reconciling, errata, and the definitions of the IR."""
