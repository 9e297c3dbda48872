"""Decide which classes the class of a struct inherits: those with unchanged fields only.

schema.ts narrows inherited properties, which type checkers rightly reject. So a class inherits the nearest ancestors
all of whose fields it has unchanged, provided that Python finds a method resolution order.
"""

from collections.abc import Iterator, Sequence

from mcp_bindgen.emit.python.names import Names
from mcp_bindgen.ir.names import references
from mcp_bindgen.ir.nodes import Definition, Field, Protocol, Scalar, Struct


class Inheritance:
    """The inheritance between structs in Python."""

    def __init__(self, protocol: Protocol, names: Names) -> None:
        self._protocol = protocol
        self._names = names
        # Types that extend each other's bases have as many paths as there are ways through them: each is walked once.
        self._bases: dict[str, tuple[str, ...]] = {}
        self._orders: dict[str, list[str]] = {}
        self._above: dict[str, frozenset[str]] = {}

    def bases(self, struct: Struct) -> tuple[str, ...]:
        """Return the structs that a class inherits: the nearest ones all of whose fields it has unchanged."""
        if struct.name not in self._bases:
            self._bases[struct.name] = self._find_bases(struct)
        return self._bases[struct.name]

    def own_fields(self, struct: Struct) -> tuple[str, ...]:
        """Return the wire names of the fields that a class does not inherit, or that have a different default."""
        parents = (self._struct(base) for base in self.bases(struct))
        inherited = {
            field.wire_name
            for parent in parents
            if parent
            for field in parent.fields
            if self._default(parent, field) == self._default(struct, field)
        }
        return tuple(field.wire_name for field in struct.fields if field.wire_name not in inherited)

    def needs(self, definition: Definition) -> Iterator[str]:
        """Iterate over the names in a definition's Python statement: types, and inherited bases."""
        if not isinstance(definition, Struct):
            yield from references(definition.type)
            return
        yield from self.bases(definition)
        own = self.own_fields(definition)
        for field in definition.fields:
            if field.wire_name in own:
                yield from references(field.type)
        if definition.extra is not None:
            yield from references(definition.extra)

    def _find_bases(self, struct: Struct) -> tuple[str, ...]:
        seen: set[str] = set()
        found = list(dict.fromkeys(name for base in struct.bases for name in self._faithful(struct, base.name, seen)))
        ancestors = {name for base in found for name in self._ancestors(base)}
        kept = tuple(base for base in found if base not in ancestors)
        return kept if _linearizes([self._order(base) for base in kept], kept) else kept[:1]

    def _faithful(self, struct: Struct, base: str, seen: set[str]) -> list[str]:
        parent = self._struct(base)
        if parent is None or base in seen:
            return []
        seen.add(base)
        if parent.fields and self._is_unchanged(parent, struct):
            return [parent.name]
        return [name for grand in parent.bases for name in self._faithful(struct, grand.name, seen)]

    def _is_unchanged(self, parent: Struct, child: Struct) -> bool:
        if parent.extra != child.extra:
            return False
        for field in parent.fields:
            own = child.field(field.wire_name)
            if own is None or own.type != field.type or own.required != field.required:
                return False
            if self._names.attribute(parent, field.wire_name) != self._names.attribute(child, field.wire_name):
                return False
        return True

    def _default(self, struct: Struct, field: Field) -> Scalar:
        return self._protocol.defaults.get(f"{struct.name}.{field.wire_name}")

    def _struct(self, name: str) -> Struct | None:
        definition = self._protocol.definitions[name]
        if isinstance(definition, Struct):
            return definition
        target = self._protocol.resolve(definition.type)
        return target if isinstance(target, Struct) else None

    def _ancestors(self, name: str) -> frozenset[str]:
        found = self._above.get(name)
        if found is None:
            struct = self._struct(name)
            direct = frozenset(self.bases(struct)) if struct else frozenset[str]()
            found = self._above[name] = direct.union(*map(self._ancestors, direct))
        return found

    def _order(self, name: str) -> list[str]:
        """Return the method resolution order of a class, as struct names."""
        if name not in self._orders:
            struct = self._struct(name)
            bases = self.bases(struct) if struct else ()
            self._orders[name] = [name, *_merged([self._order(base) for base in bases], bases)]
        return self._orders[name]


def _linearizes(orders: list[list[str]], bases: Sequence[str]) -> bool:
    everything = {name for order in orders for name in order}
    return set(_merged(orders, bases)) >= everything


def _merged(orders: list[list[str]], bases: Sequence[str]) -> list[str]:
    """Merge method resolution orders as Python does (C3); stops early where no order exists."""
    pending: list[list[str]] = [list(order) for order in [*orders, list(bases)] if order]
    merged: list[str] = []
    while pending:
        head = next((o[0] for o in pending if not any(o[0] in other[1:] for other in pending)), None)
        if head is None:
            return merged
        merged.append(head)
        pending = [rest for order in pending if (rest := [name for name in order if name != head])]
    return merged
