"""The current position of a comparison (place on each side, message, path), and the changes seen so far."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from mcp_bindgen.diff.finding import Carrier, Finding, Pair, Subject, breaks
from mcp_bindgen.diff.rule import NOTHING, Change, Rule
from mcp_bindgen.diff.rules import judge
from mcp_bindgen.diff.sites import EnvelopeSite, ErrorSite, ForbiddenSite, MethodSite, PropertySite
from mcp_bindgen.diff.types.pointers import Pointers
from mcp_bindgen.ir.json_values import escaped
from mcp_bindgen.ir.nodes import Alias, Protocol, Ref, Struct, TypeRef
from mcp_bindgen.values.builder import Step


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """A place on one side, with the names of that side.

    `pointer` is its JSON pointer in the side's schema.json. Within an inline union it is `fixed`: the IR does not
    record the order of the members in the file.
    """

    place: str
    subject: Subject
    pointer: str = ""
    fixed: bool = False

    def on(self, place: str, pointer: str = "") -> "End":
        """Return the end with that place name, so many pointer steps deeper in the file."""
        return replace(self, place=place, pointer=self.pointer if self.fixed else self.pointer + pointer)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spot:
    """The position of a comparison on both sides.

    `needs` are the capabilities that the path requires. `in_capabilities` is true within the declaration of a peer's
    capabilities. `harmless` are the effects that are proven to break nothing, since a type on the path admits the
    values. `unsure` is true where a schema says more about the value than its type: then any change may have any
    effect.
    """

    before: End
    after: End
    carrier: Carrier
    way: tuple[Step, ...] = ()
    needs: frozenset[str] = frozenset()
    in_capabilities: bool = False
    harmless: Change = Change.NONE
    unsure: bool = False

    def effect(self, rule: Rule, site: object) -> Change:
        """Return the possible effect here of a change that a rule finds at a site."""
        found = rule.change_at(site) if rule.change_at else rule.change
        return (Change.BOTH if self.unsure else found) & ~self.harmless

    def item(self) -> "Spot":
        """Return the spot of the items of a list."""
        return self._deeper("[]", "/items", Step("item"))

    def value(self) -> "Spot":
        """Return the spot of an object's undeclared properties."""
        return self._deeper("{}", "/additionalProperties", Step("value"))

    def _deeper(self, mark: str, pointer: str, step: Step) -> "Spot":
        before, after = (end.on(end.place + mark, pointer) for end in (self.before, self.after))
        return replace(self, before=before, after=after, way=(*self.way, step))

    def member(self, old: TypeRef, new: TypeRef) -> "Spot":
        """Return the spot of a member of a union."""
        names = [type_.name for type_ in (new, old) if isinstance(type_, Ref)]
        way = (*self.way, _step("member", names[0], names[-1])) if names else self.way
        before, after = replace(self.before, fixed=True), replace(self.after, fixed=True)
        return replace(self, way=way, before=before, after=after)

    def field(self, old: str, new: str) -> "Spot":
        """Return the spot of a property, by its names on both sides."""
        before, after = _field(self.before, old), _field(self.after, new)
        return replace(self, before=before, after=after, way=(*self.way, _step("field", new, old)))


def _step(kind: str, new: str, old: str) -> Step:
    return Step(kind, new, old if old != new else "")


def _field(end: End, name: str) -> End:
    subject = Subject(definition=end.subject.definition, member=name)
    return replace(end.on(f"{end.place}.{name}", f"/properties/{escaped(name)}"), subject=subject)


def pointer_to(name: str) -> str:
    """Return the JSON pointer of a definition in a schema.json."""
    return f"/$defs/{escaped(name)}"


def through(end: End, type_: TypeRef, protocol: Protocol) -> End:
    """Follow references in the file; an inline object is at the place of its reference."""
    while isinstance(type_, Ref):
        definition = protocol.definitions[type_.name]
        if isinstance(definition, Struct) and definition.holder:
            return end
        end = replace(end, pointer=pointer_to(type_.name), fixed=False)
        if not isinstance(definition, Alias):
            return end
        type_ = definition.type
    return end


def root(name: str, member: str = "") -> End:
    """Return the end at a definition, or at one of its properties."""
    end = End(place=name, subject=Subject(definition=name), pointer=pointer_to(name))
    return _field(end, member) if member else end


Gate = Callable[[Carrier, Pair, frozenset[str]], str]
"""Return the gate that keeps a pair of peers from a message with a change that needs these capabilities, or ""."""


_ONE_SIDED = (MethodSite, EnvelopeSite, ErrorSite, PropertySite, ForbiddenSite)
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
