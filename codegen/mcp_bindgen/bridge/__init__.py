"""The conversions between adjacent revisions, derived from the pairs of the diff: tables, rows, report."""
