"""`mcp-bindgen bridge`: how messages are translated for peers of other revisions, and what is lost.

The JSON output is a list with an object for each pair of adjacent revisions on the path: ``old``, ``new``, ``entries``
(each has ``rule``, ``place``, ``old``, ``new``, ``kind``, ``reason``, and ``down`` and ``up``, which say what a peer of
the older and of the newer revision receives), and ``framing`` (``place``, ``rules``, ``says``), which the session
handles.
"""

import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mcp_bindgen.cli.options import QuietOption, complete_revision
from mcp_bindgen.cli.output import answer, write_file
from mcp_bindgen.diagnostics import InputError, Location
from mcp_bindgen.ingest.revisions import released

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_bindgen.bridge.derive import Bridge


class BridgeFormat(StrEnum):
    """The output formats: text, JSON, and a page of the project's documentation."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"


def bridge(
    *,
    old: Annotated[str, typer.Argument(metavar="OLD", help="A released revision.", autocompletion=complete_revision)],
    new: Annotated[str, typer.Argument(metavar="NEW", help="Another one.", autocompletion=complete_revision)],
    output: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the output to a file, atomically.")] = None,
    quiet: QuietOption = False,
    format_: Annotated[BridgeFormat, typer.Option("--format", help="Output format.")] = BridgeFormat.TEXT,
) -> None:
    """Print how messages of one revision become messages of another, and what is lost in each direction.

    Revisions that are not adjacent are bridged through those between them.
    """
    from mcp_bindgen.bridge import report

    found = _between(old, new)
    match format_:
        case BridgeFormat.JSON:
            text = json.dumps([report.as_json(pair) for pair in found], indent=2) + "\n"
        case BridgeFormat.MARKDOWN:
            text = report.markdown(found)
        case BridgeFormat.TEXT:
            text = "\n".join(report.text(found)).rstrip("\n") + "\n"
    if output:
        write_file(output, text)
    elif not quiet or format_ is not BridgeFormat.TEXT:
        answer(text)


def _between(old: str, new: str) -> "Sequence[Bridge]":
    """Return the bridges between two revisions, named in either order."""
    from mcp_bindgen.bridge.emit import derive_all
    from mcp_bindgen.load import load_released

    known = tuple(released())
    for name in (old, new):
        if name not in known:
            message = f"not a released revision; those are {', '.join(known)}"
            raise InputError.at(Location(source=name), message)
    if old == new:
        raise InputError.at(Location(source=old), "a revision needs no bridge to itself; name another one")
    first, last = sorted((old, new))
    return derive_all([load_released(revision) for revision in known if first <= revision <= last])
