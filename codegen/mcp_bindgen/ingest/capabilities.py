"""Read schema/capabilities.toml: what a peer must have declared before a message may be used."""

import tomllib

from mcp_bindgen.ir.capabilities import CapabilityBook


def read_capabilities(text: str) -> CapabilityBook:
    """Read the two tables of the file, ``[methods]`` and ``[members]``."""
    tables = tomllib.loads(text)
    return CapabilityBook(methods=tables["methods"], members=tables["members"])
