"""Read schema/capabilities.toml: what a peer must have declared before a message may be used."""

import tomllib


def read_capabilities(text: str) -> dict[str, dict[str, str]]:
    """Read the tables of the file, ``[methods]`` and ``[members]``."""
    return tomllib.loads(text)
