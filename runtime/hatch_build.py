"""Includes the generated bindings in the distribution: in the repository they are beside this folder."""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Bindings(BuildHookInterface[Any]):
    """Takes ``../generated/mcp_bindings`` along."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the bindings, unless the build is editable or made from an sdist, which has them."""
        if version != "editable" and not Path(self.root, "mcp_bindings").exists():
            build_data["force_include"][str(Path(self.root).parent / "generated" / "mcp_bindings")] = "mcp_bindings"
