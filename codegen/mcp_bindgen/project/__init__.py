"""A project: its settings in pyproject.toml, and the request that they make with the options of a command."""
