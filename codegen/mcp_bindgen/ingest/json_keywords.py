"""The keywords of JSON Schema (draft-07 and 2020-12), and the places that a schema.json refers to."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias
from urllib.parse import unquote
from warnings import catch_warnings

from mcp_bindgen.ir.diagnostics import Diagnostics, Location
from mcp_bindgen.ir.json_values import as_object, escaped, is_list, is_object, read_pointer
from mcp_bindgen.ir.names import pascal, unique
from mcp_bindgen.ir.nodes import UNBOUNDED, Bounds

Node: TypeAlias = dict[str, Any]

TYPES = ("string", "integer", "number", "boolean", "null", "array", "object")
ANNOTATIONS = frozenset(
    "$comment $anchor $id $schema $vocabulary $defs definitions title description default examples deprecated readOnly "
    "writeOnly format contentEncoding contentMediaType contentSchema".split()
)
"""Keywords that say nothing about which values are valid; definitions are read where something refers to them."""

ASSERTIONS: Mapping[str, tuple[str, str, type]] = {
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
"""Keyword -> the JSON type it applies to, the field of `Bounds` that holds it, the Python type of its value."""

COMBINING = ("anyOf", "oneOf", "allOf")
CONTAINING = ("contains", "minContains", "maxContains")
OBJECT = frozenset(("properties", "required", "additionalProperties"))
TYPING = frozenset(("type", "const", "enum", "$ref", "items", *COMBINING, *OBJECT, *ASSERTIONS))
"""Keywords that become part of a type. Every other one that is not an annotation is kept as opaque text."""

NEWER = frozenset(
    "prefixItems dependentRequired dependentSchemas minContains maxContains unevaluatedItems"
    " unevaluatedProperties".split()
)
"""Keywords of 2020-12 that draft-07 does not have."""


def opaque_words(node: Node) -> list[str]:
    """Return the keywords of a schema that no type can express, in the order of the file."""
    return [word for word in node if word not in TYPING and word not in ANNOTATIONS and not word.startswith("x-")]


_ALWAYS: Mapping[str, tuple[object, ...]] = {
    "propertyNames": (True, {}, {"type": "string"}),
    "patternProperties": ({},),
    "dependentRequired": ({},),
    "dependentSchemas": ({},),
    "unevaluatedProperties": (True, {}),
    "unevaluatedItems": (True, {}),
    "not": (False, {"not": {}}),
    "pattern": ("", ".*", "^", "$"),
    "minContains": (1,),
}
"""Values of keywords that every JSON value satisfies, or that are the default."""
_RESPELT = frozenset((*_ALWAYS, "additionalProperties", "items", "prefixItems"))
_SPREADING = frozenset(("$ref", "if", "dependentSchemas", "patternProperties", "additionalProperties", *COMBINING))
"""Keywords beside which `unevaluatedProperties` is more than another word for `additionalProperties`."""


def plain(node: Node) -> Node:
    """Return a schema in one of several equal spellings: without keywords that assert nothing or repeat others."""
    if _RESPELT.isdisjoint(node):
        return node
    found = {word: value for word, value in node.items() if value not in _ALWAYS.get(word, ())}
    is_object_, is_array = (node.get("type") == name for name in ("object", "array"))
    if is_object_ and found.get("unevaluatedProperties") is False and not found.keys() & _SPREADING:
        found["additionalProperties"] = found.pop("unevaluatedProperties")
    if found.get("additionalProperties") in ({"not": {}}, {"not": True}):
        found["additionalProperties"] = False
    prefix, items = found.get("prefixItems", []), found.get("items", True)
    if is_array and is_list(prefix) and items is False:
        items = found["items"] = prefix[0] if prefix else True
        most = found.get("maxItems")
        found["maxItems"] = min(len(prefix), most) if isinstance(most, int) else len(prefix)
    if is_list(prefix) and all(each == items for each in prefix):
        found.pop("prefixItems", None)
    return found


def opaque_text(node: Node, words: Sequence[str]) -> str:
    """Spell some keywords of a schema as JSON, for people and for comparison."""
    return json.dumps({word: node[word] for word in words}, ensure_ascii=False)


def type_names(node: Node, where: Location, diagnostics: Diagnostics) -> tuple[str, ...]:
    """Return the types that a schema states; one that JSON Schema does not have is an error."""
    stated: object = node["type"]
    names = stated if is_list(stated) else [stated]
    good = tuple(dict.fromkeys(name for name in names if isinstance(name, str) and name in TYPES))
    if any(name not in TYPES for name in names) or not good:
        diagnostics.error(where.child("type"), f"{spell_value(node['type'])} is not a type of JSON Schema")
    return good


def warn_idle(names: tuple[str, ...], node: Node, where: Location, diagnostics: Diagnostics) -> None:
    """Report assertions that apply to none of the types: JSON Schema ignores them, so must the model."""
    applies = set(names) | ({"number"} if "integer" in names else set[str]())
    owners = {word: owner for word, (owner, _, _) in ASSERTIONS.items()}
    owners |= dict.fromkeys(OBJECT, "object") | {"items": "array"}
    for word in sorted(node.keys() & owners.keys()):
        if owners[word] not in applies:
            diagnostics.warning(where.child(word), f"{word!r} has no effect on {' or '.join(names)}")


def read_bounds(kind: str, node: Node, where: Location, diagnostics: Diagnostics) -> Bounds:
    """Read the assertions that apply to one type; a value of the wrong type is an error."""
    values: dict[str, Any] = {}
    for word, (owner, name, type_) in ASSERTIONS.items():
        if word not in node or owner != kind or (word == "pattern" and not is_pattern(node[word])):
            continue
        value = node[word]
        numeric = isinstance(value, int | float) and not isinstance(value, bool)
        if type_ is float and numeric and (word != "multipleOf" or value > 0):
            values[name] = value
        elif type_ is int and numeric and value == int(value) and value >= 0:
            values[name] = int(value)
        elif type_ not in (float, int) and isinstance(value, type_):
            values[name] = value
        else:
            diagnostics.error(where.child(word), f"{spell_value(value)} is not a value for {word}")
    return Bounds(**values) if values else UNBOUNDED


def unmet_sizes(node: Node, required: int) -> list[str]:
    """Return the bounds on the number of properties that a schema states, unless the required ones are enough."""
    least: object = node.get("minProperties")
    words = [word for word in ("minProperties", "maxProperties") if word in node]
    return [word for word in words if word == "maxProperties" or not isinstance(least, int) or least > required]


def is_pattern(value: object) -> bool:
    """Whether Python can match a pattern; what is not even text is left to be reported as such."""
    if not isinstance(value, str):
        return True
    try:
        with catch_warnings(action="ignore"):  # of sets that a future version may read differently
            re.compile(value)
    except (re.error, RecursionError, OverflowError):
        return False
    return True


def spell_value(value: object) -> str:
    """Spell a value of a schema in a message, cut to a length that a line can hold."""
    text = json.dumps(value, default=repr)
    return text if len(text) <= 60 else text[:57] + "..."


MAX_PLACES = 1000
"""How many schemas that are not definitions may be referred to; far above any real file."""


class Places:
    """Names the schemas of one file that references lead to, those below the definitions when they are asked for."""

    def __init__(self, root: Node, containers: list[str]) -> None:
        self._root = root
        self._names: dict[str, str] = {}
        self._nodes: dict[str, tuple[str, object]] = {}
        for container in containers:
            for name, node in as_object(root[container]).items():
                if name not in self._nodes:
                    self.add(name, f"/{escaped(container)}/{escaped(name)}", node)
        self._defined = len(self._nodes)

    def add(self, name: str, pointer: str, node: object) -> None:
        """Name the schema at a pointer."""
        self._names[pointer] = name
        self._nodes[name] = (pointer, node)

    def __iter__(self) -> Iterator[tuple[str, str, object]]:
        """Iterate over name, pointer and schema; what is named meanwhile comes last."""
        done: set[str] = set()
        while fresh := [name for name in self._nodes if name not in done]:
            for name in fresh:
                done.add(name)
                yield (name, *self._nodes[name])

    def name(self, target: str) -> str | None:
        """Return the name of the schema that a reference in this file leads to, or None."""
        if not target.startswith("#/"):
            return self._names.get("") if target == "#" else None
        pointer = target[1:]
        if pointer not in self._names:
            pointer = unquote(pointer)
        if pointer in self._names:
            return self._names[pointer]
        node = find(self._root, pointer)
        if node is None or len(self._nodes) - self._defined >= MAX_PLACES:
            return None
        name = unique(pascal(_below(pointer)) or "Schema", self._nodes)
        self.add(name, pointer, node)
        return name


def find(root: object, pointer: str) -> Node | bool | None:
    """Return the schema at a JSON pointer (RFC 6901), or None."""
    node = root
    for name in read_pointer(pointer):
        node = _child(node, name)
    return node if is_object(node) or isinstance(node, bool) else None


def _child(node: object, key: str) -> object:
    """Return the member or item of a JSON value that a token of a pointer names, or None."""
    if is_object(node):
        return node.get(key)
    return node[int(key)] if is_list(node) and re.fullmatch("[0-9]{1,9}", key) and int(key) < len(node) else None


def _below(pointer: str) -> str:
    """Return the tokens of a pointer that name something: not the keywords on the way."""
    tokens = pointer.split("/")[1:]
    keywords = {"$defs", "definitions", "properties", "items", "additionalProperties", "anyOf", "oneOf", "allOf"}
    return " ".join(token for token in tokens if token not in keywords)
