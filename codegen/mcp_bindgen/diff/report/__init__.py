"""Reports of a comparison: one model of what was found, and one module per format that spells it."""
