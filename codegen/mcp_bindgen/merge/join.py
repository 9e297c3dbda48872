"""Join intersections: what a value of several types is, as one type.

Object types join into one object, an intersection with a union becomes a union of intersections, and scalars of one
kind take the assertions of both. Any other intersection is kept as opaque text together with the loosest type that it
may be.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import reduce
from itertools import chain, combinations, product
from math import prod
from typing import Any, TypeGuard

from mcp_bindgen.ingest.shapes import Contains, Declaration, any_of, both, never, with_opaque
from mcp_bindgen.ir.diagnostics import Location
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
from mcp_bindgen.ir.spell import bounds_of, is_any, is_never, spell, spell_bounds
from mcp_bindgen.merge.flatten import Declarations, Flat, flatten, of_objects, resolve
from mcp_bindgen.merge.overlap import MAX_COMPARED, are_apart, is_within, json_type, leaves_of

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
            case ListOf(item=item, opaque=stated):
                joined = self.shape(item)
                shape = shape if joined is item else replace(shape, item=joined)
                return self._containing(shape, stated) if isinstance(stated, Contains) else shape
            case MapOf(value=value):
                joined = self.shape(value)
                return shape if joined is value else replace(shape, value=joined)
            case Object():
                return self._object(shape)
            case Union(exclusive=exclusive, opaque=opaque):
                members = [self.shape(member) for member in shape.members]
                if exclusive:
                    decided = self._exactly_one(members, exclusive.where)
                    if decided:
                        return with_opaque(decided, opaque)
                    text = f"exactly one of {', '.join(sorted(map(_spell, members)))}"
                    opaque = both(opaque, Opaque(text=text, where=exclusive.where))
                return with_opaque(any_of(members), opaque)
            case AllOf(members=members, opaque=opaque):
                return with_opaque(self._all(members), opaque)

    def _exactly_one(self, members: Sequence[Shape], where: Location) -> Shape | None:
        """Return what is of one of the types alone; None if types that overlap in part leave that open."""
        parts = [{repr(p): p for leaf in self._exact(member) for p in _values(leaf)} for member in members]
        times = Counter(key for found in parts for key in found)
        every = {key: part for found in parts for key, part in found.items()}
        owner = {key: number for number, found in enumerate(parts) for key in found if times[key] == 1}
        constants = {key: part for key, part in every.items() if _is_constant(part)}
        others = [key for key in every if key not in constants]
        if len(others) > MAX_COMPARED or len(set(constants.values())) < len(constants):
            return None
        for one, other in chain(combinations(others, 2), product(others, constants)):
            in_one_member = owner.get(one, -1) == owner.get(other, -2)
            if not in_one_member and not are_apart(every[one], every[other], self._declarations):
                return None
        if len(owner) == len(every):
            return any_of(members)
        kept = [part for key, part in every.items() if times[key] == 1]
        values = tuple(value for part in kept if _is_constant(part) for value in part.values)
        rest = [part for part in kept if not _is_constant(part)]
        return any_of([*rest, *([Literal(values=values)] if values else [])]) if kept else never(where)

    def _containing(self, listed: ListOf[Shape], stated: Contains) -> Shape:
        """Return an array some of whose items are of a type, if all of its items are, or none is."""
        items, wanted = self._exact(listed.item), self._exact(self.shape(stated.type))
        if len(items) * len(wanted) > MAX_COMPARED**2:
            return listed
        if all(any(is_within(item, one) for one in wanted) for item in items):
            bounds = Bounds(min_items=stated.least or None, max_items=stated.most)
            return _bounded(replace(listed, opaque=None), bounds)
        if all(are_apart(item, one, self._declarations) for item, one in product(items, wanted)):
            return never(stated.where) if stated.least else replace(listed, opaque=None)
        return listed

    def _exact(self, shape: Shape) -> tuple[Shape, ...]:
        return leaves_of(shape, self._declarations, exactly=True)

    def _object(self, shape: Object) -> Shape:
        bases = tuple(base for base in shape.bases if self._flatten(Ref(name=base.name)))
        opaque = shape.opaque
        for base in shape.bases:
            if base not in bases:
                opaque = both(opaque, Opaque(text=f"extends {base.name}", where=self._where))
        properties = tuple(self._property(property_) for property_ in shape.properties)
        impossible = [property_ for property_ in properties if property_.required and is_never(property_.type)]
        if impossible and not any(p.wire_name == "method" and p.is_constant for p in properties):
            return never(self._where)
        # A message that nobody can send is a message still: its receivers refuse it.
        properties = tuple(replace(p, required=False) if p in impossible else p for p in properties)
        return replace(
            shape,
            properties=properties,
            bases=bases,
            extra=None if shape.extra is None else self.shape(shape.extra),
            opaque=opaque,
        )

    def _property(self, property_: Field[Shape]) -> Field[Shape]:
        type_ = self.shape(property_.type)
        return property_ if type_ is property_.type else replace(property_, type=type_)

    def _flatten(self, shape: Shape) -> Flat | None:
        return flatten(shape, self._declarations, self._flat)

    def _all(self, members: Iterable[Shape]) -> Shape:
        """Join the members of an intersection."""
        parts: list[Shape] = []
        opaque: Opaque | None = None
        found = list(self._flattened(members, set()))
        targets = [resolve(part, self._declarations) for part in found]
        is_union = any(isinstance(target, Union) for target in targets)
        is_object = any(map(self._flatten, found))
        is_scalar = any(isinstance(t, Literal) or json_type(t) not in ("", "object") for t in targets)
        for part in found:
            if (stated := of_objects(part)) and (is_union or is_object):
                parts.append(part if is_union else stated)
            elif stated and is_scalar:
                continue
            elif is_any(part) and not spell_bounds(part):
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
            if isinstance(target, Union) and (target.exclusive or target.opaque):
                joined = self.shape(target)
                yield with_opaque(replace(joined, opaque=None), both(joined.opaque, member.opaque))
            elif not isinstance(target, AllOf) or (isinstance(member, Ref) and self._flatten(member)):
                yield member
            elif not (isinstance(member, Ref) and member.name in seen):
                seen |= {member.name} if isinstance(member, Ref) else set()
                yield from (with_opaque(part, target.opaque) for part in self._flattened(target.members, seen))

    def _several(self, parts: list[Shape]) -> Shape:
        forms = [self._forms(part) for part in parts]
        if prod(map(len, forms)) > MAX_FORMS:
            return self._unjoined(parts)
        if any(len(form) > 1 for form in forms):
            joined = any_of([self._form(combination, forms) for combination in product(*forms)])
            return reduce(with_opaque, [part.opaque for part in parts if isinstance(part, Union)], joined)
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
        stated = inherited | properties
        for flat in filter(None, map(self._flatten, parts)):
            # Converters close each part of an intersection; taken at its word, the whole then has no value at all.
            if stated.keys() - flat.properties and (flat.extra is None or not is_any(flat.extra)):
                opaque = both(opaque, Opaque(text=spell(AllOf(members=tuple(parts))), where=self._where))
        known = tuple(properties.values())
        made: Object[Shape] = Object(properties=known, bases=tuple(bases), extra=extra, opaque=opaque)
        return self._object(made)

    def _both(self, first: Field[Shape] | None, second: Field[Shape]) -> Field[Shape]:
        """Join a property that two parts have: other types than scalars narrow those before; each may require it."""
        if first is None or first == second:
            return second
        type_ = with_opaque(first.type, second.type.opaque) if is_any(second.type) else second.type
        if all(isinstance(leaf, Primitive | Literal) for leaf in leaves_of(type_, self._declarations)):
            joined = self._all([first.type, type_])
            type_ = with_opaque(type_, joined.opaque) if joined.opaque and not is_never(joined) else joined
        return replace(second, type=type_, required=first.required or second.required, doc=second.doc or first.doc)


def _is_constant(shape: Shape) -> TypeGuard[Literal]:
    return isinstance(shape, Literal) and not shape.opaque


def _values(leaf: Shape) -> tuple[Shape, ...]:
    return leaf.each() if _is_constant(leaf) else (leaf,)


def _spell(shape: Shape) -> str:
    stated = shape.opaque.text if shape.opaque else ""
    if is_any(shape) and stated:  # The text says it all.
        return stated
    more = ", ".join(filter(None, (spell_bounds(shape), stated)))
    return f"{spell(shape)} ({more})" if more else spell(shape)


def _label(part: Shape) -> str:
    """Return what distinguishes a member of a union: its name, or its properties."""
    named = [p.wire_name for p in part.properties] if isinstance(part, Object) else []
    return part.name if isinstance(part, Ref) else " ".join(named)


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
