"""Two readings of one revision, brought to one: lowering, reconciling, errata, and the definitions of the IR."""
