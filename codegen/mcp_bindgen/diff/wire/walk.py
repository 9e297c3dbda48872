"""Compare two types that stand at the same place of a message, down to their scalars."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import Protocol as Interface

from mcp_bindgen.diff.finding import Carrier, Travel
from mcp_bindgen.diff.types.leaves import forms, selectors
from mcp_bindgen.diff.types.likeness import Likeness
from mcp_bindgen.diff.types.shapes import Changed, bound_changes, scalar_changes
from mcp_bindgen.diff.wire.objects import Objects
from mcp_bindgen.diff.wire.spot import Spot, root, through
from mcp_bindgen.ir.nodes import ANY, NULL, ListOf, Literal, MapOf, Primitive, Protocol, Struct, TypeRef
from mcp_bindgen.ir.spell import spell

MAX_VISITS = 8
"""How often the same two types are compared at one member, where aliases of aliases may stand without end."""


class Notes(Interface):
    """Who is told of changes."""

    def note(self, rule: str, old: str, new: str, spot: Spot) -> None:
        """Take a change."""
        ...

    def retract(self, rule: str, old: str, new: str, spot: Spot) -> None:
        """Take a change back."""
        ...


class Sides:
    """Two revisions, and which of their types are the same."""

    def __init__(self, old: Protocol, new: Protocol) -> None:
        self.old = old
        self.new = new
        self.selectors = selectors(old) & selectors(new)
        self.likeness = Likeness(old, new, self.same)
        self._same: dict[tuple[TypeRef, TypeRef], bool] = {}
        self._assumed: list[tuple[TypeRef, TypeRef]] = []
        self._depth = 0

    def same(self, old: TypeRef, new: TypeRef) -> bool:
        """Whether a comparison of two types would note nothing.

        A type that refers to itself is taken as the same until a change is found. If one is, all that was concluded
        meanwhile is forgotten, since it may rest on that.
        """
        key = (old, new)
        if key in self._same:
            return self._same[key]
        self._same[key] = True
        assumed_before = len(self._assumed)
        self._assumed.append(key)
        self._depth += 1
        try:
            Walk(self, _Refusal()).differing(old, new, _NOWHERE)
        except _ChangedError:
            for assumed in self._assumed[assumed_before:]:
                if self._same[assumed]:
                    del self._same[assumed]
            del self._assumed[assumed_before:]
            self._same[key] = False
        self._depth -= 1
        if not self._depth:
            self._assumed.clear()
        return self._same[key]


class _ChangedError(Exception):
    """Two types are not the same."""


class _Refusal:
    def note(self, rule: str, old: str, new: str, spot: Spot) -> None:
        raise _ChangedError

    def retract(self, rule: str, old: str, new: str, spot: Spot) -> None:
        """Nothing was noted."""


_NOWHERE = Spot(before=root(""), after=root(""), carrier=Carrier("", "", Travel.TO_SERVER))


class Walk:
    """Compares types, and tells the notes what changed; members of the names that are `skipped` are passed over."""

    def __init__(self, sides: Sides, notes: Notes, skipped: tuple[str, ...] = ()) -> None:
        self._sides = sides
        self._notes = notes
        self._objects = Objects(sides, notes, self.types, skipped)
        self._within: set[tuple[object, ...]] = set()
        self._visits: Counter[tuple[object, ...]] = Counter()

    def types(self, old: TypeRef, new: TypeRef, spot: Spot) -> None:
        """Compare two types at a spot."""
        if not self._sides.same(old, new):
            self.differing(old, new, spot)

    def differing(self, old: TypeRef, new: TypeRef, spot: Spot) -> None:
        """Compare two types that are not known to be the same."""
        before, after = through(spot.before, old, self._sides.old), through(spot.after, new, self._sides.new)
        spot = replace(spot, before=before, after=after)
        # An alias that refers to itself is looked into once at each member; structs are guarded by `Objects`.
        circle = (spot.carrier, old, new, before.subject, after.subject)
        if circle in self._within or self._visits[circle] >= MAX_VISITS:
            return
        self._visits[circle] += 1
        self._within.add(circle)
        self._forms(forms(old, self._sides.old), forms(new, self._sides.new), spot)
        self._within.remove(circle)

    def _forms(self, old: tuple[TypeRef, ...], new: tuple[TypeRef, ...], spot: Spot) -> None:
        if len(old) == len(new) == 1:
            self._single(old[0], new[0], spot)
        elif old == (ANY,) or new == (ANY,):
            self._notes.note("type-narrowed" if old == (ANY,) else "type-widened", _all(old), _all(new), spot)
        else:
            self._unions(old, new, spot)

    def _unions(self, old: tuple[TypeRef, ...], new: tuple[TypeRef, ...], spot: Spot) -> None:
        pairs = self._sides.likeness.pairs(old, new)
        if not pairs:
            self._notes.note("type-changed", _all(old), _all(new), spot)
            return
        for leaf, partner in pairs:
            self._single(leaf, partner, self._into(leaf, partner, spot))
        for leaf in old:
            if leaf not in [pair[0] for pair in pairs]:
                rule = "nullable-removed" if leaf == NULL else "union-member-removed"
                self._notes.note(rule, spell(leaf), "-", self._needing(leaf, self._sides.old, spot))
        for leaf in new:
            if leaf not in [pair[1] for pair in pairs]:
                rule = "nullable-added" if leaf == NULL else "union-member-added"
                self._notes.note(rule, "-", spell(leaf), self._needing(leaf, self._sides.new, spot))

    def _into(self, old: TypeRef, new: TypeRef, spot: Spot) -> Spot:
        spot = spot.member(old, new)
        before, after = through(spot.before, old, self._sides.old), through(spot.after, new, self._sides.new)
        return replace(spot, before=before, after=after)

    def _needing(self, leaf: TypeRef, protocol: Protocol, spot: Spot) -> Spot:
        """Return the spot of a form that only one side has, with the capabilities that what it must hold needs."""
        inside = replace(spot.member(leaf, leaf), before=spot.before, after=spot.after)
        struct = protocol.resolve(leaf)
        if not isinstance(struct, Struct):
            return inside
        names = [f"{struct.name}.{f.wire_name}" for f in struct.fields if f.required]
        return replace(
            inside, needs=spot.needs | {protocol.capabilities[n] for n in names if n in protocol.capabilities}
        )

    def _single(self, old: TypeRef, new: TypeRef, spot: Spot) -> None:
        before, after = self._sides.old.resolve(old), self._sides.new.resolve(new)
        match before, after:
            case (Struct() | MapOf()), (Struct() | MapOf()):
                self._objects.compare(before, after, spot)
            case ListOf(), ListOf():
                self._changes(bound_changes(before.bounds, after.bounds), spot)
                self.types(before.item, after.item, spot.item())
            case _ if ANY in (before, after):
                if before != after:
                    self._notes.note("type-narrowed" if before == ANY else "type-widened", spell(old), spell(new), spot)
            case (Primitive() | Literal()), (Primitive() | Literal()):
                self._changes(scalar_changes(before, after), spot)
            case _:
                self._notes.note("type-changed", spell(old), spell(new), spot)

    def _changes(self, changes: Iterable[Changed], spot: Spot) -> None:
        for rule, old, new in changes:
            sides = ((end.subject.definition, end.subject.member) for end in (spot.before, spot.after))
            selects = rule == "const-changed" and all(side in self._sides.selectors for side in sides)
            self._notes.note("union-discriminator-changed" if selects else rule, old, new, spot)


def _all(leaves: tuple[TypeRef, ...]) -> str:
    return " | ".join(spell(leaf) for leaf in leaves)
