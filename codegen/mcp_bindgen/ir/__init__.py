"""The intermediate representation: what one protocol revision says, free of Python and of templates."""
