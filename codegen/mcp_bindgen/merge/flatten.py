"""Resolve the references of declarations, and flatten object types to all their properties."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from mcp_bindgen.ingest.shapes import Declaration, OfObjects
from mcp_bindgen.ir.nodes import ANY, AllOf, Field, MapOf, Object, Primitive, Ref, Shape
from mcp_bindgen.ir.spell import is_any

Declarations = Mapping[str, Declaration]


@dataclass(frozen=True, slots=True, kw_only=True)
class Flat:
    """An object type with the members of its bases: what both readings can be brought to."""

    properties: Mapping[str, Field[Shape]]
    extra: Shape | None


def resolve(type_: Shape, declarations: Declarations) -> Shape:
    """Follow references to the type they name; an undefined or circular reference stays a reference."""
    last = canonical(type_, declarations)
    target = declarations[last.name].type if isinstance(last, Ref) and last.name in declarations else last
    return last if isinstance(target, Ref) else target


def canonical(type_: Shape, declarations: Declarations) -> Shape:
    """Follow references as far as they name another reference: the result is not an alias of an object."""
    seen: set[str] = set()
    while isinstance(type_, Ref) and type_.name in declarations and type_.name not in seen:
        seen.add(type_.name)
        target = declarations[type_.name].type
        if not isinstance(target, Ref):
            break
        type_ = target
    return type_


def of_objects(type_: Shape) -> Shape | None:
    """Return the object type that a schema states without saying that the value is an object."""
    return type_.opaque.type if isinstance(type_, Primitive) and isinstance(type_.opaque, OfObjects) else None


def flatten(type_: Shape, declarations: Declarations, known: dict[str, Flat | None] | None = None) -> Flat | None:
    """Return an object type with everything that it inherits, or None if the type is not an object with properties.

    `known` keeps what was found for the names of one set of declarations; pass the same one to ask often.
    """
    known = {} if known is None else known
    if isinstance(type_, Ref):
        if type_.name not in known and type_.name in declarations:
            known[type_.name] = None  # the placeholder if the path is recursive
            known[type_.name] = flatten(declarations[type_.name].type, declarations, known)
        return known.get(type_.name)
    if isinstance(type_, MapOf):
        return Flat(properties={}, extra=type_.value)
    if isinstance(type_, AllOf):
        members = [flatten(member, declarations, known) for member in type_.members if not of_objects(member)]
        if members and all(members):
            members += [flatten(found, declarations, known) for m in type_.members if (found := of_objects(m))]
        return _joined([member for member in members if member]) if all(members) else None
    if not isinstance(type_, Object):
        return None
    parts: list[Flat] = []
    for base in type_.bases:
        if part := flatten(Ref(name=base.name), declarations, known):
            kept = {name: f for name, f in part.properties.items() if name not in base.omitted}
            parts.append(Flat(properties=kept, extra=part.extra))
    parts.append(Flat(properties={f.wire_name: f for f in type_.properties}, extra=type_.extra))
    return _joined(parts)


def _joined(parts: Iterable[Flat]) -> Flat:
    properties: dict[str, Field[Shape]] = {}
    extra: Shape | None = ANY
    for part in parts:
        properties |= part.properties
        extra = extra if part.extra is not None and is_any(part.extra) else part.extra
    return Flat(properties=properties, extra=extra)
