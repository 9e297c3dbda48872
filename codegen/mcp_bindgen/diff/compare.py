"""Compare two revisions message by message, following each value on its way from the sender to the receiver."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from difflib import SequenceMatcher

from mcp_bindgen.diff.finding import Carrier, Finding, Step, Travel
from mcp_bindgen.diff.rules import RULES
from mcp_bindgen.diff.shapes import Changed, bound_changes, scalar_changes
from mcp_bindgen.ir.nodes import (
    ANY,
    NULL,
    UNBOUNDED,
    Direction,
    Field,
    Kind,
    ListOf,
    Literal,
    MapOf,
    Method,
    Primitive,
    Protocol,
    Ref,
    Struct,
    TypeRef,
    Union,
)
from mcp_bindgen.ir.spell import spell

SIMILAR = 0.6
"""How alike two names must be for one to be the other's new form (0 to 1)."""
ALIKE = 0.5
"""How many of their members two objects must share to be one object in two forms (0 to 1)."""

_TRAVELS: Mapping[Direction, tuple[Travel, ...]] = {
    Direction.CLIENT_TO_SERVER: (Travel.TO_SERVER,),
    Direction.SERVER_TO_CLIENT: (Travel.TO_CLIENT,),
    Direction.BOTH: (Travel.TO_SERVER, Travel.TO_CLIENT),
    Direction.EMBEDDED: (Travel.TO_CLIENT,),
}
_BACK = {Travel.TO_SERVER: Travel.TO_CLIENT, Travel.TO_CLIENT: Travel.TO_SERVER}


@dataclass(frozen=True, slots=True, kw_only=True)
class Spot:
    """Where a comparison has come to: the definition and member, the message, and the steps from its root."""

    place: str
    carrier: Carrier
    way: tuple[Step, ...] = ()

    def on(self, place: str, *steps: Step) -> "Spot":
        """Return the spot that so many steps further on is called by that place."""
        return Spot(place=place, carrier=self.carrier, way=(*self.way, *steps))


def compare(old: Protocol, new: Protocol) -> tuple[Finding, ...]:
    """Return all changes between two revisions that a message can show, each once, in a stable order."""
    comparison = _Comparison(old, new)
    for name in sorted({m.name for m in old.methods} | {m.name for m in new.methods}):
        comparison.method(name)
    return tuple(sorted(comparison.findings.values(), key=lambda f: (f.rule.id, f.place, f.old, f.new)))


class _Comparison:
    def __init__(self, old: Protocol, new: Protocol) -> None:
        self._old = old
        self._new = new
        self._old_methods = {method.name: method for method in old.methods}
        self._new_methods = {method.name: method for method in new.methods}
        self._seen: set[tuple[Carrier, TypeRef, TypeRef]] = set()
        self._entered: set[tuple[Carrier, Ref, Ref]] = set()
        self.findings: dict[tuple[str, str, str, str], Finding] = {}

    def method(self, name: str) -> None:
        """Compare one method: whether it exists on each way, then what its messages carry."""
        before, after = self._old_methods.get(name), self._new_methods.get(name)
        for travel in Travel:
            had, has = _sends(before, travel), _sends(after, travel)
            method = before if had else after
            if had != has and method is not None:
                kind = "request" if method.is_request else "notification"
                spot = Spot(place=method.message, carrier=Carrier(name, "params", travel))
                rule = f"{kind}-method-{'removed' if had else 'added'}"
                self._note(rule, name if had else "-", name if has else "-", spot)
        if before is None or after is None:
            return
        for travel in _TRAVELS[before.direction]:
            if travel in _TRAVELS[after.direction]:
                self._params(before, after, Carrier(name, "params", travel))
                if before.result and after.result:
                    self._results(before, after, Carrier(name, "result", _BACK[travel]))

    def _params(self, before: Method, after: Method, carrier: Carrier) -> None:
        if before.params is None or after.params is None:
            return
        if before.params_required != after.params_required:
            spot = Spot(place=f"{after.message}.params", carrier=carrier)
            self._need(before.params_required, after.params_required, spot)
        self._types(Ref(name=before.params), Ref(name=after.params), Spot(place=after.params, carrier=carrier))

    def _results(self, before: Method, after: Method, carrier: Carrier) -> None:
        spot = Spot(place=after.result or "", carrier=carrier)
        self._types(Ref(name=before.result or ""), Ref(name=after.result or ""), spot)
        for name in sorted({*before.alternatives} & {*after.alternatives}):
            self._types(Ref(name=name), Ref(name=name), spot.on(name, Step("member", name)))
        for name in sorted({*before.alternatives} ^ {*after.alternatives}):
            rule = f"result-alternative-{'added' if name in after.alternatives else 'removed'}"
            sides = ("-", name) if name in after.alternatives else (name, "-")
            self._note(rule, *sides, spot.on(spot.place, Step("member", name)))

    def _note(self, rule: str, old: str, new: str, spot: Spot) -> None:
        key = (rule, spot.place, old, new)
        found = self.findings.get(key) or Finding(rule=RULES[rule], place=spot.place, old=old, new=new)
        self.findings[key] = replace(found, carriers={spot.carrier: spot.way, **found.carriers})

    def _need(self, old: bool, new: bool, spot: Spot) -> None:
        words = {True: "required", False: "optional"}
        self._note("property-now-required" if new else "property-now-optional", words[old], words[new], spot)

    def _types(self, old: TypeRef, new: TypeRef, spot: Spot) -> None:
        if (spot.carrier, old, new) in self._seen and isinstance(old, Ref):
            return
        self._seen.add((spot.carrier, old, new))
        before, after = tuple(leaves(old, self._old)), tuple(leaves(new, self._new))
        if len(before) == 1 and len(after) == 1:
            self._single(before[0], after[0], spot)
        elif ANY in before or ANY in after:
            if (ANY in before) != (ANY in after):
                self._note("type-widened" if ANY in after else "type-narrowed", spell(old), spell(new), spot)
        else:
            self._unions(before, after, spot)

    def _unions(self, before: tuple[TypeRef, ...], after: tuple[TypeRef, ...], spot: Spot) -> None:
        left, right = list(before), list(after)
        likeness = {(leaf, other): self._likeness(leaf, other) for leaf in before for other in after}
        for (leaf, partner), like in sorted(likeness.items(), key=lambda pair: -pair[1]):
            if like >= ALIKE and leaf in left and partner in right:
                left.remove(leaf)
                right.remove(partner)
                inner = partner.name if isinstance(partner, Ref) else spot.place
                self._single(leaf, partner, spot.on(inner, *_member(partner)))
        for leaf in left:
            rule = "nullable-removed" if leaf == NULL else "union-member-removed"
            self._note(rule, spell(leaf), "-", spot.on(spot.place, *_member(leaf)))
        for leaf in right:
            rule = "nullable-added" if leaf == NULL else "union-member-added"
            self._note(rule, "-", spell(leaf), spot.on(spot.place, *_member(leaf)))

    def _likeness(self, old: TypeRef, new: TypeRef) -> float:
        """How sure it is that two members of unions are the same one: by name, else by constants and shape (0 to 1)."""
        if isinstance(old, Ref) and isinstance(new, Ref):
            a, b = self._old.resolve(old), self._new.resolve(new)
            if old.name == new.name or not isinstance(a, Struct) or not isinstance(b, Struct):
                return 2.0 * (old.name == new.name)
            names = [{f.wire_name for f in side.fields} for side in (a, b)]
            overlap = len(names[0] & names[1]) / max(1, len(names[0] | names[1]))
            return overlap if constants(a) == constants(b) else 0.0
        if isinstance(old, Primitive) and isinstance(new, Primitive):
            numbers = (Kind.INTEGER, Kind.NUMBER)
            return 1.0 if old.kind is new.kind else 0.9 * (old.kind in numbers and new.kind in numbers)
        if isinstance(old, Ref) or type(old) is not type(new):
            return 0.0
        return 2.0 if old == new else 1.0

    def _single(self, old: TypeRef, new: TypeRef, spot: Spot) -> None:
        before, after = self._old.resolve(old), self._new.resolve(new)
        match before, after:
            case (Struct() | MapOf()), (Struct() | MapOf()):
                self._objects(before, after, spot)
            case ListOf(), ListOf():
                self._changes(bound_changes(before.bounds, after.bounds), spot)
                self._types(before.item, after.item, spot.on(f"{spot.place}[]", Step("item")))
            case (Primitive() | Literal()), (Primitive() | Literal()):
                self._changes(scalar_changes(before, after), spot)
            case Primitive(kind=Kind.ANY), _:
                self._note("type-narrowed", spell(old), spell(new), spot)
            case _, Primitive(kind=Kind.ANY):
                self._note("type-widened", spell(old), spell(new), spot)
            case _:
                self._note("type-changed", spell(old), spell(new), spot)

    def _changes(self, changes: Iterator[Changed], spot: Spot) -> None:
        for rule, old, new in changes:
            self._note(rule, old, new, spot)

    def _objects(self, old: Struct | MapOf, new: Struct | MapOf, spot: Spot) -> None:
        if isinstance(old, Struct) and isinstance(new, Struct):
            pair = (spot.carrier, Ref(name=old.name), Ref(name=new.name))
            if pair in self._entered:
                return
            self._entered.add(pair)
        before, after = members(old), members(new)
        name = new.name if isinstance(new, Struct) else spot.place
        renamed = self._renamed(before, after)
        for wire_name in sorted({*before, *after} - {*renamed, *renamed.values()}):
            here = spot.on(f"{name}.{wire_name}", Step("field", wire_name))
            self._member(before.get(wire_name), after.get(wire_name), here)
        for was, is_ in renamed.items():
            self._note("property-renamed", was, is_, spot.on(f"{name}.{is_}", Step("field", is_)))
        self._rest(rest_of(old), rest_of(new), spot.on(f"{name}{{}}", Step("value")))

    def _rest(self, old: TypeRef | None, new: TypeRef | None, spot: Spot) -> None:
        """Compare what may stand beside the declared members."""
        if old is not None and new is not None:
            self._types(old, new, spot)
        elif old is not None or new is not None:
            rule = "additional-properties-closed" if new is None else "additional-properties-opened"
            words = {True: "open", False: "closed"}
            self._note(rule, words[old is not None], words[new is not None], spot)

    def _member(self, old: Field | None, new: Field | None, spot: Spot) -> None:
        if old is not None and new is not None:
            if old.required != new.required:
                self._need(old.required, new.required, spot)
            self._types(old.type, new.type, spot)
        elif new is not None:
            self._note(f"property-added-{'required' if new.required else 'optional'}", "-", spell(new.type), spot)
        elif old is not None:
            self._note(f"property-removed-{'required' if old.required else 'optional'}", spell(old.type), "-", spot)

    def _renamed(self, before: Mapping[str, Field], after: Mapping[str, Field]) -> dict[str, str]:
        """Find members that only changed their names: same type and need, and names that are alike."""
        gone = [before[name] for name in before if name not in after]
        come = [after[name] for name in after if name not in before]
        found: dict[str, str] = {}
        for old in gone:
            for new in come:
                alike = SequenceMatcher(None, old.wire_name.lower(), new.wire_name.lower()).ratio() >= SIMILAR
                same = old.type == new.type and old.required and new.required
                if alike and same and new.wire_name not in found.values():
                    found[old.wire_name] = new.wire_name
                    break
        return found


def _sends(method: Method | None, travel: Travel) -> bool:
    """Whether the method is a message of its own on that way; an embedded request is part of a result."""
    return method is not None and method.direction is not Direction.EMBEDDED and travel in _TRAVELS[method.direction]


def leaves(type_: TypeRef, protocol: Protocol) -> Iterator[TypeRef]:
    """Iterate over the members of a union, through the aliases in it; a struct stays a reference."""
    target = protocol.resolve(type_)
    if isinstance(target, Union):
        if is_json_value(target, protocol):
            yield ANY
            return
        for member in target.members:
            yield from leaves(member, protocol)
    elif isinstance(target, Struct):
        yield Ref(name=target.name)
    else:
        yield target


def is_json_value(union: Union, protocol: Protocol) -> bool:
    """Whether a union spells out what every JSON value is: the scalars, and lists and maps of the union itself."""
    kinds: set[object] = set()
    for member in union.members:
        target = protocol.resolve(member)
        if isinstance(target, Primitive) and target.bounds == UNBOUNDED:
            kinds.add(target.kind)
        elif isinstance(target, ListOf) and protocol.resolve(target.item) in (union, ANY):
            kinds.add(ListOf)
        elif isinstance(target, MapOf) and protocol.resolve(target.value) in (union, ANY):
            kinds.add(MapOf)
    return kinds >= {Kind.STRING, Kind.NUMBER, Kind.BOOLEAN, Kind.NULL, ListOf, MapOf}


def members(object_: Struct | MapOf) -> dict[str, Field]:
    """Return the declared members of an object by their names."""
    return {f.wire_name: f for f in object_.fields} if isinstance(object_, Struct) else {}


def rest_of(object_: Struct | MapOf) -> TypeRef | None:
    """Return the type of the members that are not declared, None if there may be none."""
    return object_.extra if isinstance(object_, Struct) else object_.value


def constants(struct: Struct) -> frozenset[tuple[str, object]]:
    """Return the required constants of a struct, by which a union tells its members apart."""
    return frozenset(
        (f.wire_name, f.type.values[0])
        for f in struct.fields
        if f.required and isinstance(f.type, Literal) and len(f.type.values) == 1
    )


def _member(leaf: TypeRef) -> tuple[Step, ...]:
    return (Step("member", leaf.name),) if isinstance(leaf, Ref) else ()
