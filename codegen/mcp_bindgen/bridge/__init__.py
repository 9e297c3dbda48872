"""The conversions between neighbouring revisions, derived from what the diff pairs: tables, rows, report."""
