"""The types of a schema as its file writes them: objects may be inline, intersections are not yet joined."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from mcp_bindgen.diagnostics import Location
from mcp_bindgen.leaves import ANY, UNBOUNDED, Base, Bounds, Kind, Literal, Opaque, Primitive, Ref, Type


@dataclass(frozen=True, slots=True, kw_only=True)
class Array(Type):
    """An array whose items are all of one type."""

    item: "Shape"
    bounds: Bounds = UNBOUNDED


@dataclass(frozen=True, slots=True, kw_only=True)
class Record(Type):
    """An object without declared properties: every value is of one type."""

    value: "Shape"
    bounds: Bounds = UNBOUNDED


@dataclass(frozen=True, slots=True, kw_only=True)
class AnyOf(Type):
    """A value of at least one of the types; of exactly one, if `exclusive` says where the schema asks for that."""

    members: "tuple[Shape, ...]"
    exclusive: Opaque | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class AllOf(Type):
    """A value of all of the types."""

    members: "tuple[Shape, ...]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Property:
    """One declared property of an object."""

    wire_name: str
    type: "Shape"
    required: bool
    doc: str = ""
    deprecated: bool = False
    default: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Object(Type):
    """An object type with declared properties.

    `extra` is the type of the properties that are not declared; None closes the object. `indexed` is true if the
    schema says so itself, by an index signature or `additionalProperties`, and is not open by silence: the same
    messages.
    """

    properties: tuple[Property, ...]
    bases: tuple[Base, ...] = ()
    extra: "Shape | None" = ANY
    indexed: bool = field(default=False, compare=False)


Shape: TypeAlias = Primitive | Literal | Ref | Array | Record | AnyOf | AllOf | Object


@dataclass(frozen=True, slots=True, kw_only=True)
class Declaration:
    """A named type as a front end read it; `pointer` is its place in a schema.json, `where` that in its own file."""

    name: str
    type: Shape
    doc: str = ""
    deprecated: bool = False
    internal: bool = False
    category: str = ""
    pointer: str = ""
    where: Location | None = field(default=None, compare=False)


def any_of(members: Iterable[Shape]) -> Shape:
    """Make a union of the members, nested unions flattened and repetitions dropped."""
    flat: dict[Shape, Shape] = {}
    opaque: Opaque | None = None
    members = tuple(members)
    for member in [member for member in members if not is_never(member)] or members:
        nested = isinstance(member, AnyOf) and member.exclusive is None
        opaque = both(opaque, member.opaque) if nested else opaque
        for part in member.members if isinstance(member, AnyOf) and nested else (member,):
            # Equal types may differ in opaque text.
            flat[part] = with_opaque(flat[part], part.opaque) if part in flat else part
    if len(flat) == 1:
        return with_opaque(next(iter(flat.values())), opaque)
    return AnyOf(members=tuple(flat.values()), opaque=opaque)


NEVER = "never"
"""The text of a type that no value has."""


def never(where: Location) -> Primitive:
    """Return the type without values, which only a property that must be absent can use."""
    return Primitive(kind=Kind.ANY, opaque=Opaque(text=NEVER, where=where))


def is_never(shape: Shape) -> bool:
    """Whether no value has the type."""
    return isinstance(shape, Primitive) and shape.opaque is not None and shape.opaque.text == NEVER


def with_opaque(shape: Shape, opaque: Opaque | None) -> Shape:
    """Return the type with additional opaque text."""
    return replace(shape, opaque=both(shape.opaque, opaque)) if opaque else shape


def both(first: Opaque | None, second: Opaque | None) -> Opaque | None:
    """Join the opaque text of two places."""
    if first is None or second is None or first.text == second.text:
        return first or second
    return Opaque(text=f"{first.text}, {second.text}", where=first.where)


def references(shape: Shape) -> Iterator[str]:
    """Iterate over the names that a type refers to, those of its bases included."""
    match shape:
        case Primitive() | Literal():
            return
        case Ref(name=name):
            yield name
        case Array(item=inner) | Record(value=inner):
            yield from references(inner)
        case AnyOf(members=members) | AllOf(members=members):
            for member in members:
                yield from references(member)
        case Object(properties=properties, bases=bases, extra=extra):
            yield from (base.name for base in bases)
            for property_ in properties:
                yield from references(property_.type)
            if extra is not None:
                yield from references(extra)
