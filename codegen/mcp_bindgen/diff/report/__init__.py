"""Reports of a comparison: one model of the findings, and one module per output format."""
