"""Join intersections: what a value of several types is, as one type.

Object types join into one object, an intersection with a union becomes a union of intersections, and scalars of one
kind take the assertions of both. Any other intersection is kept as opaque text together with the loosest type that it
may be.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations, product
from math import prod
from typing import Any

from mcp_bindgen.diagnostics import Location
from mcp_bindgen.ingest.shapes import Declaration, any_of, both, never, with_opaque
from mcp_bindgen.ir.nodes import (
    ANY,
    UNBOUNDED,
    AllOf,
    Base,
    Bounds,
    Field,
    Kind,
    ListOf,
    Literal,
    MapOf,
    Object,
    Opaque,
    Primitive,
    Ref,
    Shape,
    Union,
)
from mcp_bindgen.ir.scalars import is_of
from mcp_bindgen.ir.spell import bounds_of, is_any, is_never, spell
from mcp_bindgen.merge.flatten import Declarations, Flat, flatten, resolve

MAX_COMPARED = 60
"""How many members of a ``oneOf`` that are not constants are compared with each other."""


def are_exclusive(members: Sequence[Shape], declarations: Declarations) -> bool:
    """Whether no value can be of two of the types: they differ in JSON type, are distinct constants, or are tagged."""
    each = [_leaves(member, declarations) for member in members]
    constants = [{one for leaf in leaves if isinstance(leaf, Literal) for one in leaf.each()} for leaves in each]
    if sum(map(len, constants)) > len(set[Literal]().union(*constants)):
        return False
    others = [[leaf for leaf in leaves if not isinstance(leaf, Literal)] for leaves in each]
    whole = [(*kept, *values) for kept, values in zip(others, constants, strict=True) if kept]
    scalars = [tuple(values) for kept, values in zip(others, constants, strict=True) if not kept]
    if len(whole) > MAX_COMPARED:
        return False
    pairs = (*combinations(whole, 2), *product(whole, scalars))
    return all(_are_apart(a, b, declarations) for one, other in pairs for a, b in product(one, other))


def _leaves(shape: Shape, declarations: Declarations) -> tuple[Shape, ...]:
    """Return the members of a union, through the aliases and unions in it."""
    found: list[Shape] = []
    pending, seen = [shape], set[str]()
    while pending:
        target = resolve(member := pending.pop(), declarations)
        if isinstance(target, Union) and not (isinstance(member, Ref) and member.name in seen):
            seen |= {member.name} if isinstance(member, Ref) else set()
            pending += target.members
        elif not isinstance(target, Union):
            found.append(member if isinstance(target, Object | AllOf | MapOf) else target)
    return tuple(found)


def _are_apart(first: Shape, second: Shape, declarations: Declarations) -> bool:
    """Return whether two types, neither of them a union, have no value in common."""
    match resolve(first, declarations), resolve(second, declarations):
        case (Literal() as one, Literal() as other):
            return not {*one.each()} & {*other.each()}
        case (Literal() as one, Primitive() as kind) | (Primitive() as kind, Literal() as one):
            return not any(is_of(value, kind.kind) for value in one.values) and kind.kind is not Kind.ANY
        case (Literal(), ListOf() | MapOf() | Object()) | (ListOf() | MapOf() | Object(), Literal()):
            return True
        case (one, other):
            kinds = _json_type(one), _json_type(other)
            if kinds != ("object", "object"):
                return kinds[0] != kinds[1] and "" not in kinds
            flats = flatten(first, declarations), flatten(second, declarations)
            return flats[0] is not None and flats[1] is not None and _are_tagged(flats[0], flats[1], declarations)


def _json_type(shape: Shape) -> str:
    """Return the JSON type of all values of a type, empty if they have several."""
    match shape:
        case Primitive(kind=Kind.ANY) | Union() | Ref() | Literal():
            return ""
        case Primitive(kind=kind):
            return Kind.NUMBER if kind is Kind.INTEGER else kind
        case ListOf():
            return "array"
        case MapOf() | Object() | AllOf():
            return "object"


def _are_tagged(first: Flat, second: Flat, declarations: Declarations) -> bool:
    """Return whether one object requires a property that the other rejects, or gives a type without common values."""
    for one, other in ((first, second), (second, first)):
        for name, property_ in one.properties.items():
            partner = other.properties.get(name)
            if not property_.required or (partner is None and other.extra is not None):
                continue
            leaves = [_leaves(p.type, declarations) for p in (property_, partner) if p]
            if len(leaves) < 2 or all(_are_other(a, b, declarations) for a, b in product(*leaves)):
                return True
    return False


def _are_other(first: Shape, second: Shape, declarations: Declarations) -> bool:
    """Return whether two types have no value in common, as far as shows without the properties of objects."""
    are_objects = all(_json_type(resolve(shape, declarations)) == "object" for shape in (first, second))
    return not are_objects and _are_apart(first, second, declarations)


MAX_FORMS = 64
"""How many forms an intersection of unions may have; one with more is kept as text."""

_EMPTY = MapOf(value=ANY)


def join(declarations: Declarations, source: str) -> dict[str, Declaration]:
    """Return the declarations without intersections; `source` is the file that they come from."""
    joiner = Joiner(declarations, source)
    return {name: replace(declaration, type=joiner.type_of(declaration)) for name, declaration in declarations.items()}


class Joiner:
    """Joins intersections of types that a set of declarations defines; `source` is the file that they come from."""

    def __init__(self, declarations: Declarations, source: str) -> None:
        self._declarations = declarations
        self._source = source
        self._flat: dict[str, Flat | None] = {}

    def type_of(self, declaration: Declaration) -> Shape:
        """Return the type of a declaration without intersections."""
        return self.shape(declaration.type, declaration)

    def shape(self, shape: Shape, declaration: Declaration) -> Shape:
        """Return a type inside a declaration without intersections."""
        pointer = declaration.pointer or f"/{declaration.name}"
        where = declaration.where or Location(source=self._source, pointer=pointer)
        return _Place(self._declarations, self._flat, where).shape(shape)


class _Place:
    """Joins the intersections in one declaration."""

    def __init__(self, declarations: Declarations, flat: dict[str, Flat | None], where: Location) -> None:
        self._declarations = declarations
        self._flat = flat
        self._where = where

    def shape(self, shape: Shape) -> Shape:
        match shape:
            case Primitive(kind=Kind.ANY):
                # Without a type, the opaque text says it.
                return shape if shape.bounds is UNBOUNDED else replace(shape, bounds=UNBOUNDED)
            case Primitive() | Literal() | Ref():
                return shape
            case ListOf(item=item):
                joined = self.shape(item)
                return shape if joined is item else replace(shape, item=joined)
            case MapOf(value=value):
                joined = self.shape(value)
                return shape if joined is value else replace(shape, value=joined)
            case Object():
                return self._object(shape)
            case Union(exclusive=exclusive, opaque=opaque):
                members = [self.shape(member) for member in shape.members]
                if exclusive and not are_exclusive(members, self._declarations):
                    text = f"exactly one of {', '.join(sorted(map(spell, members)))}"
                    opaque = both(opaque, Opaque(text=text, where=exclusive.where))
                return with_opaque(any_of(members), opaque)
            case AllOf(members=members, opaque=opaque):
                return with_opaque(self._all(members), opaque)

    def _object(self, shape: Object) -> Object:
        bases = tuple(base for base in shape.bases if self._flatten(Ref(name=base.name)))
        opaque = shape.opaque
        for base in shape.bases:
            if base not in bases:
                opaque = both(opaque, Opaque(text=f"extends {base.name}", where=self._where))
        return replace(
            shape,
            properties=tuple(self._property(property_) for property_ in shape.properties),
            bases=bases,
            extra=None if shape.extra is None else self.shape(shape.extra),
            opaque=opaque,
        )

    def _property(self, property_: Field[Shape]) -> Field[Shape]:
        type_ = self.shape(property_.type)
        required = property_.required and not is_never(type_)
        if type_ is property_.type and required == property_.required:
            return property_
        return replace(property_, type=type_, required=required)

    def _flatten(self, shape: Shape) -> Flat | None:
        return flatten(shape, self._declarations, self._flat)

    def _all(self, members: Iterable[Shape]) -> Shape:
        """Join the members of an intersection."""
        parts: list[Shape] = []
        opaque: Opaque | None = None
        for part in self._flattened(members, set()):
            if is_any(part) and not _has_bounds(part):
                opaque = both(opaque, part.opaque)
            elif part not in parts or part.opaque:
                parts.append(part)
        if len(parts) < 2:
            return with_opaque(self.shape(parts[0]) if parts else ANY, opaque)
        return with_opaque(self._several(parts), opaque)

    def _flattened(self, members: Iterable[Shape], seen: set[str]) -> Iterator[Shape]:
        """Iterate over the members of nested intersections, named ones included unless they are objects, each once."""
        for member in members:
            target = resolve(member, self._declarations)
            if not isinstance(target, AllOf) or (isinstance(member, Ref) and self._flatten(member)):
                yield member
            elif not (isinstance(member, Ref) and member.name in seen):
                seen |= {member.name} if isinstance(member, Ref) else set()
                yield from (with_opaque(part, target.opaque) for part in self._flattened(target.members, seen))

    def _several(self, parts: list[Shape]) -> Shape:
        forms = [self._forms(part) for part in parts]
        if prod(map(len, forms)) > MAX_FORMS:
            return self._unjoined(parts)
        if any(len(form) > 1 for form in forms):
            return any_of([self._form(combination, forms) for combination in product(*forms)])
        if all(self._flatten(part) for part in parts):
            return self._objects(parts)
        resolved = [resolve(part, self._declarations) for part in parts]
        scalars = [part for part in resolved if part != _EMPTY]  # `string & {}` is a string
        met = scalars[0]
        for scalar in scalars[1:]:
            found = _meet(met, scalar, self._where)
            if found is None:
                return self._unjoined(parts)
            met = found
        return self.shape(met)

    def _form(self, chosen: Sequence[Shape], forms: Sequence[Sequence[Shape]]) -> Shape:
        """Join one member of each union, and label the object after them."""
        joined = self._all(chosen)
        labels = [_label(part) for part, form in zip(chosen, forms, strict=True) if len(form) > 1]
        return replace(joined, label=" ".join(labels)) if isinstance(joined, Object) else joined

    def _forms(self, part: Shape) -> Sequence[Shape]:
        target = resolve(part, self._declarations)
        return target.members if isinstance(target, Union) else (part,)

    def _unjoined(self, parts: Sequence[Shape]) -> Shape:
        """Return the loosest type of an intersection: that of its scalars, if they have just one kind."""
        opaque = Opaque(text=spell(AllOf(members=tuple(parts))), where=self._where)
        kinds = [part.kind for p in parts if isinstance(part := resolve(p, self._declarations), Primitive)]
        return Primitive(kind=kinds[0] if len(set(kinds)) == 1 else Kind.ANY, opaque=opaque)

    def _objects(self, parts: Sequence[Shape]) -> Shape:
        """Make an object that extends the named objects and has the properties of the others."""
        bases: dict[Base, None] = {}
        inherited: dict[str, Field[Shape]] = {}
        for part in parts:
            named = [Base(name=part.name)] if isinstance(part, Ref) else part.bases if isinstance(part, Object) else ()
            bases |= dict.fromkeys(named)
            for base in named:
                flat = self._flatten(Ref(name=base.name))
                inherited |= flat.properties if flat else {}
        properties: dict[str, Field[Shape]] = {}
        extra: Shape | None = ANY
        opaque: Opaque | None = None
        for part in parts:
            opaque = both(opaque, part.opaque)
            if isinstance(part, Object):
                for property_ in part.properties:
                    name = property_.wire_name
                    properties[name] = self._both(properties.get(name) or inherited.get(name), property_)
                extra = part.extra if extra is not None and is_any(extra) else extra
            elif isinstance(part, MapOf):
                extra = part.value if extra is not None and is_any(extra) else extra
                if part.bounds != UNBOUNDED:
                    opaque = both(opaque, Opaque(text=spell(part), where=self._where))
        made = Object(properties=tuple(properties.values()), bases=tuple(bases), extra=extra, opaque=opaque)
        return self._object(made)

    def _both(self, first: Field[Shape] | None, second: Field[Shape]) -> Field[Shape]:
        """Join a property that two parts have: the later one narrows the type, and each may require it."""
        if first is None or first == second:
            return second
        type_ = first.type if is_any(second.type) else second.type
        return replace(second, type=type_, required=first.required or second.required, doc=second.doc or first.doc)


def _label(part: Shape) -> str:
    """Return what distinguishes a member of a union: its name, or its properties."""
    named = [p.wire_name for p in part.properties] if isinstance(part, Object) else []
    return part.name if isinstance(part, Ref) else " ".join(named)


def _has_bounds(shape: Shape) -> bool:
    return isinstance(shape, Primitive) and shape.bounds != UNBOUNDED


def _meet(first: Shape, second: Shape, where: Location) -> Shape | None:
    """Return the intersection of both types, or None if no type expresses it."""
    match first, second:
        case (Primitive(kind=Kind.NEVER) as nothing, _) | (_, Primitive(kind=Kind.NEVER) as nothing):
            return nothing
        case Primitive(kind=Kind.ANY), Primitive() | ListOf():
            return _bounded(second, first.bounds)
        case Primitive() | ListOf(), Primitive(kind=Kind.ANY):
            return _bounded(first, second.bounds)
        case Primitive(), Primitive() if {first.kind, second.kind} <= {Kind.INTEGER, Kind.NUMBER}:
            narrow = first if first.kind is Kind.INTEGER else second
            return _bounded(narrow, (second if narrow is first else first).bounds)
        case Primitive(), Primitive() if first.kind is second.kind:
            return _bounded(replace(first, format=first.format or second.format), second.bounds)
        case Literal(), Literal():
            others = set(second.each())
            kept = tuple(one.values[0] for one in first.each() if one in others)
            return Literal(values=kept) if kept else never(where)
        case (Literal() as literal, Primitive() as kind) | (Primitive() as kind, Literal() as literal):
            if kind.bounds != UNBOUNDED:
                return with_opaque(literal, kind.opaque)
            kept = tuple(value for value in literal.values if kind.kind is Kind.ANY or is_of(value, kind.kind))
            return Literal(values=kept) if kept else never(where)
        case ListOf(), ListOf() if first.item == second.item or is_any(second.item):
            return _bounded(first, second.bounds)
        case ListOf(), ListOf() if is_any(first.item):
            return _bounded(second, first.bounds)
        case _:
            return None


def _bounded(shape: Primitive | ListOf[Shape], bounds: Bounds) -> Shape:
    """Return the type with assertions beside its own; where both assert the same thing, the stricter one."""
    own: dict[str, Any] = bounds_of(shape.bounds)
    for name, value in bounds_of(bounds).items():
        if name in own and own[name] != value and (name in ("pattern", "multiple_of")):
            continue
        tighter = max if "min" in name else min
        own[name] = tighter(own[name], value) if name in own else value
    return replace(shape, bounds=Bounds(**own))
