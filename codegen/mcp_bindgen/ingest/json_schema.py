"""Read a JSON Schema of the protocol (draft-07 or 2020-12) into declarations.

Every keyword is either understood or reported: an applicator that has no type in Python, and a word that no dialect
knows, are errors with their JSON pointer.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from mcp_bindgen.diagnostics import Diagnostics, Location
from mcp_bindgen.ingest.shapes import AllOf, Array, Declaration, Object, Property, Record, Shape, any_of
from mcp_bindgen.leaves import ANY, NULL, UNBOUNDED, Bounds, Kind, Literal, Primitive, Ref, Scalar

Node: TypeAlias = dict[str, Any]

DIALECTS = ("http://json-schema.org/draft-07/schema", "https://json-schema.org/draft/2020-12/schema")
"""The dialects that are read, without the empty fragment that may follow."""

MAX_DEPTH = 40
"""Levels of nesting in one definition: far above any real schema, and as many as pydantic can compile."""

_CONTAINERS = ("$defs", "definitions")
_ANNOTATIONS = frozenset(
    "$comment $anchor title description default examples deprecated readOnly writeOnly "
    "format contentEncoding contentMediaType contentSchema".split()
)
_ASSERTIONS: Mapping[str, tuple[str, str, type]] = {
    "minimum": ("number", "minimum", float),
    "maximum": ("number", "maximum", float),
    "exclusiveMinimum": ("number", "exclusive_minimum", float),
    "exclusiveMaximum": ("number", "exclusive_maximum", float),
    "multipleOf": ("number", "multiple_of", float),
    "minLength": ("string", "min_length", int),
    "maxLength": ("string", "max_length", int),
    "pattern": ("string", "pattern", str),
    "minItems": ("array", "min_items", int),
    "maxItems": ("array", "max_items", int),
    "uniqueItems": ("array", "unique_items", bool),
    "minProperties": ("object", "min_properties", int),
    "maxProperties": ("object", "max_properties", int),
}
"""Keyword -> the JSON type it applies to, the member of `Bounds` that holds it, the Python type of its value."""

_TYPING = frozenset(("type", "const", "enum", "$ref", "anyOf", "oneOf", "allOf"))
_OBJECT = frozenset(("properties", "required", "additionalProperties"))
_UNDERSTOOD = _ANNOTATIONS | _ASSERTIONS.keys() | _TYPING | _OBJECT | {"items"}
_UNTYPED = frozenset(
    "if then else not patternProperties propertyNames contains minContains maxContains prefixItems additionalItems "
    "dependencies dependentRequired dependentSchemas unevaluatedItems unevaluatedProperties $dynamicRef "
    "$dynamicAnchor $recursiveRef $recursiveAnchor $defs definitions $schema $id $vocabulary".split()
)
_TYPES = ("string", "integer", "number", "boolean", "null", "array", "object")


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaDocument:
    """What one schema.json says: its definitions by name, in the order of the file.

    `dialect` is the ``$schema`` that it states, without the empty fragment; empty if it states none.
    """

    source: str
    container: str
    declarations: Mapping[str, Declaration]
    dialect: str = ""

    def location(self, name: str = "") -> Location:
        """Return the place of a definition in the file, or of the definitions."""
        pointer = self.declarations[name].pointer if name in self.declarations else f"/{self.container}"
        return Location(source=self.source, pointer=pointer)


def read_schema(root: object, source: str, diagnostics: Diagnostics) -> SchemaDocument:
    """Read the definitions of a parsed schema.json; what cannot be used is reported, and stands as `ANY`."""
    where = Location(source=source)
    container = _CONTAINERS[1]
    if not isinstance(root, dict):
        if not diagnostics.errors:
            diagnostics.error(where, "a schema is a JSON object")
        return SchemaDocument(source=source, container=container, declarations={})
    root = cast(Node, root)
    present = [name for name in _CONTAINERS if isinstance(root.get(name), dict)]
    if len(present) != 1:
        found = "both" if present else "neither"
        diagnostics.error(where, f"definitions belong under one of $defs and definitions; this file has {found}")
        return SchemaDocument(source=source, container=container, declarations={})
    container = present[0]
    for word in sorted(root.keys() - {"$schema", "$id", "$comment", "title", "description", container}):
        diagnostics.error(where.child(word), f"{word!r} beside the definitions is not understood; remove it")
    dialect = root.get("$schema", DIALECTS[0])
    if not isinstance(dialect, str) or dialect.rstrip("#") not in DIALECTS:
        diagnostics.error(
            where.child("$schema"), f"{_spell(dialect)} is not understood; use one of {', '.join(DIALECTS)}"
        )
    reader = _Reader(source, container, cast(Node, root[container]), diagnostics)
    stated = dialect.rstrip("#") if "$schema" in root and isinstance(dialect, str) else ""
    return SchemaDocument(source=source, container=container, declarations=reader.read(), dialect=stated)


class _Reader:
    """Turns the definitions of one file into declarations."""

    def __init__(self, source: str, container: str, definitions: Node, diagnostics: Diagnostics) -> None:
        self._source = source
        self._prefix = f"#/{container}/"
        self._definitions = definitions
        self._diagnostics = diagnostics

    def read(self) -> dict[str, Declaration]:
        where = Location(source=self._source, pointer=self._prefix[1:-1])
        return {name: self._declaration(name, node, where.child(name)) for name, node in self._definitions.items()}

    def _declaration(self, name: str, node: object, where: Location) -> Declaration:
        type_ = self._type(node, where, 0)
        doc, deprecated = _describe(node)
        return Declaration(name=name, type=type_, doc=doc, deprecated=deprecated, pointer=where.pointer)

    def _error(self, where: Location, message: str) -> Shape:
        self._diagnostics.error(where, message)
        return ANY

    def _type(self, node: object, where: Location, depth: int) -> Shape:
        if depth > MAX_DEPTH:
            return self._error(where, f"nested more than {MAX_DEPTH} levels deep")
        if node is True:
            return ANY
        if not isinstance(node, dict):
            return self._error(where, f"a schema is an object or true, not {_spell(node)}")
        node = cast(Node, node)
        for word in sorted(node.keys() - _UNDERSTOOD):
            what = "has no type in Python" if word in _UNTYPED else "is not a keyword of draft-07 or 2020-12"
            self._diagnostics.error(where.child(word), f"{word!r} {what}; rewrite or remove it")
        if "$ref" in node:
            return self._reference(node, where)
        for word in ("anyOf", "oneOf", "allOf"):
            if word in node:
                return self._combined(word, node, where, depth)
        if "const" in node or "enum" in node:
            return self._literal(node, where)
        return self._typed(node, where, depth)

    def _reference(self, node: Node, where: Location) -> Shape:
        self._refuse_siblings("$ref", node, where)
        target = node["$ref"]
        name = target.removeprefix(self._prefix) if isinstance(target, str) else ""
        name = name.replace("~1", "/").replace("~0", "~")
        if not isinstance(target, str) or not target.startswith(self._prefix):
            here = where.child("$ref")
            return self._error(here, f"a reference stays in this file, below {self._prefix}; this is {_spell(target)}")
        if name not in self._definitions:
            return self._error(where.child("$ref"), f"no definition is called {name!r}")
        return Ref(name=name)

    def _combined(self, word: str, node: Node, where: Location, depth: int) -> Shape:
        branches: object = node[word]
        here = where.child(word)
        if not isinstance(branches, list) or not branches:
            return self._error(here, f"{word} is a list of at least one schema")
        self._refuse_siblings(word, node, where)
        members = [
            self._type(branch, here.child(i), depth + 1) for i, branch in enumerate(cast(list[object], branches))
        ]
        if word == "allOf":
            return AllOf(members=tuple(members)) if len(members) > 1 else members[0]
        if word == "oneOf" and not _exclusive(tuple(members)):
            return self._error(here, "oneOf has no type in Python where its branches may overlap; use anyOf")
        return any_of(members)

    def _refuse_siblings(self, word: str, node: Node, where: Location) -> None:
        for other in sorted(node.keys() & (_UNDERSTOOD - _ANNOTATIONS) - {word}):
            self._diagnostics.error(where.child(other), f"{other!r} beside {word} is not understood; use allOf")

    def _literal(self, node: Node, where: Location) -> Shape:
        self._refuse_siblings(
            "const" if "const" in node else "enum", {k: v for k, v in node.items() if k != "type"}, where
        )
        values: object = [node["const"]] if "const" in node else node["enum"]
        here = where.child("const" if "const" in node else "enum")
        if not isinstance(values, list) or not values:
            return self._error(here, "an enum is a list of at least one value")
        scalars: list[Scalar] = []
        types = self._type_names(node, where) if "type" in node else _TYPES
        for value in cast(list[object], values):
            if isinstance(value, list | dict):
                return self._error(here, f"{_spell(cast(object, value))} cannot be a literal in Python; use a scalar")
            scalar = cast(Scalar, value)
            if not any(_is_of(scalar, name) for name in types):
                return self._error(here, f"{_spell(scalar)} is not of the type that stands beside it")
            scalars.append(scalar)
        return Literal(values=tuple(scalars))

    def _type_names(self, node: Node, where: Location) -> tuple[str, ...]:
        stated: object = node["type"]
        names = cast(list[object], stated) if isinstance(stated, list) else [stated]
        good = tuple(name for name in names if isinstance(name, str) and name in _TYPES)
        if len(good) != len(names) or not good:
            self._diagnostics.error(where.child("type"), f"{_spell(node['type'])} is not a type of JSON Schema")
        return good

    def _typed(self, node: Node, where: Location, depth: int) -> Shape:
        if "type" not in node:
            asserted = sorted(node.keys() & (_ASSERTIONS.keys() | _OBJECT | {"items"}))
            if asserted:
                return self._error(where, f"{asserted[0]!r} asserts nothing without a type beside it; add the type")
            return ANY
        names = self._type_names(node, where)
        self._warn_idle(names, node, where)
        builders: Mapping[str, Callable[[], Shape]] = {
            "array": lambda: self._list(node, where, depth),
            "object": lambda: self._object(node, where, depth),
        }
        members: list[Shape] = []
        for name in names:
            builder = builders.get(name)
            members.append(builder() if builder else self._scalar(name, node, where))
        return any_of(members) if members else ANY

    def _warn_idle(self, names: tuple[str, ...], node: Node, where: Location) -> None:
        """Report assertions that apply to none of the types: JSON Schema ignores them, so must the model."""
        applies = set(names) | ({"number"} if "integer" in names else set[str]())
        owners = {word: owner for word, (owner, _, _) in _ASSERTIONS.items()}
        owners |= dict.fromkeys(_OBJECT, "object") | {"items": "array"}
        for word in sorted(node.keys() & owners.keys()):
            if owners[word] not in applies:
                self._diagnostics.warning(where.child(word), f"{word!r} has no effect on {' or '.join(names)}")

    def _bounds(self, kind: str, node: Node, where: Location) -> Bounds:
        values: dict[str, Any] = {}
        for word, (owner, name, type_) in _ASSERTIONS.items():
            if word not in node or owner != kind:
                continue
            value = node[word]
            numeric = isinstance(value, int | float) and not isinstance(value, bool)
            if type_ is float and numeric and (word != "multipleOf" or value > 0):
                values[name] = value
            elif type_ is int and numeric and value == int(value) and value >= 0:
                values[name] = int(value)
            elif type_ not in (float, int) and isinstance(value, type_) and (word != "pattern" or _is_pattern(value)):
                values[name] = value
            else:
                self._diagnostics.error(where.child(word), f"{_spell(value)} is not a value for {word}")
        return Bounds(**values) if values else UNBOUNDED

    def _scalar(self, name: str, node: Node, where: Location) -> Shape:
        if name == "null":
            return NULL
        bounds = self._bounds("number" if name == "integer" else name, node, where)
        text = node.get("format", "")
        format_ = text if isinstance(text, str) and name == "string" else ""
        return Primitive(kind=Kind(name), bounds=bounds, format=format_)

    def _list(self, node: Node, where: Location, depth: int) -> Shape:
        items = node.get("items", True)
        if isinstance(items, list):
            return self._error(
                where.child("items"), "a list of items schemas (a tuple) has no type here; use one schema"
            )
        item = self._type(items, where.child("items"), depth + 1)
        return Array(item=item, bounds=self._bounds("array", node, where))

    def _object(self, node: Node, where: Location, depth: int) -> Shape:
        properties = node.get("properties", {})
        required = node.get("required", [])
        if not isinstance(properties, dict):
            return self._error(where.child("properties"), "properties is an object")
        if not isinstance(required, list) or not all(isinstance(r, str) for r in cast(list[object], required)):
            return self._error(where.child("required"), "required is a list of property names")
        properties, required = cast(Node, properties), cast(list[str], required)
        rest = node.get("additionalProperties", True)
        extra = None if rest is False else self._type(rest, where.child("additionalProperties"), depth + 1)
        bounds = self._bounds("object", node, where)
        undeclared = [name for name in required if name not in properties]
        if not properties and not undeclared and extra is not None:
            return Record(value=extra, bounds=bounds)
        if bounds != Bounds():
            word = next(w for w in ("minProperties", "maxProperties") if w in node)
            self._diagnostics.error(where.child(word), f"{word!r} beside properties has no type in Python; remove it")
        if extra is None and undeclared:
            return self._error(where.child("required"), "requires a property that additionalProperties refuses")
        return Object(
            properties=tuple(
                self._field(name, child, name in required, where.child("properties", name), depth)
                for name, child in (properties | dict.fromkeys(undeclared, rest)).items()
            ),
            extra=extra,
            indexed="additionalProperties" in node,
        )

    def _field(self, name: str, node: object, required: bool, where: Location, depth: int) -> Property:
        doc, deprecated = _describe(node)
        type_ = self._type(node, where, depth + 1)
        return Property(wire_name=name, type=type_, required=required, doc=doc, deprecated=deprecated)


def _exclusive(members: tuple[Shape, ...]) -> bool:
    """Whether no value can be of two of the types: they differ in JSON type, or are distinct constants."""
    seen: set[object] = set()
    for member in members:
        match member:
            case Literal(values=values):
                keys: set[object] = {Literal(values=(value,)) for value in values}
            case Primitive(kind=kind) if kind is not Kind.ANY:
                keys = {Kind.NUMBER if kind is Kind.INTEGER else kind}
            case Array():
                keys = {"array"}
            case Record() | Object():
                keys = {"object"}
            case _:
                return False
        if seen & keys:
            return False
        seen |= keys
    return len({isinstance(m, Literal) for m in members}) == 1


def _is_pattern(value: object) -> bool:
    try:
        re.compile(str(value))
    except (re.error, RecursionError, OverflowError):
        return False
    return True


def _is_of(value: Scalar, name: str) -> bool:
    match value:
        case None:
            return name == "null"
        case bool():
            return name == "boolean"
        case str():
            return name == "string"
        case int():
            return name in ("integer", "number")
        case float():
            return name == "number" or (name == "integer" and value.is_integer())


def _describe(node: object) -> tuple[str, bool]:
    if not isinstance(node, dict):
        return "", False
    text = cast(Node, node).get("description", "")
    return text if isinstance(text, str) else "", cast(Node, node).get("deprecated") is True


def _spell(value: object) -> str:
    """Spell a value of a schema in a message, cut to a length that a line can hold."""
    text = json.dumps(value, default=repr)
    return text if len(text) <= 60 else text[:57] + "..."
