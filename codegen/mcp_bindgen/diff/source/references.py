"""Compare how the places of a schema refer to their types: by a name or inline, and by which name.

The shapes are compared elsewhere. This module finds attributes whose Python type has a different name although the
valid values are the same.
"""

from collections.abc import Iterator, Sequence

from mcp_bindgen.diff.finding import Finding, Subject
from mcp_bindgen.diff.rules.definitions import (
    OBJECT_DECLARED,
    OBJECT_UNDECLARED,
    REF_RETARGETED,
    TYPE_INLINED,
    TYPE_NAMED,
)
from mcp_bindgen.diff.sites import ReferenceSite
from mcp_bindgen.diff.source.matched import Matched, declared_fields, is_inline
from mcp_bindgen.diff.types.equality import Equality
from mcp_bindgen.ir.leaves import leaves
from mcp_bindgen.ir.nodes import Alias, ListOf, MapOf, Protocol, Ref, Struct, TypeRef, Union
from mcp_bindgen.ir.spell import spell

INLINE = "inline object"
"""How a finding shows an object without a name."""


def compare_references(sides: Matched) -> Iterator[Finding]:
    """Iterate over the changes of how types are referred to, in all definitions that both sides have."""
    comparison = _Comparison(sides)
    for old, new in sides.pairs():
        subjects = Subject(definition=old.name), Subject(definition=new.name)
        if isinstance(old, Struct) and isinstance(new, Struct):
            for field, other in declared_fields(old, new):
                at = [Subject(definition=s.definition, member=field.wire_name) for s in subjects]
                yield from comparison.types(field.type, other.type, at)
        else:
            types = [d.type if isinstance(d, Alias) else Ref(name=d.name) for d in (old, new)]
            yield from comparison.types(types[0], types[1], subjects)


class _Comparison:
    def __init__(self, sides: Matched) -> None:
        self._sides = sides
        self._old = sides.old
        self._new = sides.new
        self._equality = Equality(sides.old, sides.new)
        self._pairs = frozenset(sides.matching.pairs)

    def types(self, old: TypeRef, new: TypeRef, at: Sequence[Subject]) -> Iterator[Finding]:
        """Compare the two types at one place."""
        match old, new:
            case ListOf(), ListOf():
                yield from self.types(old.item, new.item, at)
            case MapOf(), MapOf():
                yield from self.types(old.value, new.value, at)
            case Union(), Union():
                yield from self._unions(old, new, at)
            case Ref(), Ref():
                yield from self._references(old, new, at)
            case _:
                yield from self._named(old, new, at)

    def _unions(self, old: Union, new: Union, at: Sequence[Subject]) -> Iterator[Finding]:
        """Compare the objects among the members of two unions; other members do not affect names."""
        before, after = _structs(old, self._old), _structs(new, self._new)
        for a in before:
            for b in after:
                if (a.name, b.name) in self._pairs and is_inline(a) != is_inline(b):
                    yield from self._references(Ref(name=a.name), Ref(name=b.name), at)

    def _references(self, old: Ref, new: Ref, at: Sequence[Subject]) -> Iterator[Finding]:
        a, b = self._old.definitions[old.name], self._new.definitions[new.name]
        same = (a.name, b.name) in self._pairs
        if is_inline(a) and is_inline(b):
            return
        if is_inline(a) or is_inline(b):
            if same:
                sides = (INLINE, b.name) if is_inline(a) else (a.name, INLINE)
                yield from self._refer(TYPE_NAMED.id if is_inline(a) else TYPE_INLINED.id, sides, at)
            else:
                yield from self._objects(old, new, at)
        elif not same and a.name != b.name:
            if self._equality.same(old, new):
                yield from self._refer(REF_RETARGETED.id, (a.name, b.name), at)
            else:
                yield from self._objects(old, new, at)

    def _refer(self, rule: str, readings: tuple[str, str], at: Sequence[Subject]) -> Iterator[Finding]:
        site = ReferenceSite(rule=rule, before=readings[0], after=readings[1])
        yield from self._sides.findings(site, at[0], at[1])

    def _named(self, old: TypeRef, new: TypeRef, at: Sequence[Subject]) -> Iterator[Finding]:
        """Compare an inline type with a reference, and other types that are written differently."""
        names = [isinstance(t, Ref) and not is_inline(p.definitions[t.name]) for t, p in self._both(old, new)]
        if names[0] != names[1] and (self._equality.same(old, new) or self._overlap(old, new)):
            rule = TYPE_NAMED.id if names[1] else TYPE_INLINED.id
            yield from self._refer(rule, (spell(old), spell(new)), at)
        else:
            yield from self._objects(old, new, at)

    def _overlap(self, old: TypeRef, new: TypeRef) -> bool:
        """Whether two unions have a member in common; the wire view reports added and removed members."""
        before, after = ([*leaves(t, p)] for t, p in self._both(old, new))
        several = len(before) > 1 and len(after) > 1
        return several and any(self._same(a, b) for a in before for b in after)

    def _same(self, old: TypeRef, new: TypeRef) -> bool:
        matched = isinstance(old, Ref) and isinstance(new, Ref) and (old.name, new.name) in self._pairs
        return matched or self._equality.same(old, new)

    def _both(self, old: TypeRef, new: TypeRef) -> tuple[tuple[TypeRef, Protocol], tuple[TypeRef, Protocol]]:
        return (old, self._old), (new, self._new)

    def _dict_and_class(self, old: TypeRef, new: TypeRef) -> tuple[bool, bool]:
        """Whether one side has a dict and the other a class with properties."""
        before, after = self._old.resolve(old), self._new.resolve(new)
        declared = [isinstance(t, Struct) and bool(t.fields) for t in (before, after)]
        return isinstance(before, MapOf) and declared[1], declared[0] and isinstance(after, MapOf)

    def _objects(self, old: TypeRef, new: TypeRef, at: Sequence[Subject]) -> Iterator[Finding]:
        declared, undeclared = self._dict_and_class(old, new)
        if declared or undeclared:
            rule = OBJECT_DECLARED.id if declared else OBJECT_UNDECLARED.id
            yield from self._refer(rule, (spell(old), spell(new)), at)


def _structs(type_: TypeRef, protocol: Protocol) -> list[Struct]:
    return [s for leaf in leaves(type_, protocol) if isinstance(s := protocol.resolve(leaf), Struct)]
