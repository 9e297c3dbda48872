"""The types of a schema as its file writes them: objects may be inline, intersections are not yet joined."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from mcp_bindgen.leaves import ANY, UNBOUNDED, Base, Bounds, Literal, Primitive, Ref


@dataclass(frozen=True, slots=True, kw_only=True)
class Array:
    """An array whose items are all of one type."""

    item: "Shape"
    bounds: Bounds = UNBOUNDED


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """An object without declared properties: every value is of one type."""

    value: "Shape"
    bounds: Bounds = UNBOUNDED


@dataclass(frozen=True, slots=True, kw_only=True)
class AnyOf:
    """A value of at least one of the types."""

    members: "tuple[Shape, ...]"


@dataclass(frozen=True, slots=True, kw_only=True)
class AllOf:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Object:
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
    """A named type as a front end read it; `pointer` is its place in the file it came from."""

    name: str
    type: Shape
    doc: str = ""
    deprecated: bool = False
    internal: bool = False
    category: str = ""
    pointer: str = ""


def any_of(members: Iterable[Shape]) -> Shape:
    """Make a union of the members, nested unions flattened and repetitions dropped."""
    flat: dict[Shape, None] = {}
    for member in members:
        flat.update(dict.fromkeys(member.members if isinstance(member, AnyOf) else (member,)))
    return next(iter(flat)) if len(flat) == 1 else AnyOf(members=tuple(flat))


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
