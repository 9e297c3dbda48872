"""Collects what a comparison notes: each change once, with all the messages that carry it."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from mcp_bindgen.diff.finding import Carrier, Finding, Pair, Step, breaks
from mcp_bindgen.diff.rule import Change
from mcp_bindgen.diff.rules import RULES
from mcp_bindgen.diff.wire.spot import Spot

Key = tuple[str, str, str, str, str]


@dataclass(frozen=True, slots=True)
class Way:
    """How a message leads to a change, and the capabilities without which it does not."""

    steps: tuple[Step, ...]
    needs: frozenset[str]


@dataclass(slots=True)
class Entry:
    """One change, where it was seen first, and the ways to it."""

    spot: Spot
    old: str
    new: str
    ways: dict[Carrier, Way] = field(default_factory=dict[Carrier, Way])


class Changes:
    """What was noted so far."""

    def __init__(self) -> None:
        self._entries: dict[Key, Entry] = {}
        self._retracted: dict[Key, set[Carrier]] = {}

    def note(self, rule: str, old: str, new: str, spot: Spot) -> None:
        """Note a change; the readings are ``-`` where a side has nothing of the kind."""
        entry = self._entries.setdefault(_key(rule, old, new, spot), Entry(spot, old, new))
        known = entry.ways.get(spot.carrier)
        if known is None or spot.needs < known.needs:
            entry.ways[spot.carrier] = Way(spot.way, spot.needs)

    def retract(self, rule: str, old: str, new: str, spot: Spot) -> None:
        """Take a change back, as far as this message carries it: another one says what happened."""
        self._retracted.setdefault(_key(rule, old, new, spot), set()).add(spot.carrier)

    def findings(self, gate: Callable[[Carrier, Pair, frozenset[str]], str]) -> Iterator[Finding]:
        """Iterate over the changes as findings, in a stable order.

        Args:
            gate: what keeps a pair of peers from a message that leads there by those capabilities, empty if nothing.
        """
        for key, entry in sorted(self._entries.items(), key=lambda item: item[0]):
            left = {c: w for c, w in entry.ways.items() if c not in self._retracted.get(key, ())}
            if entry.ways and not left:
                continue
            rule, spot = RULES[key[0]], entry.spot
            yield Finding(
                rule=rule,
                place=spot.before.place,
                now=spot.after.place,
                old=entry.old,
                new=entry.new,
                before=None if entry.old == "-" and rule.one_sided else spot.before.subject,
                after=None if entry.new == "-" and rule.one_sided else spot.after.subject,
                pointer=spot.before.pointer if entry.new == "-" and rule.one_sided else spot.after.pointer,
                carriers={carrier: left[carrier].steps for carrier in sorted(left)},
                gates=_gates(rule.change, left, gate),
            )


def _key(rule: str, old: str, new: str, spot: Spot) -> Key:
    return (rule, spot.before.place, old, new, spot.after.place)


def _gates(
    change: Change, ways: Mapping[Carrier, Way], gate: Callable[[Carrier, Pair, frozenset[str]], str]
) -> dict[Pair, str]:
    """Return what keeps each pair apart: only if nothing leads to the break around it."""
    found: dict[Pair, str] = {}
    for pair in Pair:
        gates = [gate(c, pair, way.needs) for c, way in ways.items() if pair in breaks(change, c.travel)]
        if gates and all(gates):
            found[pair] = min(gates)
    return found
