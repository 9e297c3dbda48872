"""Spell the types of one revision as shapes (`mcp_runtime.bridge.table`), which the runtime checks values against."""

from collections.abc import Mapping
from dataclasses import replace

from mcp_bindgen.emit.python.views import Call
from mcp_bindgen.ir.nodes import (
    UNBOUNDED,
    Bounds,
    Kind,
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
from mcp_bindgen.ir.spell import bounds_of


def call(name: str, /, **arguments: object) -> Call:
    """Return the construction of an object of the table; empty arguments are omitted: all defaults are empty."""
    given = {key: value for key, value in arguments.items() if value is not None and value not in ("", (), {}, [])}
    return Call(name=name, arguments={key: value for key, value in given.items() if value is not False})


ANYTHING = call("Anything")


class Shapes:
    """Spells the types of one side, and collects those that have names.

    Args:
        protocol: the revision.
        side: what the names of its shapes begin with, since both sides are in one table.
        named: takes the shapes of definitions.
    """

    def __init__(self, protocol: Protocol, side: str, named: dict[str, Call]) -> None:
        self._protocol = protocol
        self._side = side
        self._named = named

    def shape(self, type_: TypeRef) -> Call:
        """Return the shape of a type."""
        match type_:
            case Primitive(kind=Kind.ANY):
                return ANYTHING
            case Primitive(kind=kind, bounds=bounds):
                scalar = call("Scalar", kind=kind.value, minimum=bounds.minimum, maximum=bounds.maximum)
                return _bounded(scalar, replace(bounds, minimum=None, maximum=None))
            case Literal(values=values):
                return call("Constants", values=values)
            case Ref(name=name):
                return self._definition(name)
            case ListOf(item=item, bounds=bounds):
                items = call("Items", item=self.shape(item), at_most=bounds.max_items)
                return _bounded(items, replace(bounds, max_items=None))
            case MapOf(value=value, bounds=bounds):
                return _bounded(self._members({}, (), value), bounds)
            case Union(members=members):
                return call("AnyOf", forms=tuple(map(self.shape, members)))

    def _definition(self, name: str) -> Call:
        definition = self._protocol.definitions[name]
        key = f"{self._side}.{name}"
        if not isinstance(definition, Struct) and not isinstance(definition.type, Union):
            return self.shape(definition.type)
        if key not in self._named:
            # Known before it is made, since it may contain itself.
            self._named[key] = ANYTHING
            self._named[key] = (
                self._struct(definition) if isinstance(definition, Struct) else self.shape(definition.type)
            )
        return call("Named", name=key)

    def _struct(self, struct: Struct) -> Call:
        members = {f.wire_name: self.shape(f.type) for f in struct.fields}
        return self._members(members, tuple(f.wire_name for f in struct.fields if f.required), struct.extra)

    def _members(self, members: Mapping[str, Call], required: tuple[str, ...], extra: TypeRef | None) -> Call:
        made = call("Members", members=members, required=required)
        rest = None if extra is None else self.shape(extra)
        return made if rest == ANYTHING else replace(made, arguments={**made.arguments, "rest": rest})


def _bounded(shape: Call, bounds: Bounds) -> Call:
    """Return a shape within bounds that shapes of its kind do not have themselves."""
    return call("Bounded", shape=shape, bounds=bounds_of(bounds)) if bounds != UNBOUNDED else shape
