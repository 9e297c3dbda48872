"""Load what is asked for: the representation of a revision or an extension, from its files."""
