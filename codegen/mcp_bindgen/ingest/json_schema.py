"""Read a JSON Schema of the protocol (draft-07 or 2020-12) into declarations.

Keywords that types can express become types; all others are kept as opaque text, and the type accepts more. Only
violations of JSON Schema itself are errors.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from mcp_bindgen.ingest.json_keywords import (
    ASSERTIONS,
    COMBINING,
    CONTAINING,
    NEWER,
    OBJECT,
    TYPES,
    TYPING,
    Node,
    Places,
    is_pattern,
    opaque_text,
    opaque_words,
    plain,
    read_bounds,
    spell_value,
    type_names,
    unmet_sizes,
    warn_idle,
)
from mcp_bindgen.ingest.shapes import Contains, Declaration, OfObjects, any_of, never, with_opaque
from mcp_bindgen.ir.diagnostics import Diagnostics, Location
from mcp_bindgen.ir.json_values import as_object, is_list, is_object
from mcp_bindgen.ir.nodes import (
    ANY,
    NULL,
    UNBOUNDED,
    AllOf,
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
    Scalar,
    Shape,
    Union,
)
from mcp_bindgen.ir.scalars import fits, is_of, matcher
from mcp_bindgen.ir.spell import is_never

DRAFT_07 = "http://json-schema.org/draft-07/schema"
DIALECTS = (DRAFT_07, "https://json-schema.org/draft/2020-12/schema")
"""The supported dialects, without the optional empty fragment."""

MAX_DEPTH = 40
"""Levels of nesting in one definition: far above any real schema, and as many as pydantic can compile."""

_CONTAINERS = ("$defs", "definitions")
_IDLE = frozenset(("$schema", "$id", "$comment", "title", "description", *_CONTAINERS))


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaDocument:
    """What one schema.json says: its definitions by name, in the order of the file.

    `dialect` is the ``$schema`` that it states, without the empty fragment; empty if it states none. `root` is the
    parsed file.
    """

    source: str
    container: str
    declarations: Mapping[str, Declaration]
    dialect: str = ""
    root: Mapping[str, object] = field(default_factory=dict[str, object], repr=False)


def read_schema(root: object, source: str, diagnostics: Diagnostics) -> SchemaDocument:
    """Read the definitions of a parsed schema.json; malformed schemas are reported and become `ANY`."""
    where = Location(source=source)
    empty = SchemaDocument(source=source, container=_CONTAINERS[1], declarations={})
    if not is_object(root):
        if not diagnostics.errors:
            diagnostics.error(where, "a schema is a JSON object")
        return empty
    containers = [name for name in _CONTAINERS if is_object(root.get(name))]
    if not containers:
        diagnostics.error(where, "no definitions: they are looked for under $defs and under definitions")
        return empty
    for word in sorted(word for word in root.keys() - _IDLE if not word.startswith("x-")):
        diagnostics.warning(where.child(word), f"{word!r} next to the definitions is ignored")
    dialect = root.get("$schema", DRAFT_07)
    if not isinstance(dialect, str) or dialect.rstrip("#") not in DIALECTS:
        diagnostics.warning(
            where.child("$schema"), f"{spell_value(dialect)} is not a known dialect; it is read as {DIALECTS[1]}"
        )
    stated = dialect.rstrip("#") if "$schema" in root and isinstance(dialect, str) else ""
    reader = _SchemaReader(source, Places(root, containers), stated == DRAFT_07, diagnostics)
    return SchemaDocument(source=source, container=containers[0], declarations=reader.read(), dialect=stated, root=root)


def read_type(schema: object, name: str, source: str, diagnostics: Diagnostics) -> Mapping[str, Declaration]:
    """Read a standalone schema, such as that of a tool's arguments, and its internal references."""
    places = Places(as_object(schema), [])
    places.add(name, "", schema)
    return _SchemaReader(source, places, DRAFT_07 in str(as_object(schema).get("$schema")), diagnostics).read()


class _SchemaReader:
    """Turns the definitions of one file into declarations."""

    def __init__(self, source: str, places: Places, draft_07: bool, diagnostics: Diagnostics) -> None:
        self._source = source
        self._places = places
        self._draft_07 = draft_07
        self._diagnostics = diagnostics

    def read(self) -> dict[str, Declaration]:
        found: dict[str, Declaration] = {}
        for name, pointer, node in self._places:
            doc, deprecated = _describe(node)
            where = Location(source=self._source, pointer=pointer)
            found[name] = Declaration(
                name=name, type=self._type(node, where, 0), doc=doc, deprecated=deprecated, pointer=pointer, where=where
            )
        return found

    def _error(self, where: Location, message: str) -> Shape:
        self._diagnostics.error(where, message)
        return ANY

    def _type(self, node: object, where: Location, depth: int) -> Shape:
        if depth > MAX_DEPTH:
            return Primitive(kind=Kind.ANY, opaque=Opaque(text=spell_value(node), where=where))
        if isinstance(node, bool):
            return ANY if node else never(where)
        if not is_object(node):
            return self._error(where, f"a schema is an object, true or false, not {spell_value(node)}")
        node = plain(self._known(node, where))
        if node.get("not") in (True, {}) and "not" in node:
            return never(where)
        if "$ref" in node and self._draft_07:
            for word in sorted(node.keys() & TYPING - {"$ref"}):
                self._diagnostics.warning(where.child(word), f"{word!r} has no effect next to $ref in draft-07")
            return self._reference(node, where)
        parts = [self._reference(node, where)] if "$ref" in node else []
        if "const" in node or "enum" in node:
            parts.append(self._constants(node, where))
        elif "type" in node:
            parts.append(self._typed(node, where, depth))
        elif untyped := [word for word in node if word in (ASSERTIONS.keys() | OBJECT | {"items"})]:
            parts.append(self._untyped(untyped, node, where, depth))
        for word in COMBINING:
            if word in node:
                parts.append(self._combined(word, node, where, depth))
        joined = AllOf(members=tuple(parts)) if len(parts) > 1 else next(iter(parts), ANY)
        words = opaque_words(node)
        types = node["type"] if is_list(node.get("type")) else [node.get("type")]
        if "array" in types and not node.keys() & {"const", "enum"}:
            words = [word for word in words if word not in CONTAINING]  # `_list` has read them.
        return self._with_opaque(joined, words, node, where)

    def _known(self, node: Node, where: Location) -> Node:
        """Return a schema without the keywords that its dialect does not have."""
        newer = node.keys() & NEWER if self._draft_07 else set[str]()
        for word in sorted(newer):
            self._diagnostics.warning(where.child(word), f"{word!r} has no effect in draft-07")
        return {word: value for word, value in node.items() if word not in newer} if newer else node

    def _with_opaque(self, shape: Shape, words: Sequence[str], node: Node, where: Location) -> Shape:
        if not words:
            return shape
        return with_opaque(shape, Opaque(text=opaque_text(node, words), where=where.child(words[0])))

    def _untyped(self, words: list[str], node: Node, where: Location, depth: int) -> Shape:
        """Read assertions without a type, which apply only to values of their own type."""
        text, at = opaque_text(node, words), where.child(words[0])
        kinds = {ASSERTIONS[word][0] if word in ASSERTIONS else "object" for word in words}
        is_of_objects = kinds == {"object"} and "items" not in words and bool(node.keys() & OBJECT)
        found = self._object(node, where, depth) if is_of_objects else ANY
        opaque = OfObjects(text=text, where=at, type=found) if is_of_objects else Opaque(text=text, where=at)
        kind = kinds.pop() if len(kinds) == 1 else "object"
        bounds = UNBOUNDED if kind == "object" else self._bounds(kind, node, where)
        return Primitive(kind=Kind.ANY, bounds=bounds, opaque=opaque)

    def _reference(self, node: Node, where: Location) -> Shape:
        target = node["$ref"]
        here = where.child("$ref")
        if not isinstance(target, str):
            return self._error(here, f"a reference is a string, not {spell_value(target)}")
        name = self._places.name(target)
        if name is not None:
            return Ref(name=name)
        if target.startswith("#/"):
            return self._error(here, f"the reference {spell_value(target)} has no target in this file")
        return Primitive(kind=Kind.ANY, opaque=Opaque(text=f"$ref {target}", where=here))

    def _combined(self, word: str, node: Node, where: Location, depth: int) -> Shape:
        branches: object = node[word]
        here = where.child(word)
        if not is_list(branches) or not branches:
            return self._error(here, f"{word} is a list of at least one schema")
        members = [self._type(branch, here.child(i), depth + 1) for i, branch in enumerate(branches)]
        if word == "allOf":
            return AllOf(members=tuple(members)) if len(members) > 1 else members[0]
        able = [member for member in members if not is_never(member)]
        if word == "oneOf" and len(able) > 1:  # Equal members count: a value of both is of neither alone.
            return Union(members=tuple(able), exclusive=Opaque(text="oneOf", where=here))
        return any_of(members)

    def _constants(self, node: Node, where: Location) -> Shape:
        word = "const" if "const" in node else "enum"
        here = where.child(word)
        values: object = [node["const"]] if word == "const" else node["enum"]
        if not is_list(values) or not values:
            return self._error(here, "an enum is a list of at least one value")
        types = type_names(node, where, self._diagnostics) if "type" in node else TYPES
        scalars: list[Scalar] = []
        others: list[Shape] = []
        for value in values:
            if is_list(value) or is_object(value):
                opaque = Opaque(text=spell_value(value), where=here)
                kind = ListOf(item=ANY) if is_list(value) else MapOf(value=ANY)
                others.append(with_opaque(kind, opaque))
                continue
            scalar: Scalar = value
            if any(is_of(scalar, name) for name in types):
                scalars.append(scalar)
            else:
                self._diagnostics.warning(
                    here, f"{spell_value(scalar)} is not of the type next to it, so it is ignored"
                )
        pattern = node.get("pattern", "")
        is_decided = not others and (not isinstance(pattern, str) or matcher(pattern) is not None)
        if is_decided and node.keys() & ASSERTIONS.keys():  # Assertions on other values have no effect.
            typed = (self._scalar(kind, {**node, "type": kind}, where) for kind in ("string", "number"))
            bounded = [type_ for type_ in typed if isinstance(type_, Primitive)]
            scalars = [s for s in scalars if isinstance(s, bool | None) or any(fits(s, type_) for type_ in bounded)]
        known: list[Shape] = [Literal(values=tuple(scalars))] if scalars else []
        made = any_of([*known, *others]) if known or others else never(here)
        words = [] if is_decided else [w for w in node if w in (ASSERTIONS.keys() | OBJECT | {"items"})]
        return self._with_opaque(made, words, node, where)

    def _typed(self, node: Node, where: Location, depth: int) -> Shape:
        names = type_names(node, where, self._diagnostics)
        warn_idle(names, node, where, self._diagnostics)
        nested = {"array": self._list, "object": self._object}
        members = [
            nested[name](node, where, depth) if name in nested else self._scalar(name, node, where) for name in names
        ]
        return any_of(members) if members else ANY

    def _bounds(self, kind: str, node: Node, where: Location) -> Bounds:
        return read_bounds(kind, node, where, self._diagnostics)

    def _scalar(self, name: str, node: Node, where: Location) -> Shape:
        if name == "null":
            return NULL
        text = node.get("format", "")
        format_ = text if isinstance(text, str) and name == "string" else ""
        bounds = self._bounds("number" if name == "integer" else name, node, where)
        lost = ["pattern"] if name == "string" and "pattern" in node and not is_pattern(node["pattern"]) else []
        kind = Kind(name)
        if kind is Kind.NUMBER and bounds.multiple_of is not None and float(bounds.multiple_of).is_integer():
            kind = Kind.INTEGER
        if kind is Kind.INTEGER and bounds.multiple_of == 1:
            bounds = replace(bounds, multiple_of=None)
        return self._with_opaque(Primitive(kind=kind, bounds=bounds, format=format_), lost, node, where)

    def _list(self, node: Node, where: Location, depth: int) -> Shape:
        items = node.get("items", True)
        bounds = self._bounds("array", node, where)
        if isinstance(items, list):  # a tuple, as draft-07 writes it
            listed = ListOf(item=ANY, bounds=bounds, opaque=self._contains(node, where, depth))
            return self._with_opaque(listed, ["items"], node, where)
        item = ANY if "prefixItems" in node else self._type(items, where.child("items"), depth + 1)
        return ListOf(item=item, bounds=bounds, opaque=self._contains(node, where, depth))

    def _contains(self, node: Node, where: Location, depth: int) -> Opaque | None:
        words = [word for word in CONTAINING if word in node]
        if "contains" not in words:
            return None
        least, most = node.get("minContains", 1), node.get("maxContains")
        text, at = opaque_text(node, words), where.child("contains")
        type_ = self._type(node["contains"], at, depth + 1)
        if not isinstance(least, int) or not isinstance(most, int | None):
            return Opaque(text=text, where=at)
        return Contains(text=text, where=at, type=type_, least=least, most=most)

    def _object(self, node: Node, where: Location, depth: int) -> Shape:
        properties = node.get("properties", {})
        required = node.get("required", [])
        if not is_object(properties):
            return self._error(where.child("properties"), "properties is an object")
        if not is_list(required) or not all(isinstance(r, str) for r in required):
            return self._error(where.child("required"), "required is a list of property names")
        rest = node.get("additionalProperties", True)
        # Names that match a pattern have types of their own, so those of the others do not bind them.
        rest = True if "patternProperties" in node else rest
        extra = None if rest is False else self._type(rest, where.child("additionalProperties"), depth + 1)
        bounds = self._bounds("object", node, where)
        undeclared = [name for name in required if name not in properties]
        if not properties and not undeclared and extra is not None:
            return MapOf(value=extra, bounds=bounds)
        if extra is None and undeclared:
            return never(where.child("required"))
        made: Object[Shape] = Object(
            properties=tuple(
                self._property(name, child, name in required, where.child("properties", name), depth)
                for name, child in (properties | dict.fromkeys(undeclared, rest)).items()
            ),
            extra=extra,
            indexed="additionalProperties" in node,
        )
        return self._with_opaque(made, unmet_sizes(node, len(set(required))), node, where)

    def _property(self, name: str, node: object, required: bool, where: Location, depth: int) -> Field[Shape]:
        doc, deprecated = _describe(node)
        type_ = self._type(node, where, depth + 1)
        return Field(
            wire_name=name, type=type_, required=required, doc=doc, deprecated=deprecated, default=_default(node)
        )


def _default(node: object) -> str:
    """Return the default of a property, as JSON; empty if the schema has none."""
    return json.dumps(node["default"], sort_keys=True) if is_object(node) and "default" in node else ""


def _describe(node: object) -> tuple[str, bool]:
    stated = as_object(node)
    text = stated.get("description", "")
    return text if isinstance(text, str) else "", stated.get("deprecated") is True
