"""Reports on what a bridge does, as text and JSON: the treatment of each difference, and what is lost."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import groupby
from typing import Any

from mcp_bindgen.bridge.derive import Bridge
from mcp_bindgen.bridge.rows import ERA, FRAMING, NAMES, Entry, FramingRow

ALONG = "undeclared"
"""The kind of what is sent along."""
CAPABILITY = "capability"
METHOD = "method"


def as_json(bridge: Bridge) -> Mapping[str, Any]:
    """Return one pair of adjacent revisions as JSON."""
    entries = [asdict(entry) for entry in bridge.entries]
    framing = [{"place": row.place, "rules": list(row.rules), "says": row.says} for row in _framing(bridge)]
    return {"old": bridge.old, "new": bridge.new, "entries": entries, "framing": framing}


def text(bridges: Sequence[Bridge]) -> Iterator[str]:
    """Iterate over the lines of the text report."""
    for bridge in bridges:
        old, new = bridge.old, bridge.new
        yield f"{old} and {new}"
        yield f"  converted for a peer of {old}:"
        yield from _indented(_decided(bridge.entries))
        yield f"  methods that a peer of {old} does not have:"
        yield from _indented(_methods(bridge, "added"))
        yield f"  methods that a peer of {new} does not have:"
        yield from _indented(_methods(bridge, "removed"))
        yield f"  capabilities that are not declared to a peer of {old}:"
        yield from _indented(_listed(_of(bridge, CAPABILITY), "place"))
        yield f"  properties that a peer of {old} does not know, sent along:"
        yield from _indented(_listed(_of(bridge, ALONG), "place"))
        yield f"  lost on the way to a peer of {new}:"
        yield from _indented(f"{e.place}: {e.old} -> {e.up}" for e in _lost(bridge))
        for entry in _of_era(bridge):
            yield f"  both ends: {entry.place}: {entry.down or entry.up}"
        for row in _framing(bridge):
            yield f"  the session: {row.place}: {row.says}"
        yield ""


def _methods(bridge: Bridge, verb: str) -> Iterator[str]:
    """Iterate over the methods that only one side has, whatever is done about them."""
    found = [entry for entry in bridge.entries if entry.rule.endswith(f"-method-{verb}")]
    yield from sorted({entry.new if verb == "added" else entry.old for entry in found})


def markdown(bridges: Sequence[Bridge]) -> str:
    """Return the tables of the documentation."""
    return "\n".join(line for bridge in bridges for line in _page(bridge))


def _page(bridge: Bridge) -> Iterator[str]:
    old, new = bridge.old, bridge.new
    yield f"### {old} and {new}"
    yield ""
    yield f"| kind | where | what only {new} has | a peer of {old} gets | why |"
    yield "|---|---|---|---|---|"
    for entry in _rows(bridge.entries):
        yield f"| `{entry.kind}` | `{entry.place}` | `{_escaped(entry.new)}` | {entry.down} | {entry.reason} |"
    yield ""
    for intro, found in (
        ("Methods that the older revision does not have", _methods(bridge, "added")),
        ("Methods that the newer revision does not have", _methods(bridge, "removed")),
        ("Capabilities that are not declared to the older revision", _listed(_of(bridge, CAPABILITY), "place")),
        (
            "Properties that it does not declare, which are sent along (`undeclared`)",
            _listed(_of(bridge, ALONG), "place"),
        ),
    ):
        yield f"{intro}: {', '.join(f'`{name}`' for name in found) or 'none'}."
        yield ""
    lost = [f"`{e.place}` ({e.up})" for e in _lost(bridge)]
    yield f"Lost on the way to a peer of {new}: {', '.join(lost) if lost else 'nothing'}."
    yield ""
    if any(_of_era(bridge)):
        yield "Messages of one era that the other one does not have:"
        yield ""
        yield "| what | becomes | why |"
        yield "|---|---|---|"
        for entry in _of_era(bridge):
            yield f"| `{entry.place}` | {entry.down or entry.up} | {entry.reason} |"
        yield ""
    for row in _framing(bridge):
        yield f"The session handles `{row.place}`: {row.says}."
        yield ""


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


def _decided(entries: Iterable[Entry]) -> Iterator[str]:
    for (kind, down), group in groupby(_rows(entries), key=lambda e: (e.kind, e.down)):
        places = ", ".join(f"{e.place}: {e.new}" for e in group)
        yield f"{kind}: {down}; {places}"


def _of(bridge: Bridge, kind: str) -> list[Entry]:
    return [entry for entry in bridge.entries if entry.kind == kind and entry.down]


def _of_era(bridge: Bridge) -> list[Entry]:
    """Return what both ends of a conversation handle."""
    return [entry for entry in bridge.entries if entry.kind == ERA]


def _lost(bridge: Bridge) -> list[Entry]:
    """Return what is lost for a peer of the newer revision; defaults and undeclared properties are not."""
    return [e for e in bridge.entries if e.up and e.kind not in ("", ALONG, ERA)]


def _listed(entries: Iterable[Entry], attribute: str) -> Iterator[str]:
    return iter(sorted({str(getattr(entry, attribute)) for entry in entries}))


def _indented(lines: Iterable[str]) -> Iterator[str]:
    found = list(lines)
    for line in found or ["nothing"]:
        yield f"    {line}"


def _framing(bridge: Bridge) -> list[FramingRow]:
    return [row for row in FRAMING if (bridge.old, bridge.new) in row.between]


def _escaped(spelled: str) -> str:
    return spelled.replace("|", "\\|")
