"""Options shared by several commands."""

from typing import Annotated, TypeAlias

import typer

from mcp_bindgen.cli.output import Format
from mcp_bindgen.ingest.revisions import released
from mcp_bindgen.ir.nodes import Protocol


def complete_revision(incomplete: str) -> list[str]:
    """Complete the name of a released revision for the shell."""
    return [name for name in released() if name.startswith(incomplete)]


FormatOption: TypeAlias = Annotated[Format, typer.Option("--format", help="text for people, json for programs.")]
QuietOption: TypeAlias = Annotated[bool, typer.Option("--quiet", "-q", help="Print only errors.")]
VerboseOption: TypeAlias = Annotated[bool, typer.Option("--verbose", "-v", help="Print every warning and note.")]

StrictOption: TypeAlias = Annotated[
    bool, typer.Option("--strict", help="Treat schema constructs that cannot be expressed exactly as errors.")
]


def newest() -> str:
    """Return the newest released revision."""
    return list(released())[-1]


def load(revision: str) -> Protocol:
    """Load a released revision; imported here, so that commands that do not load one start faster.

    Raises:
        InputError: there is no such revision.
    """
    from mcp_bindgen.load import load_released

    return load_released(revision)
