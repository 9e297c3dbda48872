"""`mcp-bindgen rules`: the catalogue of the changes that a comparison can find.

The JSON output is a list of objects, one for each rule, with ``id``, ``view``, ``severity`` (of a proven finding),
``change`` (``none``, ``narrows``, ``widens`` or ``both``), ``breaks`` (for each direction, the pairs of peers that
break), ``breaks_source``, ``purpose``, ``advice``, ``mirror`` and ``unmirrored`` (one of the two is null).
"""

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from mcp_bindgen.cli.options import OutputOption, QuietOption
from mcp_bindgen.cli.output import PageFormat, answer_page
from mcp_bindgen.diagnostics import InputError, did_you_mean

if TYPE_CHECKING:
    from mcp_bindgen.diff.rule import Rule


def complete_rule(incomplete: str) -> list[str]:
    """Complete the id of a rule for the shell."""
    from mcp_bindgen.diff.rules import CATALOGUE

    return [rule.id for rule in CATALOGUE if rule.id.startswith(incomplete)]


def rules(
    *,
    id_: Annotated[
        str | None, typer.Argument(metavar="ID", help="By default, all rules.", autocompletion=complete_rule)
    ] = None,
    output: OutputOption = None,
    quiet: QuietOption = False,
    format_: Annotated[PageFormat, typer.Option("--format", help="Output format.")] = "text",
) -> None:
    """List the rules of `diff`: what each finds, which programs break, and what to do."""
    from mcp_bindgen.diff.report import catalogue as spell
    from mcp_bindgen.diff.rules import CATALOGUE

    found = _chosen(id_, CATALOGUE)
    text: dict[PageFormat, Callable[[], str]] = {
        "json": lambda: json.dumps([spell.as_json(rule) for rule in found], indent=2),
        "markdown": lambda: spell.markdown(found),
        "text": lambda: "\n".join(spell.text(found)),
    }
    answer_page(format_, text, output, quiet=quiet)


def _chosen(id_: str | None, catalogue: "Sequence[Rule]") -> "Sequence[Rule]":
    if id_ is None:
        return catalogue
    found = [rule for rule in catalogue if rule.id == id_]
    if not found:
        hint = did_you_mean(id_, (rule.id for rule in catalogue)) or "`mcp-bindgen rules` lists all rules"
        raise InputError.at(id_, f"there is no such rule; {hint}")
    return found
