"""`mcp-bindgen rules`: the catalogue of the changes that a comparison can find.

The JSON output is a list of objects, one for each rule, with ``id``, ``view``, ``severity`` (of a proven finding),
``change`` (``none``, ``narrows``, ``widens`` or ``both``), ``breaks`` (for each direction, the pairs of peers that
break), ``breaks_source``, ``purpose``, ``advice``, ``mirror`` and ``unmirrored`` (one of the two is null).
"""

import json
from collections.abc import Sequence
from difflib import get_close_matches
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mcp_bindgen.cli.options import QuietOption
from mcp_bindgen.cli.output import answer, write_file
from mcp_bindgen.diagnostics import InputError, Location

if TYPE_CHECKING:
    from mcp_bindgen.diff.rule import Rule


class RulesFormat(StrEnum):
    """The formats of the catalogue: text, JSON, and a page of the project's documentation."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"


def complete_rule(incomplete: str) -> list[str]:
    """Complete the id of a rule for the shell."""
    from mcp_bindgen.diff.rules import CATALOGUE

    return [rule.id for rule in CATALOGUE if rule.id.startswith(incomplete)]


def rules(
    *,
    id_: Annotated[
        str | None,
        typer.Argument(metavar="ID", help="By default, all rules.", autocompletion=complete_rule),
    ] = None,
    output: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the output to a file, atomically.")] = None,
    quiet: QuietOption = False,
    format_: Annotated[RulesFormat, typer.Option("--format", help="Output format.")] = RulesFormat.TEXT,
) -> None:
    """List the rules of `diff`: what each finds, which programs break, and what to do."""
    from mcp_bindgen.diff.report import catalogue as spell
    from mcp_bindgen.diff.rules import CATALOGUE

    found = _chosen(id_, CATALOGUE)
    match format_:
        case RulesFormat.JSON:
            text = json.dumps([spell.as_json(rule) for rule in found], indent=2) + "\n"
        case RulesFormat.MARKDOWN:
            text = spell.markdown(found)
        case RulesFormat.TEXT:
            text = "\n".join(spell.text(found)) + "\n"
    if output:
        write_file(output, text)
    elif not quiet or format_ is not RulesFormat.TEXT:
        answer(text)


def _chosen(id_: str | None, catalogue: "Sequence[Rule]") -> "Sequence[Rule]":
    if id_ is None:
        return catalogue
    found = [rule for rule in catalogue if rule.id == id_]
    if not found:
        close = get_close_matches(id_, [rule.id for rule in catalogue], 3)
        hint = f"did you mean {' or '.join(close)}?" if close else "`mcp-bindgen rules` lists all rules"
        raise InputError.at(Location(source=id_), f"there is no such rule; {hint}")
    return found
