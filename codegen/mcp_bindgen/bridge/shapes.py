"""Spell the types of one revision as shapes, which the runtime can check values against."""

from dataclasses import replace

from mcp_bindgen.bridge.table import AnyOf, Anything, Constants, Items, Members, Named, Scalar, Shape
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


class Shapes:
    """Spells the types of one side, and collects those that have names.

    Args:
        protocol: the revision.
        side: what the names of its shapes begin with, since both sides are in one table.
        named: takes the shapes of definitions.
    """

    def __init__(self, protocol: Protocol, side: str, named: dict[str, Shape]) -> None:
        self._protocol = protocol
        self._side = side
        self._named = named

    def shape(self, type_: TypeRef) -> Shape:
        """Return the shape of a type.

        Raises:
            NotImplementedError: it asserts what shapes cannot.
        """
        match type_:
            case Primitive(kind=Kind.ANY):
                return Anything()
            case Primitive():
                return _scalar(type_)
            case Literal(values=values):
                return Constants(values=values)
            case Ref(name=name):
                return self._definition(name)
            case ListOf(item=item, bounds=bounds):
                _refuse(replace(bounds, max_items=None))
                return Items(item=self.shape(item), at_most=bounds.max_items)
            case MapOf(value=value, bounds=bounds):
                _refuse(bounds)
                return Members(rest=self.shape(value))
            case Union(members=members):
                return AnyOf(forms=tuple(map(self.shape, members)))

    def _definition(self, name: str) -> Shape:
        definition = self._protocol.definitions[name]
        key = f"{self._side}.{name}"
        if not isinstance(definition, Struct) and not isinstance(definition.type, Union):
            return self.shape(definition.type)
        if key not in self._named:
            # Known before it is made, since it may contain itself.
            self._named[key] = Anything()
            self._named[key] = (
                self._struct(definition) if isinstance(definition, Struct) else self.shape(definition.type)
            )
        return Named(name=key)

    def _struct(self, struct: Struct) -> Shape:
        members = {f.wire_name: self.shape(f.type) for f in struct.fields}
        required = tuple(f.wire_name for f in struct.fields if f.required)
        rest = None if struct.extra is None else self.shape(struct.extra)
        return Members(members=members, required=required, rest=rest)


def _scalar(type_: Primitive) -> Scalar:
    bounds = type_.bounds
    _refuse(replace(bounds, minimum=None, maximum=None))
    return Scalar(kind=type_.kind.value, minimum=bounds.minimum, maximum=bounds.maximum)


def _refuse(bounds: Bounds) -> None:
    if bounds != UNBOUNDED:
        raise NotImplementedError(f"shapes cannot assert {bounds}")
