"""Collects the changes of a comparison: each change once, with all the messages that carry it."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from mcp_bindgen.diff.finding import Carrier, Finding, Pair, breaks
from mcp_bindgen.diff.rule import NOTHING, Change, Rule
from mcp_bindgen.diff.rules import judge
from mcp_bindgen.diff.sites import EnvelopeSite, ErrorSite, MethodSite, PropertySite
from mcp_bindgen.diff.types.pointers import Pointers
from mcp_bindgen.diff.wire.spot import Spot
from mcp_bindgen.values.builder import Step

Gate = Callable[[Carrier, Pair, frozenset[str]], str]
"""Return the gate that keeps a pair of peers from a message with a change that needs these capabilities, or ""."""


_ONE_SIDED = (MethodSite, EnvelopeSite, ErrorSite, PropertySite)
"""Sites of things that do not exist at all on a side that lacks them."""


@dataclass(frozen=True, slots=True)
class _Way:
    """The path from a message to a change, the capabilities that it needs, and the effect of the change there."""

    steps: tuple[Step, ...]
    needs: frozenset[str]
    effect: Change


@dataclass(slots=True)
class _Entry:
    """One change, where it was first seen, and the paths to it."""

    rule: Rule
    spot: Spot
    old: str
    new: str
    ways: dict[Carrier, _Way] = field(default_factory=dict[Carrier, _Way])


class Changes:
    """The changes seen so far."""

    def __init__(self) -> None:
        self._entries: dict[tuple[str, ...], _Entry] = {}

    def see(self, site: object, spot: Spot) -> None:
        """Apply the rules to a site and record what they find."""
        for rule, (old, new) in judge(site):
            key = (rule.id, spot.before.place, old, new, spot.after.place)
            entry = self._entries.setdefault(key, _Entry(rule, spot, old, new))
            known, effect = entry.ways.get(spot.carrier), spot.effect(rule, site)
            if known is None or effect & ~known.effect or (effect == known.effect and spot.needs < known.needs):
                both = effect | known.effect if known else effect
                entry.ways[spot.carrier] = _Way(spot.way, spot.needs, both)

    def findings(self, gate: Gate, pointers: tuple[Pointers, Pointers]) -> Iterator[Finding]:
        """Iterate over the changes as findings, in a stable order; the pointers are those of the two sides."""
        for _, entry in sorted(self._entries.items(), key=lambda item: item[0]):
            rule, spot = entry.rule, entry.spot
            is_new, is_gone = (rule.site in _ONE_SIDED and reading == NOTHING for reading in (entry.old, entry.new))
            yield Finding(
                rule=rule,
                place=spot.before.place,
                now=spot.after.place,
                old=entry.old,
                new=entry.new,
                before=None if is_new else spot.before.subject,
                after=None if is_gone else spot.after.subject,
                pointer=pointers[0].rooted(spot.before.pointer) if is_gone else pointers[1].rooted(spot.after.pointer),
                carriers={carrier: entry.ways[carrier].steps for carrier in sorted(entry.ways)},
                effects={carrier: way.effect for carrier, way in entry.ways.items()},
                gates=_gates(entry.ways, gate),
            )


def _gates(ways: Mapping[Carrier, _Way], gate: Gate) -> dict[Pair, str]:
    """Return the gate of each pair, unless some path to the break has none."""
    found: dict[Pair, str] = {}
    for pair in Pair:
        gates = [gate(c, pair, way.needs) for c, way in ways.items() if pair in breaks(way.effect, c.travel)]
        if gates and all(gates):
            found[pair] = min(gates)
    return found
