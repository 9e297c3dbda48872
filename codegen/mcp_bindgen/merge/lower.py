"""Lower TypeScript declarations to the types of the IR, with the JSON Schema as a hint where TypeScript is silent.

TypeScript has one type for numbers. A `number` tagged ``@TJS-type number`` is a number; one in a union that also has
`boolean` belongs to a JSON value and takes any number; every other one is what the JSON Schema says, and an integer,
the default of the official converter, where there is none. Assertions on the members of inline objects may be known
to the JSON Schema alone, so they come from there where no tag states them.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from mcp_bindgen.diagnostics import Diagnostics
from mcp_bindgen.ingest.shapes import AllOf, AnyOf, Array, Declaration, Object, Property, Record, Shape, any_of
from mcp_bindgen.ingest.typescript_types import (
    Constant,
    Tags,
    TsArray,
    TsDeclaration,
    TsExtends,
    TsIntersection,
    TsKeyword,
    TsLiteral,
    TsMember,
    TsObject,
    TsReference,
    TsType,
    TsTypeof,
    TsUnion,
    TypeScriptDocument,
)
from mcp_bindgen.leaves import ANY, NULL, UNBOUNDED, Base, Bounds, Kind, Literal, Primitive, Ref
from mcp_bindgen.merge.flatten import Declarations, flatten, resolve

_BOUND_TAGS: Mapping[str, str] = {
    "minimum": "minimum",
    "maximum": "maximum",
    "minLength": "min_length",
    "maxLength": "max_length",
    "pattern": "pattern",
    "minItems": "min_items",
    "maxItems": "max_items",
}


def lower(document: TypeScriptDocument, hints: Declarations, diagnostics: Diagnostics) -> dict[str, Declaration]:
    """Lower every declaration of a schema.ts; `hints` are those of its schema.json, empty if there is none."""
    lowering = _Lowering(document.constants, hints, diagnostics)
    return {ts.name: lowering.declaration(ts) for ts in document.declarations}


class _Lowering:
    def __init__(self, constants: Mapping[str, Constant], hints: Declarations, diagnostics: Diagnostics) -> None:
        self._constants = constants
        self._hints = hints
        self._diagnostics = diagnostics

    def declaration(self, ts: TsDeclaration) -> Declaration:
        hint = self._hints.get(ts.name)
        type_ = self._type(ts.body, hint.type if hint else None, ts.tags)
        if ts.kind == "interface":
            type_ = self._interface(ts.extends, type_)
        return Declaration(
            name=ts.name,
            type=type_,
            doc=ts.doc or (hint.doc if hint else ""),
            deprecated="deprecated" in ts.tags,
            internal="internal" in ts.tags,
            category=str(ts.tags.get("category", "")),
            pointer=hint.pointer if hint else "",
        )

    def _interface(self, extends: tuple[TsExtends, ...], body: Shape) -> Shape:
        """An interface is an object, unless an index signature of a type of its own makes it a map."""
        bases = tuple(Base(name=base.name, omitted=base.omitted) for base in extends)
        if isinstance(body, Object):
            return replace(body, bases=bases)
        if isinstance(body, Record) and body.value != ANY and not bases:
            return body
        return Object(properties=(), bases=bases, extra=body.value if isinstance(body, Record) else ANY)

    def _type(self, ts: TsType, hint: Shape | None, tags: Tags, in_value: bool = False) -> Shape:
        match ts:
            case TsReference(name=name):
                return Ref(name=name)
            case TsLiteral(value=value):
                return Literal(values=(value,))
            case TsTypeof(constant=constant):
                return Literal(values=(self._constants.get(constant),))
            case TsKeyword():
                return self._keyword(ts, hint, tags, in_value)
            case TsArray(item=item):
                array = self._hint_of(Array, hint)
                bounds = _bounds(tags, array.bounds if array else UNBOUNDED)
                return Array(item=self._type(item, array.item if array else None, {}), bounds=bounds)
            case TsObject():
                return self._object(ts, hint)
            case TsUnion(members=members):
                return self._union(members, hint, tags)
            case TsIntersection(members=members):
                return self._intersection(members, hint)

    def _keyword(self, ts: TsKeyword, hint: Shape | None, tags: Tags, in_value: bool) -> Shape:
        match ts.name:
            case "unknown" | "any":
                return ANY
            case "null":
                return NULL
            case "object":
                return Record(value=ANY)
            case "number":
                kind = self._number(hint, tags, in_value)
            case "string":
                kind = Kind.STRING
            case "boolean":
                kind = Kind.BOOLEAN
        same = next((p for p in self._primitives(hint) if _family(p.kind) is _family(kind)), None)
        format_ = str(tags.get("format", same.format if same else "")) if kind is Kind.STRING else ""
        return Primitive(kind=kind, bounds=_bounds(tags, same.bounds if same else UNBOUNDED), format=format_)

    def _number(self, hint: Shape | None, tags: Tags, in_value: bool) -> Kind:
        tagged = tags.get("TJS-type")
        if tagged in (Kind.INTEGER, Kind.NUMBER):
            return Kind(str(tagged))
        if in_value:
            return Kind.NUMBER
        stated = next((p.kind for p in self._primitives(hint) if _family(p.kind) is Kind.NUMBER), Kind.INTEGER)
        return stated

    def _primitives(self, hint: Shape | None) -> Iterator[Primitive]:
        resolved = resolve(hint, self._hints) if hint else None
        for member in resolved.members if isinstance(resolved, AnyOf) else (resolved,):
            if isinstance(member, Primitive):
                yield member

    def _hint_of(self, kind: type[Array], hint: Shape | None) -> Array | None:
        resolved = resolve(hint, self._hints) if hint else None
        members = resolved.members if isinstance(resolved, AnyOf) else (resolved,)
        return next((member for member in members if isinstance(member, kind)), None)

    def _object(self, ts: TsObject, hint: Shape | None) -> Shape:
        flat = flatten(hint, self._hints) if hint else None
        extra_hint = flat.extra if flat else None
        extra = self._type(ts.index, extra_hint, {}) if ts.index else ANY
        if not ts.members:
            return Record(value=extra)
        known: Mapping[str, Property] = flat.properties if flat else {}
        properties = tuple(self._member(member, known.get(member.name)) for member in ts.members)
        return Object(properties=properties, extra=extra, indexed=ts.index is not None)

    def _member(self, ts: TsMember, hint: Property | None) -> Property:
        return Property(
            wire_name=ts.name,
            type=self._type(ts.type, hint.type if hint else None, ts.tags),
            required=not ts.optional,
            doc=ts.doc or (hint.doc if hint else ""),
            deprecated="deprecated" in ts.tags,
        )

    def _union(self, members: tuple[TsType, ...], hint: Shape | None, tags: Tags) -> Shape:
        literals = tuple(member.value for member in members if isinstance(member, TsLiteral))
        rest = [member for member in members if not isinstance(member, TsLiteral)]
        if not rest:
            return Literal(values=literals)
        known = tuple(value for value in literals if isinstance(value, str))
        if rest == [TsKeyword(name="string")] and len(known) == len(literals):
            return replace(self._open_string(rest[0], hint, tags), known=known)
        in_value = TsKeyword(name="boolean") in rest
        lowered = [self._type(member, hint, tags, in_value) for member in rest]
        return any_of([Literal(values=literals), *lowered] if literals else lowered)

    def _open_string(self, ts: TsType, hint: Shape | None, tags: Tags) -> Primitive:
        lowered = self._type(ts, hint, tags)
        return lowered if isinstance(lowered, Primitive) else Primitive(kind=Kind.STRING)

    def _intersection(self, members: tuple[TsType, ...], hint: Shape | None) -> Shape:
        return AllOf(members=tuple(self._type(member, hint, {}) for member in members))


def _family(kind: Kind) -> Kind:
    return Kind.NUMBER if kind is Kind.INTEGER else kind


def _bounds(tags: Tags, hint: Bounds) -> Bounds:
    stated: dict[str, Any] = {name: _tag_value(str(tags[tag])) for tag, name in _BOUND_TAGS.items() if tag in tags}
    return replace(hint, **stated) if stated else hint


def _tag_value(text: str) -> int | float | str:
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text
