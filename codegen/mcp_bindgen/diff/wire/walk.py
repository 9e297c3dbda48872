"""Compare two types at the same place of a message, down to their scalars.

The walk pairs what corresponds; the rules decide whether something changed there.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeAlias

from mcp_bindgen.diff.finding import Carrier, Subject
from mcp_bindgen.diff.rule import Change
from mcp_bindgen.diff.sites import (
    ForbiddenSite,
    FormSite,
    Ground,
    MoveSite,
    OpaqueSite,
    PropertySite,
    RestSite,
    TypeSite,
)
from mcp_bindgen.diff.types.containment import Containment
from mcp_bindgen.diff.types.equality import Equality, Likeness, Same, renamed, said
from mcp_bindgen.diff.types.scalars import bound_sites
from mcp_bindgen.diff.wire.gates import needs_of_form
from mcp_bindgen.diff.wire.spot import Spot, through
from mcp_bindgen.ir.leaves import forms, is_json_schema, members, rest_of, selectors
from mcp_bindgen.ir.nodes import ANY, Field, ListOf, MapOf, Primitive, Protocol, Ref, Struct, TypeRef, Union
from mcp_bindgen.ir.spell import is_never, spell
from mcp_bindgen.values.builder import Step

MAX_VISITS = 8
"""How often the same two types are compared at one property, where aliases may be recursive."""

See: TypeAlias = Callable[[object, Spot], None]
"""Receives each site that a walk visits, and its position."""


@dataclass(frozen=True, slots=True)
class Restricted:
    """The properties of an object that more than its type restricts, and the effects that no change there can have.

    `types` are those of a change of the property's type, `presence` of whether it is required.
    """

    types: dict[str, Change] = field(default_factory=dict[str, Change])
    presence: dict[str, Change] = field(default_factory=dict[str, Change])

    def within(self, see: See) -> See:
        """Return `see` for the sites of the object."""

        def see_within(site: object, spot: Spot) -> None:
            fields = [step.name for step in spot.way if step.kind == "field"]
            known = self.presence if isinstance(site, PropertySite) and len(fields) == 1 else self.types
            harmless = known.get(fields[0], Change.NONE) if fields else Change.NONE
            see(site, replace(spot, harmless=spot.harmless | harmless))

        return see_within


class Sides:
    """Two revisions; `same` says whether no rule finds a change between two of their types."""

    def __init__(self, old: Protocol, new: Protocol, equality: Equality | None = None) -> None:
        self.old = old
        self.new = new
        self.selectors = selectors(old) & selectors(new)
        self.same = (equality or Equality(old, new, exact=True)).same
        self.likeness = Likeness(old, new, self.same)
        self._containments = {
            strict: (
                Containment(old, new, self.same, strict=strict),
                Containment(new, old, lambda a, b: self.same(b, a), strict=strict),
            )
            for strict in (False, True)
        }

    def harmless(self, old: TypeRef, new: TypeRef, *, strict: bool = False) -> Change:
        """Return the effects that no change between two types has: one of them admits all values of the other."""
        narrower, wider = self._containments[strict]
        narrows = Change.NARROWS if narrower.holds(old, new) else Change.NONE
        return narrows | (Change.WIDENS if wider.holds(new, old) else Change.NONE)


Object = Struct | MapOf


@dataclass(frozen=True)
class Pairing:
    """Two objects and the properties that each declares, except some that are compared elsewhere."""

    old: Object
    new: Object
    skipped: frozenset[str] = frozenset()

    @cached_property
    def before(self) -> Mapping[str, Field]:
        """The properties that the old object declares."""
        return {name: field for name, field in members(self.old).items() if name not in self.skipped}

    @cached_property
    def after(self) -> Mapping[str, Field]:
        """The properties that the new object declares."""
        return {name: field for name, field in members(self.new).items() if name not in self.skipped}

    @cached_property
    def gone(self) -> list[Field]:
        """The properties that only the old object declares."""
        return [self.before[name] for name in sorted(self.before.keys() - self.after.keys())]

    @cached_property
    def come(self) -> list[Field]:
        """The properties that only the new object declares."""
        return [self.after[name] for name in sorted(self.after.keys() - self.before.keys())]

    def undeclared(self, name: str) -> TypeRef | None:
        """Return the type that the other side admits for a property that it does not declare, None if it rejects it."""
        return rest_of(self.new if name in self.before else self.old)

    def ground(self, name: str, protocols: tuple[Protocol, Protocol], *, in_capabilities: bool = False) -> Ground:
        """Return the kind of object that contains a property which only one side declares."""
        lacking, having, protocol = (
            (self.new, self.old, protocols[1]) if name in self.before else (self.old, self.new, protocols[0])
        )
        undeclared = rest_of(lacking)
        if undeclared is None and rest_of(having) is None:
            return Ground.CLOSED
        if undeclared is not None and forms(undeclared, protocol) != (ANY,):
            return Ground.OPEN
        if in_capabilities:
            return Ground.CAPABILITIES
        return Ground.SCHEMA if is_json_schema(name, self.old, self.new) else Ground.OPEN

    def moves(self, inner: "Pairing", same: Same) -> Iterator[tuple[Field, Field, bool]]:
        """Iterate over the properties that moved into or out of a sibling object.

        Yields:
            The property outside, the property inside, and whether it moved inwards.
        """
        for outside, inside, inwards in ((self.gone, inner.come, True), (self.come, inner.gone, False)):
            by_name: dict[str, list[Field]] = {}
            for inner_field in inside:  # names in `_meta` have a prefix
                by_name.setdefault(inner_field.wire_name.rpartition("/")[2], []).append(inner_field)
            for outer in outside if by_name else ():
                near = by_name.get(outer.wire_name, ())
                found = next((one for one in near if _is_moved(outer, one, same, inwards=inwards)), None)
                if found is not None:
                    yield outer, found, inwards


def _is_moved(outer: Field, inner: Field, same: Same, *, inwards: bool) -> bool:
    """Whether a property outside corresponds to one of its name inside."""
    if outer.required != inner.required:
        return False
    return same(outer.type, inner.type) if inwards else same(inner.type, outer.type)


class Walk:
    """Compares types, each pair of structs once per message that carries them; ignores properties in `skipped`."""

    def __init__(self, sides: Sides, see: See, skipped: tuple[str, ...] = ()) -> None:
        self._sides = sides
        self._see = see
        self._skipped = frozenset(skipped)
        self._within: set[tuple[object, ...]] = set()
        self._visits: Counter[tuple[object, ...]] = Counter()
        self._entered: set[tuple[object, ...]] = set()
        self._moved: set[tuple[Carrier, str, str]] = set()

    def types(self, old: TypeRef, new: TypeRef, spot: Spot) -> None:
        """Compare two types at a spot."""
        if not self._sides.same(old, new):
            self.differing(old, new, spot)

    def differing(self, old: TypeRef, new: TypeRef, spot: Spot) -> None:
        """Compare two types that are not known to be equivalent."""
        spot = self._through(spot, old, new)
        # A recursive alias is expanded once at each property; structs are guarded by `_entered`.
        harmless = spot.harmless | self._sides.harmless(old, new)
        circle = (spot.carrier, old, new, spot.before.subject, spot.after.subject, harmless)
        if circle in self._within or self._visits[circle] >= MAX_VISITS:
            return
        self._visits[circle] += 1
        self._within.add(circle)
        texts = said(old, self._sides.old), said(new, self._sides.new)
        spot = replace(spot, harmless=harmless, unsure=any(texts))
        self._see(OpaqueSite(before=texts[0], after=texts[1]), spot)
        sides = forms(old, self._sides.old), forms(new, self._sides.new)
        if texts[0] == texts[1] or (ANY,) not in sides:  # Any value that a text restricts is what the text says.
            self._forms(*sides, spot)
        self._within.remove(circle)

    def _admitted(self, form: TypeRef, others: tuple[TypeRef, ...], spot: Spot, effect: Change) -> Change:
        """Add an effect to the harmless ones if the forms of the other side admit a form of one side."""
        whole = Union(members=others)
        ends = (form, whole) if effect is Change.NARROWS else (whole, form)
        return spot.harmless | (self._sides.harmless(*ends) & effect)

    def _form(self, spot: Spot, form: TypeRef, others: tuple[TypeRef, ...], effect: Change) -> Spot:
        """Return the spot of a form that only one side has."""
        side = self._sides.old if effect is Change.NARROWS else self._sides.new
        return replace(needing(spot, form, side), harmless=self._admitted(form, others, spot, effect))

    def _through(self, spot: Spot, old: TypeRef, new: TypeRef) -> Spot:
        before, after = through(spot.before, old, self._sides.old), through(spot.after, new, self._sides.new)
        return replace(spot, before=before, after=after)

    def _forms(self, old: tuple[TypeRef, ...], new: tuple[TypeRef, ...], spot: Spot) -> None:
        if len(old) == len(new) == 1:
            self._single(old[0], new[0], spot)
            return
        pairs, gone, come = self._sides.likeness.pairs(old, new)
        if not pairs or (ANY,) in (old, new):
            self._see(TypeSite(before=old, after=new), spot)
            return
        for leaf, partner in pairs:
            inside = self._through(spot.member(leaf, partner), leaf, partner)
            harmless = self._admitted(leaf, new, inside, Change.NARROWS) | self._admitted(
                partner, old, inside, Change.WIDENS
            )
            self._single(leaf, partner, replace(inside, harmless=harmless))
        for leaf in gone:
            self._see(FormSite(before=leaf, after=None), self._form(spot, leaf, new, Change.NARROWS))
        for leaf in come:
            self._see(FormSite(before=None, after=leaf), self._form(spot, leaf, old, Change.WIDENS))

    def _single(self, old: TypeRef, new: TypeRef, spot: Spot) -> None:
        before, after = self._sides.old.resolve(old), self._sides.new.resolve(new)
        match before, after:
            case ((Struct() | MapOf()), (Struct() | MapOf())):
                self._objects(before, after, spot)
            case ListOf(), ListOf():
                self._bounds(before, after, spot)
                self.types(before.item, after.item, spot.item())
            case _:
                sides = ((end.subject.definition, end.subject.member) for end in (spot.before, spot.after))
                selects = all(side in self._sides.selectors for side in sides)
                self._see(TypeSite(before=(old,), after=(new,), selects=selects), spot)
                if isinstance(before, Primitive) and isinstance(after, Primitive):
                    self._bounds(before, after, spot)

    def _bounds(self, old: TypeRef | Struct, new: TypeRef | Struct, spot: Spot) -> None:
        for site in bound_sites(old, new):
            self._see(site, spot)

    def _objects(self, old: Object, new: Object, spot: Spot) -> None:
        if isinstance(old, Struct) and isinstance(new, Struct):
            key = (spot.carrier, old.name, new.name, spot.needs, spot.harmless)
            if key in self._entered:
                return
            self._entered.add(key)
        pairing, spot_inside = Pairing(old, new, self._skipped), inside(old, new, spot)
        self._bounds(old, new, spot)
        renames = renamed(pairing.gone, pairing.come, self._sides.same)
        for was, is_ in renames.items():
            both = PropertySite(before=pairing.before[was], after=pairing.after[is_])
            self._see(both, spot_inside.field(was, is_))
        done = {*renames, *renames.values()}
        done |= self._moves(pairing, spot_inside, done)
        for name in sorted({*pairing.before, *pairing.after} - done):
            self._property(name, pairing, spot_inside)
        self._rest(pairing, spot_inside.value())

    def _property(self, name: str, pairing: Pairing, spot: Spot) -> None:
        before, after = pairing.before.get(name), pairing.after.get(name)
        if before and after and before == after and self._sides.same(before.type, after.type):
            return
        spot = self._needing(name, pairing, spot)
        forbidden = [side is not None and is_never(side.type) for side in (before, after)]
        if forbidden[0] != forbidden[1]:
            if before and after:
                self._see(PropertySite(before=before, after=after), spot)
            if (before and after) or pairing.undeclared(name) is not None:
                readings = [spell(side.type) if side else "" for side in (before, after)]
                self._see(ForbiddenSite(before=readings[0], after=readings[1]), spot)
            return
        if before and after:
            self._see(PropertySite(before=before, after=after), spot)
            self.types(before.type, after.type, spot)
        elif (spot.carrier, spot.before.place, spot.after.place) not in self._moved:
            self._declared(name, before, after, pairing, spot)

    def _declared(self, name: str, before: Field | None, after: Field | None, pairing: Pairing, spot: Spot) -> None:
        """Compare a property that one side declares with the type that the other admits for undeclared properties."""
        undeclared = pairing.undeclared(name)
        protocols = self._sides.old, self._sides.new
        ground = pairing.ground(name, protocols, in_capabilities=spot.in_capabilities)
        self._see(PropertySite(before=before, after=after, ground=ground), spot)
        if undeclared is not None and forms(undeclared, protocols[before is not None]) != (ANY,):
            self.types(before.type if before else undeclared, after.type if after else undeclared, spot)

    def _needing(self, name: str, pairing: Pairing, spot: Spot) -> Spot:
        """Return the spot of a property, with its capability, unless the old revision did not require one."""
        sides = (
            (self._sides.old, pairing.old, pairing.before),
            (self._sides.new, pairing.new, pairing.after),
        )
        paths = [
            protocol.capabilities.get(f"{side.name}.{name}", "") if isinstance(side, Struct) else ""
            for protocol, side, declared in sides
            if name in declared
        ]
        spot = spot.field(name, name)
        return replace(spot, needs=spot.needs | set(paths)) if all(paths) else spot

    def _rest(self, pairing: Pairing, spot: Spot) -> None:
        """Compare which undeclared properties are allowed."""
        old, new = rest_of(pairing.old), rest_of(pairing.new)
        if old is not None and new is not None:
            self.types(old, new, spot)
        else:
            self._see(RestSite(before=old is not None, after=new is not None), spot)

    def _moves(self, pairing: Pairing, spot: Spot, known: set[str]) -> set[str]:
        """Compare properties that moved into or out of a sibling object; return their names outside."""
        found: set[str] = set()
        known_pairs: dict[tuple[int, int], Pairing] = {}  # many properties may have one type
        both = pairing.before.keys() & pairing.after.keys()
        for beside in sorted(both) if both != {*pairing.before, *pairing.after} else ():
            types = pairing.before[beside].type, pairing.after[beside].type
            old, new = forms(types[0], self._sides.old), forms(types[1], self._sides.new)
            before, after = self._sides.old.resolve(old[0]), self._sides.new.resolve(new[0])
            is_object = isinstance(before, Struct | MapOf) and isinstance(after, Struct | MapOf)
            if len(old) > 1 or len(new) > 1 or not is_object:
                continue
            assert isinstance(before, Struct | MapOf) and isinstance(after, Struct | MapOf)
            deeper = inside(before, after, self._through(spot.field(beside, beside), *types))
            within = known_pairs.setdefault((id(before), id(after)), Pairing(before, after))
            for outer, inner, inwards in pairing.moves(within, self._sides.same):
                if outer.wire_name in {*found, *known}:
                    continue
                found.add(outer.wire_name)
                in_ = deeper.field(inner.wire_name, inner.wire_name)
                out = spot.field(outer.wire_name, outer.wire_name)
                path = f"{beside}.{inner.wire_name}"
                paths = (outer.wire_name, path) if inwards else (path, outer.wire_name)
                place = replace(out, after=in_.after) if inwards else replace(out, before=in_.before)
                self._see(MoveSite(before=paths[0], after=paths[1]), place)
                # Closed objects and JSON Schemas also take other values at the place inside.
                if within.ground(inner.wire_name, (self._sides.old, self._sides.new)) is Ground.OPEN:
                    self._moved.add((spot.carrier, in_.before.place, in_.after.place))
        return found


def needing(spot: Spot, form: TypeRef, protocol: Protocol) -> Spot:
    """Return the spot of a form that only one side has, with the capabilities that its required properties need."""
    within = replace(spot, way=(*spot.way, Step("member", form.name if isinstance(form, Ref) else spell(form))))
    within = replace(within, needs=spot.needs | needs_of_form(spot.after.place, spell(form)))
    struct = protocol.resolve(form)
    if not isinstance(struct, Struct):
        return within
    names = [f"{struct.name}.{f.wire_name}" for f in struct.fields if f.required]
    paths = {protocol.capabilities[name] for name in names if name in protocol.capabilities}
    return replace(within, needs=within.needs | paths)


def inside(old: Object, new: Object, spot: Spot) -> Spot:
    """Return the spot within two objects, named after their structs."""
    first = next((side for side in (old, new) if isinstance(side, Struct)), None)
    if first is None:
        return spot
    named = [side.name if isinstance(side, Struct) else first.name for side in (old, new)]
    if isinstance(new, Struct) and not isinstance(old, Struct):
        named = [new.name, new.name]
    ends = [
        replace(end, place=name, subject=Subject(definition=name) if isinstance(side, Struct) else end.subject)
        for end, name, side in zip((spot.before, spot.after), named, (old, new), strict=True)
    ]
    is_capabilities = any(name.endswith("Capabilities") for name in named)
    return replace(spot, before=ends[0], after=ends[1], in_capabilities=spot.in_capabilities or is_capabilities)
