"""Load one side of a comparison: a released revision, a schema file, a URL, or a file of a git commit."""

import subprocess
from pathlib import Path

from mcp_bindgen.diagnostics import Diagnostics, InputError, Location
from mcp_bindgen.ingest.revisions import released
from mcp_bindgen.ingest.sources import SourceKind, SourceText, read_source
from mcp_bindgen.ir.nodes import Protocol
from mcp_bindgen.load import load_released, load_sources

UNNAMED = "unreleased"
"""The revision of a schema.json that stands in no folder of a released revision's name."""


def load_side(side: str, diagnostics: Diagnostics) -> Protocol:
    """Load what the user named.

    Raises:
        InputError: there is no such revision, file or commit, or the file is no schema of MCP.
    """
    if side in released():
        return load_released(side)
    source = _source(side)
    folder = Path(source.name).parent.name
    name = folder if folder in released() else UNNAMED
    return load_sources([source], None if source.kind is SourceKind.TYPESCRIPT else name, diagnostics)


def _source(side: str) -> SourceText:
    ref, colon, path = side.partition(":")
    if not colon or side.startswith(("http://", "https://")) or Path(side).exists():
        if not Path(side).exists() and "/" not in side and "." not in side:
            known = ", ".join(released())
            message = f"neither a released revision ({known}) nor a file"
            raise InputError.at(Location(source=side), message)
        return read_source(side)
    if ref.startswith("-"):
        raise InputError.at(Location(source=side), "a git commit does not begin with a dash")
    done = subprocess.run(["git", "show", f"{ref}:{path}"], capture_output=True, check=False)
    if done.returncode:
        reason = done.stderr.decode("utf-8", "replace").strip().removeprefix("fatal: ")
        raise InputError.at(Location(source=side), f"git does not show it: {reason}")
    kind = SourceKind.JSON_SCHEMA if path.endswith(".json") else SourceKind.TYPESCRIPT
    return SourceText(name=side, kind=kind, data=done.stdout)
