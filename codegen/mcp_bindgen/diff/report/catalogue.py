"""The catalogue of rules as text, as JSON, and as a page of the project's documentation."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from mcp_bindgen.diff.finding import Travel, breaks
from mcp_bindgen.diff.report.markdown import code
from mcp_bindgen.diff.rule import Change, Rule, View
from mcp_bindgen.findings.severity import Severity

_HEADER = """# Rules

`mcp-bindgen diff` finds these changes. This page is what `mcp-bindgen rules --format markdown` prints (`make docs`
writes it); [Breaking changes](diff.md) explains the terms.

The columns *to server* and *to client* show, for a value sent in that direction, which program written for the old
revision breaks when its peer uses the new one. A dash means neither. *Source* shows whether Python code that uses
the bindings may no longer type-check or run.
"""
_ROLES = {"old client, new server": "client", "new client, old server": "server"}
_VIEWS = {
    View.WIRE: "Changes visible in messages",
    View.SOURCE: "Changes visible in definitions and Python source",
}


def severity(rule: Rule) -> Severity:
    """Return the severity of a proven finding of a rule."""
    return Severity.ERROR if rule.change else rule.severity


def as_json(rule: Rule) -> dict[str, Any]:
    """Return a rule as JSON values."""
    return {
        "id": rule.id,
        "view": rule.view.value,
        "severity": severity(rule).value,
        "change": _change(rule.change),
        "breaks": {travel.value: sorted(pair.value for pair in breaks(rule.change, travel)) for travel in Travel},
        "breaks_source": rule.breaks_source,
        "purpose": rule.purpose,
        "advice": rule.advice,
        "mirror": rule.mirror or None,
        "unmirrored": rule.unmirrored or None,
    }


def text(rules: Sequence[Rule]) -> Iterator[str]:
    """Iterate over the lines of the catalogue."""
    for number, rule in enumerate(rules):
        yield from [""] if number else []
        yield f"{rule.id} ({rule.view} view, {severity(rule)})"
        yield f"  {rule.purpose}"
        yield f"  {rule.advice}"
        for travel in Travel:
            if rule.change:
                yield f"  {travel}: breaks an old {_roles(rule, travel)}"
        if rule.breaks_source:
            yield "  may break Python source that uses the bindings"
        yield f"  reverse change: {rule.mirror or f'none ({rule.unmirrored})'}"


def markdown(rules: Sequence[Rule]) -> str:
    """Return the page of the documentation."""
    lines = [_HEADER]
    for view, group in groupby(sorted(rules, key=lambda rule: list(View).index(rule.view)), key=lambda rule: rule.view):
        lines += [f"## {_VIEWS[view]}", ""]
        lines += ["| rule | finds | do | severity | to server | to client | source | mirror |", "|" + "---|" * 8]
        for rule in group:
            ways = [_roles(rule, travel) for travel in Travel]
            mirror = code(rule.mirror) if rule.mirror else f"none: {rule.unmirrored}"
            cells = [code(rule.id), rule.purpose, rule.advice, severity(rule).value, *ways]
            cells += ["yes" if rule.breaks_source else "no", mirror]
            lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
        lines.append("")
    return "\n".join(lines).rstrip("\n") + "\n"


def _roles(rule: Rule, travel: Travel) -> str:
    return " and ".join(sorted(_ROLES[pair] for pair in breaks(rule.change, travel))) or "-"


def _change(change: Change) -> str:
    return {Change.NARROWS: "narrows", Change.WIDENS: "widens", Change.BOTH: "both"}.get(change, "none")
