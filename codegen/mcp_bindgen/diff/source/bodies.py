"""Compare definitions that no message carries in both revisions: abstract bases, envelopes, kinds of errors.

The wire view follows messages from their roots. These definitions are compared separately, with their own rules
(such as ``member-now-required``): a wire rule would imply that a peer is affected.
"""

from collections.abc import Iterator

from mcp_bindgen.diff.finding import FRAMES, Finding, Subject
from mcp_bindgen.diff.rule import NOTHING
from mcp_bindgen.diff.sites import AliasSite, UnsentSite
from mcp_bindgen.diff.source.matched import Matched
from mcp_bindgen.diff.types.equality import Equality
from mcp_bindgen.ir.leaves import leaves
from mcp_bindgen.ir.names import closure, contained, lineage, method_constant, references
from mcp_bindgen.ir.nodes import Alias, Definition, Field, MapOf, Protocol, Ref, Struct, TypeRef
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
