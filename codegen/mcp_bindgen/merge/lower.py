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

from mcp_bindgen.ingest.shapes import Declaration, any_of, both, never, with_opaque
from mcp_bindgen.ingest.typescript_expressions import GLOBAL
from mcp_bindgen.ingest.typescript_tags import keywords
from mcp_bindgen.ingest.typescript_types import (
    INDEXED,
    KEYOF,
    MAPPED,
    NUMBER,
    UNDEFINED,
    Body,
    Expression,
    Member,
    Tags,
    TsDeclaration,
    TsExtends,
    TypeScriptDocument,
    Written,
    alternatives,
)
from mcp_bindgen.ir.diagnostics import Location
from mcp_bindgen.ir.names import pascal, unique
from mcp_bindgen.ir.nodes import (
    ANY,
    NULL,
    STRING,
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
        self._hints = hints
        self._numbers = numbers
        self._official = official
        self._place: tuple[tuple[str, ...], Location] = (), Location(source=document.source)
        self._untagged_number = Kind.NUMBER if base else Kind.INTEGER
        self._evaluator = Evaluator((*(base.declarations if base else ()), *document.declarations))
        self._declared = self._evaluator.declared
        self._instances: dict[Ref | Expression, str] = {}
        self._where = Location(source=document.source)
        self._depth = 0

    def all(self) -> dict[str, Declaration]:
        found: dict[str, Declaration] = {}
        for ts in self._document.declarations:
            if None not in ts.parameters.values():
                found[ts.name] = self._declaration(self._evaluator.instance(Ref(name=ts.name)))
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
        of_map: Object[Shape] = Object(properties=(), extra=rest, opaque=body.opaque)
        own = body if isinstance(body, Object) else of_map
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

    def _type(self, ts: Written, hint: Shape | None, tags: Tags, in_value: bool = False) -> Shape:
        match ts:
            case Ref():
                return self._reference(ts, ts.name, hint, tags)
            case Primitive(kind=Kind.NEVER):
                return never(self._where)
            case Primitive(kind=Kind.STRING, format=""):
                return replace(ts, format=str(tags.get("format", "")))
            case Primitive() | Literal():
                return ts
            case MapOf():
                return MapOf(value=ANY)
            case ListOf(item=item, opaque=opaque):
                array = next(self._hinted(_LIST, hint), None)
                return ListOf(item=self._type(item, array.item if array else None, {}), opaque=opaque)
            case Body():
                return with_opaque(self._object(ts, hint), ts.opaque)
            case Union():
                return self._union(alternatives(ts), hint, tags)
            case AllOf(members=members):
                return AllOf(members=tuple(self._type(member, hint, {}) for member in members))
            case Expression():
                return self._expression(ts, hint, tags, in_value)

    def _expression(self, ts: Expression, hint: Shape | None, tags: Tags, in_value: bool) -> Shape:
        if ts == NUMBER:
            return Primitive(kind=self._number(hint, tags, in_value))
        if ts == UNDEFINED:
            return never(self._where)
        if ts.operands and ts.operator not in _COMPUTING:
            return self._reference(ts, ts.operator, hint, tags)
        return self._computed(ts, hint, tags)

    def _computed(self, ts: Ref | Expression, hint: Shape | None, tags: Tags) -> Shape:
        """Lower what a type is computed to; the text of the type where that is not known."""
        found = self._evaluator.evaluate(ts) if self._depth < MAX_DEPTH else None
        if found is None or found is ts:
            return _hinted(ts, self._where, hint)
        self._depth += 1
        lowered = self._type(found, hint, tags)
        self._depth -= 1
        return lowered

    def _reference(self, ts: Ref | Expression, name: str, hint: Shape | None, tags: Tags) -> Shape:
        declaration = self._declared.get(name)
        if declaration is not None:
            if isinstance(ts, Ref) and None not in declaration.parameters.values():
                return ts
            instance = self._instance(ts)
            return Ref(name=instance) if instance else _hinted(ts, self._where, hint)
        if name in ("Omit", "Pick") and isinstance(ts, Expression) and (chosen := self._chosen(ts)):
            return chosen
        if name in GLOBAL:
            return self._type(GLOBAL[name], hint, tags)
        return self._computed(ts, hint, tags)

    def _chosen(self, ts: Expression) -> Shape | None:
        """Return an object that takes some properties of a named one, and inherits them."""
        whole, keys = ts.operands if len(ts.operands) == 2 else (None, None)
        if not isinstance(whole, Ref | Expression) or keys is None:
            return None
        base, names = self._type(whole, None, {}), self._evaluator.keys(keys)
        if not isinstance(base, Ref) or names is None:
            return None
        found = self._evaluator.object_of(whole)
        if ts.operator == "Pick" and found is None:
            return None
        known = [member.wire_name for member in found.properties] if found else []
        omitted = names if ts.operator == "Omit" else [name for name in known if name not in names]
        return Object(properties=(), bases=(Base(name=base.name, omitted=tuple(omitted)),))

    def _instance(self, ts: Ref | Expression) -> str | None:
        """Return the name of a generic type with its arguments: ``Page`` of ``Tool`` is ``PageTool``."""
        if size(ts) > MAX_SIZE:
            return None
        if ts not in self._instances:
            text = _text(ts)
            if len(self._instances) >= MAX_INSTANCES or len(text) > MAX_TEXT:
                return None
            self._instances[ts] = unique(pascal(text), {*self._declared, *self._instances.values()})
        return self._instances[ts]

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

    def _object(self, ts: Body, hint: Shape | None) -> Shape:
        flat = flatten(hint, self._hints) if hint else None
        extra = self._type(ts.index, flat.extra if flat else None, {}) if ts.index else ANY
        is_closed = is_never(extra)
        if not ts.properties and not is_closed:
            return MapOf(value=extra)
        known: Mapping[str, Field[Shape]] = flat.properties if flat else {}
        properties = tuple(self._member(member, known.get(member.wire_name)) for member in ts.properties)
        return Object(properties=properties, extra=None if is_closed else extra, indexed=ts.indexed)

    def _member(self, ts: Member, hint: Field[Shape] | None) -> Field[Shape]:
        outer = self._place
        self._place = (*outer[0], ts.wire_name), ts.where
        type_ = self._tagged(self._type(ts.type, hint.type if hint else None, ts.tags), ts.tags)
        self._place = outer
        may_be_absent = isinstance(ts.type, Union) and UNDEFINED in ts.type.members
        return Field(
            wire_name=ts.wire_name,
            type=type_,
            required=ts.required and not may_be_absent,
            doc=ts.doc or (hint.doc if hint else ""),
            deprecated=ts.deprecated,
            default=hint.default if hint else "",
        )

    def _union(self, members: tuple[Written, ...], hint: Shape | None, tags: Tags) -> Shape:
        members = tuple(member for member in members if member != UNDEFINED) or members
        literals = tuple(member.values[0] for member in members if isinstance(member, Literal))
        rest = [member for member in members if not isinstance(member, Literal)]
        if not rest:
            return Literal(values=literals)
        known = tuple(value for value in literals if isinstance(value, str))
        if rest == [STRING] and len(known) == len(literals):
            text = self._type(STRING, hint, tags)
            return replace(text if isinstance(text, Primitive) else STRING, known=known)
        in_value = _BOOLEAN in rest
        lowered = [self._type(member, hint, tags, in_value) for member in rest]
        return any_of([Literal(values=literals), *lowered] if literals else lowered)


_BOOLEAN = Primitive(kind=Kind.BOOLEAN)
_COMPUTING = frozenset((KEYOF, INDEXED, *MAPPED))
MAX_SIZE = 200
"""How many types a generic type and its arguments may be made of."""
MAX_TEXT = 120
"""How long the text of a generic type with its arguments may be; the name of what is made of it is as long."""


def _hinted(ts: Ref | Expression, where: Location, hint: Shape | None) -> Shape:
    """Return what the JSON Schema says in place of a type that cannot be read, if it says anything, else its text."""
    if hint is not None and not is_any(hint):
        return hint
    name = ts.name if isinstance(ts, Ref) else ts.operator
    kind = Kind.STRING if name.startswith((KEYOF, "`")) else Kind.ANY
    return Primitive(kind=kind, opaque=ts.opaque or Opaque(text=name, where=where))


def _text(ts: Written) -> str:
    """Spell a reference and its arguments; what has no name of its own gives its text, or its kind."""
    match ts:
        case Ref(name=name):
            return name
        case Expression(operator=operator, opaque=opaque) if operator in _COMPUTING and opaque:
            return opaque.text
        case Expression(operator=name, operands=operands):
            return " ".join([name, *map(_text, operands)])
        case Primitive(kind=kind, format=format_):
            return format_ or ("unknown" if kind is Kind.ANY else kind)
        case Literal(values=values):
            return " Or ".join(map(str, values))
        case ListOf(item=item):
            return f"{_text(item)} Array"
        case Union(members=members):
            return " Or ".join(map(_text, members))
        case AllOf(members=members):
            return " And ".join(map(_text, members))
        case MapOf() | Body():
            return "Object"
