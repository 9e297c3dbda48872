"""Match the definitions of two revisions: find the new definition that corresponds to each old one.

Definitions with the same name match, unless the name was reused for something else. The others are matched by place,
which is how an inline object finds the definition that it became, then by constants, properties and names. Swapping
the two sides gives the same pairs.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from mcp_bindgen.diff.types.equality import Equality, name_likeness
from mcp_bindgen.ir.leaves import constants, forms, members, structs
from mcp_bindgen.ir.names import method_constant
from mcp_bindgen.ir.nodes import (
    Alias,
    Definition,
    Field,
    ListOf,
    Literal,
    MapOf,
    Primitive,
    Protocol,
    Ref,
    Struct,
    TypeRef,
    Union,
)

SAME_PLACE = 0.3
"""How similar two objects at the same place must be to match (0 to 1).

If there is only one on each side and one of them is inline, they always match.
"""
SAME_SHAPE = 0.6
"""The same for objects at different places whose names are similar."""
SAME_NAME = 0.5
"""How similar two names must be (0 to 1)."""
COVERED = 0.8
"""The share of an object's properties that must occur in the parts that it was split into (0 to 1)."""
MAX_CANDIDATES = 100_000
"""The maximum number of pairs considered for renames and splits: far more than real revisions need."""

_EVERYWHERE = frozenset(("_meta", "jsonrpc", "id", "method", "params"))
"""Properties that do not help to identify a definition: those of all messages, params and results."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Matching:
    """Which definitions correspond: `pairs` of an old name and a new one.

    `reused` are names that now mean something else. `splits` maps old names to the new ones that they were split into,
    `merges` maps new names to the old ones that were merged.
    """

    pairs: tuple[tuple[str, str], ...]
    reused: tuple[str, ...]
    splits: Mapping[str, tuple[str, ...]]
    merges: Mapping[str, tuple[str, ...]]


def match_definitions(old: Protocol, new: Protocol) -> Matching:
    """Match the definitions of two revisions."""
    matcher = _Matcher(old, new)
    matcher.by_place()
    matcher.by_shape()
    gone, come = matcher.left_over()
    return Matching(
        pairs=tuple(sorted(matcher.pairs)),
        reused=matcher.reused,
        splits=_splits(_Parts(old, new), gone, come),
        merges=_splits(_Parts(new, old), come, gone),
    )


class _Matcher:
    def __init__(self, old: Protocol, new: Protocol) -> None:
        self.old = old
        self.new = new
        self._equality = Equality(old, new)
        common = [name for name in old.definitions if name in new.definitions]
        swapped = dict(self._swapped(common))
        self.reused = tuple(name for name in common if name in swapped or self._is_reused(name))
        self.pairs: dict[tuple[str, str], None] = {(n, n): None for n in common if n not in self.reused}
        self.pairs |= dict.fromkeys(swapped.items())
        self._matched = {a for a, _ in self.pairs}, {b for _, b in self.pairs}

    def _swapped(self, common: list[str]) -> Iterator[tuple[str, str]]:
        """Iterate over the names that were swapped: each old name, and the new name of the same definition."""
        changed = [name for name in common if _is_telling(self.old.definitions[name]) and not self._same(name, name)]
        shaped: dict[object, list[str]] = {}
        for name in changed:
            shaped.setdefault(_shape(name, self.new), []).append(name)
        for a in changed:
            alike = shaped.get(_shape(a, self.old), ())
            b = next((b for b in alike if a != b and self._same(a, b) and self._same(b, a)), None)
            if b is not None:
                yield a, b

    def _is_reused(self, name: str) -> bool:
        """Whether a name was reused: an object became a union or a scalar, or no property is shared."""
        old, new = self.old.definitions[name], self.new.definitions[name]
        if isinstance(old, Struct) and isinstance(new, Struct):
            names = [{f.wire_name for f in side.fields} - _EVERYWHERE for side in (old, new)]
            return min(len(side) for side in names) > 1 and not names[0] & names[1]
        sides = (old, self.old), (new, self.new)
        if not any(isinstance(side, Struct) and not _is_copy(side, protocol) for side, protocol in sides):
            return False
        resolved = (protocol.resolve(Ref(name=name)) for _, protocol in sides)
        return not all(isinstance(type_, Struct | MapOf) for type_ in resolved) and not self._same(name, name)

    def _same(self, old: str, new: str) -> bool:
        return self._equality.same(Ref(name=old), Ref(name=new))

    def left_over(self) -> tuple[list[str], list[str]]:
        """Return the old and the new definitions without a partner."""
        sides = self.old.definitions, self.new.definitions
        gone, come = ([n for n in side if n not in names] for side, names in zip(sides, self._matched, strict=True))
        return gone, come

    def by_place(self) -> None:
        """Match definitions at the same place of matched definitions, until no more are found."""
        for a, b in self._exchanges():
            self._place(Ref(name=a), Ref(name=b))
        seen: set[tuple[str, str]] = set()
        while fresh := [pair for pair in sorted(self.pairs) if pair not in seen]:
            seen.update(fresh)
            for a, b in fresh:
                for old, new in _places(self.old.definitions[a], self.new.definitions[b]):
                    self._place(old, new)

    def _exchanges(self) -> Iterator[tuple[str, str]]:
        """Iterate over the definitions that the same method names in both revisions: message, params, result."""
        after = {method.name: method for method in self.new.methods}
        for before in self.old.methods:
            if before.name in after:
                both = before, after[before.name]
                for a, b in zip(*((m.message, m.params, m.result) for m in both), strict=True):
                    if a and b:
                        yield a, b

    def _place(self, old: TypeRef, new: TypeRef) -> None:
        """Match the aliases and the objects at one place, the most similar first."""
        old, new = _unwrapped(old, new)
        for a in self._aliases(old, self.old):
            for b in self._aliases(new, self.new):
                if a != b and self._is_free(a, b, alone=False) and self._same(a, b):
                    self._match(a, b)
        before, after = list(structs(old, self.old)), list(structs(new, self.new))
        alone = len(before) == len(after) == 1
        free = [(a, b) for a in before for b in after if self._is_free(a.name, b.name, alone=alone)]
        rated = [(self._equality.likeness(a, b), a.name, b.name) for a, b in free]
        for likeness, a, b in _best_first([row for row in rated if row[0]]):
            if likeness < SAME_PLACE and not (alone and _is_inline(self.old, a) != _is_inline(self.new, b)):
                continue
            if self._is_free(a, b, alone=alone):
                self._match(a, b)

    def _match(self, a: str, b: str) -> None:
        self.pairs[a, b] = None
        self._matched[0].add(a)
        self._matched[1].add(b)

    def _aliases(self, type_: TypeRef, protocol: Protocol) -> Iterator[str]:
        """Iterate over the aliases in a type: the type itself, or direct members of a union."""
        for member in type_.members if isinstance(type_, Union) else (type_,):
            if isinstance(member, Ref) and isinstance(protocol.definitions[member.name], Alias):
                yield member.name

    def _is_free(self, a: str, b: str, *, alone: bool) -> bool:
        """Whether two definitions may be matched: neither has a partner, but many inline objects may become one."""
        inline = _is_inline(self.old, a), _is_inline(self.new, b)
        taken = a in self._matched[0], b in self._matched[1]
        if inline[0] != inline[1] and alone:
            return not taken[0] if inline[0] else not taken[1]
        return not any(taken)

    def by_shape(self) -> None:
        """Match definitions without a partner by shape and name, the most similar first."""
        gone, come = self.left_over()
        gone = [name for name in gone if name not in _parts_of_methods(self.old, self.new)]
        come = [name for name in come if name not in _parts_of_methods(self.new, self.old)]
        if len(gone) * len(come) > MAX_CANDIDATES:
            return
        rated = [(self._likeness(a, b), a, b) for a in gone for b in come]
        for _, a, b in _best_first([row for row in rated if row[0]]):
            if self._is_free(a, b, alone=False):
                self._match(a, b)
        self.by_place()

    def _likeness(self, a: str, b: str) -> float:
        """How certain it is that a definition was renamed (0 to 1)."""
        old, new = self.old.definitions[a], self.new.definitions[b]
        if isinstance(old, Alias) and isinstance(new, Alias) and name_likeness(a, b) >= SAME_NAME:
            return float(self._same(a, b))
        if not isinstance(old, Struct) or not isinstance(new, Struct) or a == b:
            return 0.0
        own = [{f.wire_name for f in side.fields} - _EVERYWHERE for side in (old, new)]
        if not own[0] & own[1] and not method_constant(old):
            return 0.0
        likeness = self._equality.likeness(old, new, _EVERYWHERE)
        telling = likeness == 1.0 and (len(own[0]) > 1 or len(old.fields) > 2) and self._same(a, b)
        return likeness if likeness >= SAME_SHAPE and (telling or name_likeness(a, b) >= SAME_NAME) else 0.0


def _parts_of_methods(having: Protocol, lacking: Protocol) -> set[str]:
    """Return the messages, params and results of methods that only one side has: they exist on that side only."""
    kept = {part for method in lacking.methods for part in (method.name, method.message)}
    sides = [[m for m in having.methods if ({m.name, m.message} & kept != set()) is known] for known in (False, True)]
    lost, stay = ({part for m in side for part in (m.message, m.params, m.result) if part} for side in sides)
    return lost - stay


class _Parts:
    """Finds the new definitions that an old one was split into."""

    def __init__(self, old: Protocol, new: Protocol) -> None:
        self.old = old
        self.new = new
        self._equality = Equality(old, new)

    def parts(self, whole: Struct, names: list[str]) -> list[str]:
        """Return the new definitions that share most properties of an old one; none if too many are missing."""
        members = {f.wire_name for f in whole.fields} - _EVERYWHERE
        found = [name for name in names if self._is_part(whole, self.new.definitions[name])]
        covered = {f.wire_name for name in found for f in _fields(self.new.definitions[name])} & members
        return found if len(found) > 1 and len(covered) >= COVERED * len(members) else []

    def _is_part(self, whole: Struct, part: Definition) -> bool:
        """Whether most properties of an object belong to another, without constants that the other did not allow."""
        if not isinstance(part, Struct) or part.holder:
            return False
        names = [f.wire_name for f in part.fields if f.wire_name not in _EVERYWHERE]
        common = [name for name in names if whole.field(name)]
        if len(common) < 2 or 2 * len(common) < len(names):
            return False
        return all(self._allows(whole, part, name) for name in common)

    def _allows(self, whole: Struct, part: Struct, name: str) -> bool:
        old, new = whole.field(name), part.field(name)
        if old is None or new is None:
            return False
        if isinstance(old.type, Literal) and isinstance(new.type, Literal):
            return {*new.type.values} <= {*old.type.values}
        return isinstance(new.type, Literal) or self._equality.same(old.type, new.type)


def _is_telling(definition: Definition) -> bool:
    """Whether a definition is distinctive enough to be recognized under a different name."""
    if isinstance(definition, Alias):
        return not isinstance(definition.type, Ref | Primitive)
    return bool(constants(definition)) or len({f.wire_name for f in definition.fields} - _EVERYWHERE) > 1


def _shape(name: str, protocol: Protocol) -> frozenset[object]:
    """Return what equivalent definitions have in common: the kinds of their forms, and the properties of objects."""
    return frozenset(
        frozenset((n, f.required) for n, f in members(form).items()) if isinstance(form, Struct | MapOf) else type(form)
        for form in (protocol.resolve(form) for form in forms(Ref(name=name), protocol))
    )


def _best_first(rated: Iterable[tuple[float, str, str]]) -> list[tuple[float, str, str]]:
    """Sort candidates by similarity, then by similarity of names; swapping the sides gives the same order."""
    return sorted(rated, key=lambda row: (-row[0], -name_likeness(row[1], row[2]), sorted(row[1:])))


def _places(old: Definition, new: Definition) -> Iterator[tuple[TypeRef, TypeRef]]:
    """Iterate over the pairs of types at the same place of two definitions."""
    if isinstance(old, Struct) and isinstance(new, Struct):
        for field in old.fields:
            if (other := new.field(field.wire_name)) is not None:
                yield field.type, other.type
    elif isinstance(old, Alias) and isinstance(new, Alias):
        yield old.type, new.type


def _unwrapped(old: TypeRef, new: TypeRef) -> tuple[TypeRef, TypeRef]:
    """Unwrap lists and maps as long as both types are of the same kind."""
    while True:
        match old, new:
            case ListOf(item=a), ListOf(item=b):
                old, new = a, b
            case MapOf(value=a), MapOf(value=b):
                old, new = a, b
            case _:
                return old, new


def _splits(matcher: _Parts, gone: list[str], come: list[str]) -> dict[str, tuple[str, ...]]:
    """Find the objects whose properties several others now share, each of which admits a part of the old values."""
    found: dict[str, tuple[str, ...]] = {}
    if len(gone) * len(come) > MAX_CANDIDATES:
        return found
    for name in gone:
        whole = matcher.old.definitions[name]
        if isinstance(whole, Struct) and not whole.holder:
            taken = {part for parts in found.values() for part in parts}
            parts = matcher.parts(whole, [part for part in come if part not in taken])
            found |= {name: tuple(parts)} if parts else {}
    return found


def _fields(definition: Definition) -> tuple[Field, ...]:
    return definition.fields if isinstance(definition, Struct) else ()


def _is_copy(definition: Definition, protocol: Protocol) -> bool:
    """Whether a definition is a message of no method: schema.json writes a union of one member out as that member."""
    return bool(method_constant(definition)) and definition.name not in {m.message for m in protocol.methods}


def _is_inline(protocol: Protocol, name: str) -> bool:
    definition = protocol.definitions[name]
    return isinstance(definition, Struct) and bool(definition.holder)
