"""Compare what the wire view does not: definitions that no message carries, and the names in references.

The wire view follows messages from their roots. These definitions are compared separately, with their own rules
(such as ``member-now-required``): a wire rule would imply that a peer is affected.
"""

from collections.abc import Iterator, Sequence
from itertools import product

from mcp_bindgen.diff.finding import FRAMES, Finding, Subject
from mcp_bindgen.diff.rule import NOTHING
from mcp_bindgen.diff.rules.definitions import (
    OBJECT_DECLARED,
    OBJECT_UNDECLARED,
    REF_RETARGETED,
    TYPE_INLINED,
    TYPE_NAMED,
)
from mcp_bindgen.diff.sites import AliasSite, ReferenceSite, UnsentSite
from mcp_bindgen.diff.source.matched import Matched, declared_fields, is_inline
from mcp_bindgen.diff.types.equality import Equality
from mcp_bindgen.ir.leaves import leaves, structs
from mcp_bindgen.ir.names import closure, contained, lineage, method_constant, references
from mcp_bindgen.ir.nodes import Alias, Definition, Field, ListOf, MapOf, Protocol, Ref, Struct, TypeRef, Union
from mcp_bindgen.ir.spell import spell

_RESULTS = ("ClientResult", "ServerResult")
"""The unions that list all results."""
_BY_METHOD = ("params", "result")
"""The properties of a frame whose type depends on the method."""


class Bodies:
    """Compares the content of matched definitions of two revisions, ignoring the names of references."""

    def __init__(self, sides: Matched) -> None:
        self._sides = sides
        self._equality = Equality(sides.old, sides.new, sides.matching.pairs)
        self._pairs = frozenset(sides.matching.pairs)

    def differ(self) -> bool:
        """Whether any two matched definitions or methods differ in content."""
        if self._sides.old.methods != self._sides.new.methods:
            return True
        return any(not self._same(old, new) for old, new in self._sides.pairs())

    def _same(self, old: Definition, new: Definition) -> bool:
        if isinstance(old, Struct) and isinstance(new, Struct):
            return self._equality.alike(old, new)
        types = [d.type if isinstance(d, Alias) else Ref(name=d.name) for d in (old, new)]
        return self._equality.same(types[0], types[1])

    def compare(self) -> Iterator[Finding]:
        """Iterate over the changes of matched definitions that no message carries in both revisions."""
        carried = _carried(self._sides)
        for old, new in self._sides.pairs():
            if old.name in carried[0] and new.name in carried[1]:
                continue
            if isinstance(old, Struct) and isinstance(new, Struct):
                yield from self._structs(old, new)
            elif isinstance(old, Alias) and isinstance(new, Alias) and not self._same(old, new):
                subjects = Subject(definition=old.name), Subject(definition=new.name)
                before, after = self._difference(old.type, new.type)
                yield from self._sides.findings(AliasSite(before=before, after=after), *subjects)

    def _difference(self, old: TypeRef, new: TypeRef) -> tuple[str, str]:
        """Spell two types; for two unions, only the members that the other lacks."""
        before, after = list(leaves(old, self._sides.old)), list(leaves(new, self._sides.new))
        gone = [a for a in before if not any(self._equality.same(a, b) for b in after)]
        come = [b for b in after if not any(self._equality.same(a, b) for a in before)]
        if len(gone) == len(before) and len(come) == len(after):
            return spell(old), spell(new)
        return " | ".join(map(spell, gone)) or NOTHING, " | ".join(map(spell, come)) or NOTHING

    def _structs(self, old: Struct, new: Struct) -> Iterator[Finding]:
        before, after = ({f.wire_name: f for f in side.fields} for side in (old, new))
        for name in sorted(before.keys() | after.keys()):
            if not self._is_of_bases(old, new, name):
                yield from self._property(before.get(name), after.get(name), old.name, new.name)

    def _is_of_bases(self, old: Struct, new: Struct, name: str) -> bool:
        """Whether both sides inherit or lack the property as their bases do: then the bases are compared instead."""
        if name in old.own or name in new.own:
            return False
        before, after = _owner(old, name, self._sides.old), _owner(new, name, self._sides.new)
        if before and after:
            return (before, after) in self._pairs
        if before:
            ancestors = lineage(new.name, self._sides.new.definitions)
            return any((before, ancestor) in self._pairs for ancestor in ancestors)
        ancestors = lineage(old.name, self._sides.old.definitions)
        return any((ancestor, after) in self._pairs for ancestor in ancestors)

    def _property(self, old: Field | None, new: Field | None, before: str, after: str) -> Iterator[Finding]:
        here = Subject(definition=before, member=old.wire_name) if old else None
        there = Subject(definition=after, member=new.wire_name) if new else None
        retyped = bool(
            old and new and not self._equality.same(old.type, new.type) and not self._became(old.type, new.type)
        )
        yield from self._sides.findings(UnsentSite(before=old, after=new, retyped=retyped), here, there)

    def _became(self, old: TypeRef, new: TypeRef) -> bool:
        """Whether a dict became a class or a class a dict; a separate rule covers that."""
        kinds = {type(self._sides.old.resolve(old)), type(self._sides.new.resolve(new))}
        return kinds == {Struct, MapOf}


def _owner(struct: Struct, name: str, protocol: Protocol) -> str:
    """The nearest base that declares a property, empty if the struct lacks it."""
    for base in lineage(struct.name, protocol.definitions):
        definition = protocol.definitions.get(base)
        if isinstance(definition, Struct) and name in definition.own:
            return base
    return ""


def _carried(sides: Matched) -> tuple[set[str], set[str]]:
    """Return the definitions that the methods of both revisions carry, and those that only list methods."""
    common = {m.name for m in sides.old.methods} & {m.name for m in sides.new.methods}
    return _reached(sides.old, common), _reached(sides.new, common)


def _reached(protocol: Protocol, methods: set[str]) -> set[str]:
    ends = [(m.params, m.result, *m.alternatives) for m in protocol.methods if m.name in methods]
    roots = [name for names in ends for name in names if name]
    reached = closure(roots, lambda name: contained(protocol.definitions[name]))
    messages = {name for name, definition in protocol.definitions.items() if method_constant(definition)}
    return reached | messages | _lists(protocol, messages) | _frames(protocol)


def _lists(protocol: Protocol, messages: set[str]) -> set[str]:
    """The unions that list messages or results: the wire view compares their entries."""
    found = set[str](_RESULTS)
    for name, definition in protocol.definitions.items():
        names = set(references(definition.type)) if isinstance(definition, Alias) else set[str]()
        if names and names <= messages:
            found.add(name)
    return found


def _frames(protocol: Protocol) -> set[str]:
    """The JSON-RPC frames and their content, except for what depends on the method."""

    def used(name: str) -> Iterator[str]:
        definition = protocol.definitions[name]
        if isinstance(definition, Alias):
            return references(definition.type)
        fields = (field for field in definition.fields if field.wire_name not in _BY_METHOD)
        return (name for field in fields for name in references(field.type))

    return closure({FRAMES} & protocol.definitions.keys(), used)


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
        for a, b in product(structs(old, self._old), structs(new, self._new)):
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
