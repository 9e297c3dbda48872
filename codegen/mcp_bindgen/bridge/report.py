"""Reports on what a bridge does, as text and JSON: the treatment of each difference, and what is lost."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import groupby
from typing import Any

from mcp_bindgen.bridge.derive import Bridge
from mcp_bindgen.bridge.rows import ERA, FRAMING, NAMES, Entry, FramingRow
from mcp_bindgen.emit.python.render import document

ALONG = "undeclared"
"""The kind of what is sent along."""
CAPABILITY = "capability"
METHOD = "method"


def as_json(bridge: Bridge) -> Mapping[str, Any]:
    """Return one pair of adjacent revisions as JSON."""
    entries = [asdict(entry) for entry in bridge.entries]
    framing = [{"place": row.place, "rules": list(row.rules), "says": row.says} for row in _framing(bridge)]
    return {"old": bridge.old, "new": bridge.new, "entries": entries, "framing": framing}


def text(bridges: Sequence[Bridge]) -> str:
    """Return the text report."""
    return "\n".join(document("bridge.txt.j2", _context(bridge)) for bridge in bridges)


def markdown(bridges: Sequence[Bridge]) -> str:
    """Return the tables of the documentation."""
    return "".join(document("bridge.md.j2", _context(bridge)) for bridge in bridges).removesuffix("\n")


def _context(bridge: Bridge) -> dict[str, object]:
    lost = [entry for entry in bridge.entries if entry.up and entry.kind not in ("", ALONG, ERA)]
    return {
        "old": bridge.old,
        "new": bridge.new,
        "decided": _rows(bridge.entries),
        "converted": [*_converted(bridge.entries)],
        "added": sorted({entry.new for entry in bridge.entries if entry.rule.endswith("-method-added")}),
        "removed": sorted({entry.old for entry in bridge.entries if entry.rule.endswith("-method-removed")}),
        "capabilities": sorted({entry.place for entry in _of(bridge, CAPABILITY)}),
        "along": sorted({entry.place for entry in _of(bridge, ALONG)}),
        "lost": [f"{entry.place}: {entry.old} -> {entry.up}" for entry in lost],
        "lost_places": ", ".join(f"`{entry.place}` ({entry.up})" for entry in lost) or "nothing",
        "of_era": [entry for entry in bridge.entries if entry.kind == ERA],
        "framing": _framing(bridge),
        "cell": _cell,
        "listed": _listed,
        "indented": _indented,
    }


def _cell(spelled: str) -> str:
    return spelled.replace("|", "\\|")


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "none"


def _indented(lines: Sequence[str]) -> str:
    return "\n".join(f"    {line}" for line in lines or ["nothing"])


def summary(bridges: Sequence[Bridge]) -> str:
    """Return the table of the README: what peers of each revision cannot receive from a program of the newest one."""
    lines = ["| the peer uses | what it receives in another form or not at all |", "|---|---|"]
    rows = [f"| {bridges[-1].new} | nothing: it receives everything unchanged |"]
    known: set[str] = set()
    for bridge in reversed(bridges):
        lost = {word for entry in _rows(bridge.entries) if (word := NAMES[entry.kind])}
        lost |= {"elicitation"} if any(e.new == "elicitation/create" for e in _of(bridge, METHOD)) else set()
        listed = ", ".join(sorted(lost - known))
        rows.append(f"| {bridge.old} | {'the same, and ' if known else ''}{listed} |")
        known |= lost
    return "\n".join((*lines, *rows)) + "\n"


def _rows(entries: Iterable[Entry]) -> list[Entry]:
    found = [e for e in entries if e.down and e.kind not in ("", ALONG, CAPABILITY, METHOD, ERA)]
    return sorted(found, key=lambda e: (e.kind, e.place, e.new))


def _converted(entries: Iterable[Entry]) -> Iterator[str]:
    for (kind, down), group in groupby(_rows(entries), key=lambda e: (e.kind, e.down)):
        places = ", ".join(f"{e.place}: {e.new}" for e in group)
        yield f"{kind}: {down}; {places}"


def _of(bridge: Bridge, kind: str) -> list[Entry]:
    return [entry for entry in bridge.entries if entry.kind == kind and entry.down]


def _framing(bridge: Bridge) -> list[FramingRow]:
    return [row for row in FRAMING if (bridge.old, bridge.new) in row.between]
