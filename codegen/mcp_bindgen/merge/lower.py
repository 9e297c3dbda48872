"""Lower TypeScript declarations to the types of the IR, with the JSON Schema as a hint where TypeScript is silent.

TypeScript has one type for numbers. A `number` tagged ``@TJS-type number`` is a number; one in a union that also has
`boolean` belongs to a JSON value and takes any number; every other one has the type in the JSON Schema. Without a JSON
Schema it has the type that its name has in a known revision, and otherwise takes fractions, which is reported.
Extensions are converted in another way: a `number` tagged ``@format int`` is an integer, every other one a number.
Formats and assertions are those of the tags: what the JSON Schema says about them is compared, and not taken over.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TypeVar

from mcp_bindgen.diagnostics import Location
from mcp_bindgen.ingest.shapes import Declaration, any_of, both, never, with_opaque
from mcp_bindgen.ingest.typescript_expressions import global_type
from mcp_bindgen.ingest.typescript_tags import keywords
from mcp_bindgen.ingest.typescript_types import (
    Constant,
    Tags,
    TsArray,
    TsDeclaration,
    TsExtends,
    TsIndexed,
    TsIntersection,
    TsKeyof,
    TsKeyword,
    TsLiteral,
    TsMapped,
    TsMember,
    TsObject,
    TsOpaque,
    TsReference,
    TsType,
    TsTypeof,
    TsUnion,
    TypeScriptDocument,
)
from mcp_bindgen.ir.names import pascal, unique
from mcp_bindgen.ir.nodes import (
    ANY,
    NULL,
    AllOf,
    Base,
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
from mcp_bindgen.ir.scalars import Numbers
from mcp_bindgen.ir.spell import is_any, is_never
from mcp_bindgen.merge.constrain import constrain
from mcp_bindgen.merge.evaluate import Evaluator, size
from mcp_bindgen.merge.flatten import Declarations, flatten, resolve

MAX_DEPTH = 40
"""The maximum depth of computed types; the rest is kept as text."""
MAX_INSTANCES = 300
"""The maximum number of instances of generic types in one file; the rest is kept as text."""

_UNDEFINED = TsKeyword(name="undefined")
_LIST: type[ListOf[Shape]] = ListOf
_Kind = TypeVar("_Kind", ListOf[Shape], Primitive)


def lower(
    document: TypeScriptDocument,
    hints: Declarations,
    base: TypeScriptDocument | None = None,
    numbers: Numbers | None = None,
    *,
    official: bool = False,
) -> dict[str, Declaration]:
    """Lower every declaration of a schema.ts; `hints` are those of its schema.json, if that is known.

    `base` is the revision that an extension adds to: the extension may refer to its declarations. A generic declaration
    becomes one declaration for each set of arguments that it is used with. `numbers` is for a file without a JSON half.
    If `official`, the JSON half was converted as MCP does it, so that each number without a tag is an integer.
    """
    return _Lowering(document, hints, base, numbers, official).all()


class _Lowering:
    def __init__(
        self,
        document: TypeScriptDocument,
        hints: Declarations,
        base: TypeScriptDocument | None,
        numbers: Numbers | None,
        official: bool,
    ) -> None:
        self._document = document
        self._constants: Mapping[str, Constant] = {**(base.constants if base else {}), **document.constants}
        self._hints = hints
        self._numbers = numbers
        self._official = official
        self._place: tuple[tuple[str, ...], Location] = (), Location(source=document.source)
        self._untagged_number = Kind.NUMBER if base else Kind.INTEGER
        self._evaluator = Evaluator((*(base.declarations if base else ()), *document.declarations))
        self._declared = self._evaluator.declared
        self._instances: dict[TsReference, str] = {}
        self._where = Location(source=document.source)
        self._depth = 0

    def all(self) -> dict[str, Declaration]:
        found: dict[str, Declaration] = {}
        for ts in self._document.declarations:
            if all(parameter.default is not None for parameter in ts.parameters):
                found[ts.name] = self._declaration(self._evaluator.instance(TsReference(name=ts.name)))
        while fresh := [(ref, name) for ref, name in self._instances.items() if name not in found]:
            for reference, name in fresh:
                found[name] = self._declaration(replace(self._evaluator.instance(reference), name=name))
        return found

    def _declaration(self, ts: TsDeclaration) -> Declaration:
        self._where, self._place = ts.where, ((ts.name,), ts.where)
        hint = self._hints.get(ts.name)
        type_ = self._type(ts.body, hint.type if hint else None, ts.tags)
        if ts.kind == "interface":
            type_ = self._interface(ts.extends, type_)
        type_ = self._tagged(type_, ts.tags)
        return Declaration(
            name=ts.name,
            type=type_,
            doc=ts.doc or (hint.doc if hint else ""),
            deprecated="deprecated" in ts.tags,
            internal="internal" in ts.tags,
            category=str(ts.tags.get("category", "")),
            pointer=hint.pointer if hint else "",
            where=ts.where,
        )

    def _tagged(self, type_: Shape, tags: Tags) -> Shape:
        """Return a type with the assertions of the tags beside it."""
        type_ = constrain(type_, keywords(tags), self._place[1])
        return any_of([type_, NULL]) if "nullable" in tags else type_

    def _interface(self, extends: tuple[TsExtends, ...], body: Shape) -> Shape:
        """An interface is an object, unless an index signature of a type of its own makes it a map."""
        if isinstance(body, MapOf) and body.value != ANY and not extends:
            return body
        rest = body.value if isinstance(body, MapOf) else ANY
        own = body if isinstance(body, Object) else Object(properties=(), extra=rest, opaque=body.opaque)
        bases: list[Base] = []
        inherited: dict[str, Field[Shape]] = {}
        opaque, extra = own.opaque, own.extra
        for base in extends:
            shape = self._type(base.type, None, {})
            match shape:
                case Ref(name=name):
                    bases.append(Base(name=name))
                case Object(properties=properties):
                    bases += shape.bases
                    inherited |= {property_.wire_name: property_ for property_ in properties}
                    extra = shape.extra if extra is not None and is_any(extra) else extra
                case MapOf(value=value):
                    extra = value if extra is not None and is_any(extra) else extra
                case _:
                    opaque = both(opaque, Opaque(text=f"extends {_text(base.type)}", where=self._where))
        whole = inherited | {property_.wire_name: property_ for property_ in own.properties}
        return replace(own, properties=tuple(whole.values()), bases=tuple(bases), extra=extra, opaque=opaque)

    def _type(self, ts: TsType, hint: Shape | None, tags: Tags, in_value: bool = False) -> Shape:
        match ts:
            case TsReference():
                return self._reference(ts, hint, tags)
            case TsLiteral(value=value):
                return Literal(values=(value,))
            case TsTypeof(constant=constant):
                return Literal(values=(self._constants[constant],)) if constant in self._constants else ANY
            case TsKeyword():
                return self._keyword(ts, hint, tags, in_value)
            case TsArray(item=item, opaque=opaque):
                array = next(self._hinted(_LIST, hint), None)
                return ListOf(item=self._type(item, array.item if array else None, {}), opaque=opaque)
            case TsObject():
                return with_opaque(self._object(ts, hint), ts.opaque)
            case TsUnion(members=members):
                return self._union(members, hint, tags)
            case TsIntersection(members=members):
                return AllOf(members=tuple(self._type(member, hint, {}) for member in members))
            case TsOpaque(opaque=opaque, kind=kind):
                return _hinted(Primitive(kind=kind, opaque=opaque), hint)
            case TsKeyof(opaque=opaque) | TsIndexed(opaque=opaque) | TsMapped(opaque=opaque):
                return self._computed(ts, opaque, hint, tags)

    def _computed(self, ts: TsType, opaque: Opaque, hint: Shape | None, tags: Tags) -> Shape:
        """Lower what a type is computed to; the text of the type where that is not known."""
        found = self._evaluator.evaluate(ts) if self._depth < MAX_DEPTH else None
        if found is None:
            kind = Kind.STRING if isinstance(ts, TsKeyof) else Kind.ANY
            return _hinted(Primitive(kind=kind, opaque=opaque), hint)
        self._depth += 1
        lowered = self._type(found, hint, tags)
        self._depth -= 1
        return lowered

    def _reference(self, ts: TsReference, hint: Shape | None, tags: Tags) -> Shape:
        opaque = ts.opaque or Opaque(text=ts.name, where=self._where)
        declaration = self._declared.get(ts.name)
        if declaration is not None:
            if not ts.arguments and all(parameter.default is not None for parameter in declaration.parameters):
                return Ref(name=ts.name)
            name = self._instance(ts)
            return Ref(name=name) if name else _hinted(Primitive(kind=Kind.ANY, opaque=opaque), hint)
        if ts.name in ("Omit", "Pick") and (chosen := self._chosen(ts)):
            return chosen
        keyword = global_type(ts.name)
        if keyword is not None:
            return self._type(TsKeyword(name=keyword), hint, tags)
        return self._computed(ts, opaque, hint, tags)

    def _chosen(self, ts: TsReference) -> Shape | None:
        """Return an object that takes some properties of a named one, and inherits them."""
        whole, keys = ts.arguments if len(ts.arguments) == 2 else (None, None)
        if not isinstance(whole, TsReference) or keys is None or whole.name not in self._declared:
            return None
        base, names = self._reference(whole, None, {}), self._evaluator.keys(keys)
        if not isinstance(base, Ref) or names is None:
            return None
        found = self._evaluator.object_of(whole)
        if ts.name == "Pick" and found is None:
            return None
        known = [member.name for member in found.members] if found else []
        omitted = names if ts.name == "Omit" else [name for name in known if name not in names]
        return Object(properties=(), bases=(Base(name=base.name, omitted=tuple(omitted)),))

    def _instance(self, ts: TsReference) -> str | None:
        """Return the name of a generic type with its arguments: ``Page`` of ``Tool`` is ``PageTool``."""
        if size(ts) > MAX_SIZE:
            return None
        if ts not in self._instances:
            text = _text(ts)
            if len(self._instances) >= MAX_INSTANCES or len(text) > MAX_TEXT:
                return None
            self._instances[ts] = unique(pascal(text), {*self._declared, *self._instances.values()})
        return self._instances[ts]

    def _keyword(self, ts: TsKeyword, hint: Shape | None, tags: Tags, in_value: bool) -> Shape:
        match ts.name:
            case "unknown" | "any":
                return ANY
            case "null":
                return NULL
            case "undefined" | "never":
                return never(self._where)
            case "Date":
                return Primitive(kind=Kind.STRING, format="date-time")
            case "object":
                return MapOf(value=ANY)
            case "number":
                kind = self._number(hint, tags, in_value)
            case "string":
                kind = Kind.STRING
            case "boolean":
                kind = Kind.BOOLEAN
        return Primitive(kind=kind, format=str(tags.get("format", "")) if kind is Kind.STRING else "")

    def _number(self, hint: Shape | None, tags: Tags, in_value: bool) -> Kind:
        tagged = tags.get("TJS-type")
        if tagged in (Kind.INTEGER, Kind.NUMBER):
            return Kind(str(tagged))
        if in_value:
            return Kind.NUMBER
        if tags.get("format") == "int":
            return Kind.INTEGER
        numbers = (p.kind for p in self._hinted(Primitive, hint) if p.kind in (Kind.INTEGER, Kind.NUMBER))
        stated = None if self._official else next(numbers, None)
        return stated or (self._numbers.kind(*self._place) if self._numbers else self._untagged_number)

    def _hinted(self, kind: type[_Kind], hint: Shape | None) -> Iterator[_Kind]:
        """Iterate over the types of a kind that the JSON Schema has, also as members of a union."""
        resolved = resolve(hint, self._hints) if hint else None
        members = resolved.members if isinstance(resolved, Union) else (resolved,)
        return (member for member in members if isinstance(member, kind))

    def _object(self, ts: TsObject, hint: Shape | None) -> Shape:
        flat = flatten(hint, self._hints) if hint else None
        extra_hint = flat.extra if flat else None
        extra = self._type(ts.index, extra_hint, {}) if ts.index else ANY
        is_closed = is_never(extra)
        if not ts.members and not is_closed:
            return MapOf(value=extra)
        known: Mapping[str, Field[Shape]] = flat.properties if flat else {}
        properties = tuple(self._member(member, known.get(member.name)) for member in ts.members)
        return Object(properties=properties, extra=None if is_closed else extra, indexed=ts.index is not None)

    def _member(self, ts: TsMember, hint: Field[Shape] | None) -> Field[Shape]:
        parts = ts.type.members if isinstance(ts.type, TsUnion) else ()
        outer = self._place
        self._place = (*outer[0], ts.name), ts.where
        type_ = self._tagged(self._type(ts.type, hint.type if hint else None, ts.tags), ts.tags)
        self._place = outer
        return Field(
            wire_name=ts.name,
            type=type_,
            required=not ts.optional and _UNDEFINED not in parts,
            doc=ts.doc or (hint.doc if hint else ""),
            deprecated="deprecated" in ts.tags,
            default=hint.default if hint else "",
        )

    def _union(self, members: tuple[TsType, ...], hint: Shape | None, tags: Tags) -> Shape:
        members = tuple(member for member in members if member != _UNDEFINED) or members
        literals = tuple(member.value for member in members if isinstance(member, TsLiteral))
        rest = [member for member in members if not isinstance(member, TsLiteral)]
        if not rest:
            return Literal(values=literals)
        known = tuple(value for value in literals if isinstance(value, str))
        if rest == [TsKeyword(name="string")] and len(known) == len(literals):
            text = self._type(rest[0], hint, tags)
            return replace(text if isinstance(text, Primitive) else Primitive(kind=Kind.STRING), known=known)
        in_value = TsKeyword(name="boolean") in rest
        lowered = [self._type(member, hint, tags, in_value) for member in rest]
        return any_of([Literal(values=literals), *lowered] if literals else lowered)


MAX_SIZE = 200
"""How many types a generic type and its arguments may be made of."""
MAX_TEXT = 120
"""How long the text of a generic type with its arguments may be; the name of what is made of it is as long."""


def _hinted(opaque: Primitive, hint: Shape | None) -> Shape:
    """Return what the JSON Schema says in place of a type that cannot be read, if it says anything."""
    return opaque if hint is None or is_any(hint) else hint


def _text(ts: TsType) -> str:
    """Spell a reference and its arguments; what has no name of its own gives its text, or its kind."""
    match ts:
        case TsReference(name=name, arguments=arguments):
            return " ".join([name, *map(_text, arguments)])
        case TsKeyword(name=keyword):
            return keyword
        case TsLiteral(value=value):
            return str(value)
        case TsTypeof(constant=constant):
            return constant
        case TsArray(item=item):
            return f"{_text(item)} Array"
        case TsUnion(members=members):
            return " Or ".join(map(_text, members))
        case TsIntersection(members=members):
            return " And ".join(map(_text, members))
        case TsObject():
            return "Object"
        case TsOpaque(opaque=opaque) | TsKeyof(opaque=opaque) | TsIndexed(opaque=opaque) | TsMapped(opaque=opaque):
            return opaque.text
