"""The declarations of a schema file, and how their types are made."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from mcp_bindgen.ir.diagnostics import Location
from mcp_bindgen.ir.nodes import Kind, Opaque, Primitive, Shape, Union
from mcp_bindgen.ir.spell import is_never


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


@dataclass(frozen=True, slots=True, kw_only=True)
class OfObjects(Opaque):
    """What a schema says about objects without saying that the value is one; other types beside it may decide that."""

    type: Shape


@dataclass(frozen=True, slots=True, kw_only=True)
class Contains(Opaque):
    """What a schema says about some items of an array: `least` to `most` of them are of a type."""

    type: Shape
    least: int
    most: int | None


def any_of(members: Iterable[Shape]) -> Shape:
    """Make a union of the members, nested unions flattened and repetitions dropped."""
    flat: dict[tuple[Shape, str], Shape] = {}
    opaque: Opaque | None = None
    members = tuple(members)
    for member in [member for member in members if not is_never(member)] or members:
        nested = isinstance(member, Union) and member.exclusive is None
        opaque = both(opaque, member.opaque) if nested else opaque
        for part in member.members if isinstance(member, Union) and nested else (member,):
            # Equal types may differ in opaque text, which counts only if a type beside the union does not decide it.
            key = part, part.opaque.text if isinstance(part.opaque, OfObjects) else ""
            flat[key] = with_opaque(flat[key], part.opaque) if key in flat else part
    if len(flat) == 1:
        return with_opaque(next(iter(flat.values())), opaque)
    return Union(members=tuple(flat.values()), opaque=opaque)


def never(where: Location) -> Primitive:
    """Return the type without values, which only a property that must be absent can use."""
    return Primitive(kind=Kind.NEVER, opaque=Opaque(text=Kind.NEVER, where=where))


def with_opaque(shape: Shape, opaque: Opaque | None) -> Shape:
    """Return the type with additional opaque text."""
    return replace(shape, opaque=both(shape.opaque, opaque)) if opaque else shape


def both(first: Opaque | None, second: Opaque | None) -> Opaque | None:
    """Join the opaque text of two places."""
    if first is None or second is None or first.text == second.text:
        return first or second
    return Opaque(text=f"{first.text}, {second.text}", where=first.where)
