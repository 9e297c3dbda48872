"""The methods and the capabilities that differ between two revisions, as tables."""

from collections.abc import Iterator, Mapping

from mcp_bindgen.diff.report.markdown import code, prose
from mcp_bindgen.diff.report.story import capabilities
from mcp_bindgen.diff.wire.compare import renamed_methods
from mcp_bindgen.ir.nodes import Direction, Method, Protocol

_WAYS = {
    Direction.CLIENT_TO_SERVER: "client to server",
    Direction.SERVER_TO_CLIENT: "server to client",
    Direction.BOTH: "both ways",
    Direction.EMBEDDED: "inside a result",
}


def methods_table(
    old: Protocol, new: Protocol, labels: tuple[str, str], successors: Mapping[str, str]
) -> Iterator[str]:
    """Iterate over the lines of the table, with the successors of methods that are gone; empty if no method changed."""
    names = renamed_methods(old, new)
    before, after = ({method.name: method for method in side.methods} for side in (old, new))
    rows: list[tuple[str, str]] = []
    for name in sorted(before.keys() | after.keys() - set(names.values())):
        row = _cell(before.get(name)), _cell(after.get(names.get(name, name)), successors.get(name, ""))
        if row[0] != row[1]:
            rows.append(row)
    if not rows:
        return
    yield from ("", "## Methods", "", f"| {prose(labels[0])} | {prose(labels[1])} |", "|---|---|")
    yield from (f"| {was} | {is_} |" for was, is_ in rows)


def capabilities_table(old: Protocol, new: Protocol, labels: tuple[str, str]) -> Iterator[str]:
    """Iterate over the lines of the table; empty if the capabilities are the same."""
    before, after = (set(capabilities(side)) for side in (old, new))
    changed = sorted(before ^ after)
    if not changed:
        return
    yield from ("", "## Capabilities", "", f"| {prose(labels[0])} | {prose(labels[1])} |", "|---|---|")
    for path in changed:
        cells = [code(path) if path in side else "-" for side in (before, after)]
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _cell(method: Method | None, successor: str = "") -> str:
    if method is None:
        return f"{code(successor)} instead" if successor else "-"
    kind = "request" if method.is_request else "notification"
    return f"{code(method.name).replace('|', chr(92) + '|')}: {kind}, {_WAYS[method.direction]}"
