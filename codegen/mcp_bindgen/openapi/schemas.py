"""Reduces the schemas of a document to what types need: whitelisted keywords, merged, as deep as asked for.

The result is JSON Schema in which every object with properties is a definition with a name of its own, so that a
change of the document elsewhere renames nothing. Requests and results have different definitions: what is requested is
narrow, and what is returned is open: every property is optional, enums are open, unknown properties are kept.
"""

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from fnmatch import fnmatchcase
from typing import Any

from mcp_bindgen.ir.json_values import as_list, as_object, is_list, is_number, is_object
from mcp_bindgen.openapi.document import Document, Json
from mcp_bindgen.openapi.names import class_name, mark, short

ANY: Json = {}
OPEN: Json = {"type": "object", "additionalProperties": True}
NULL: Json = {"type": "null"}
SCALARS = ("string", "integer", "number", "boolean")
MAX_UNION = 12
"""The number of objects up to which a result is a union of them; requests may have more."""
MAX_NESTED = 60
"""How deep schemas may be within each other without an object that has a name."""
IDENTIFYING = ("id", "key", "login", "name", "number", "slug", "title", "type")
"""Properties that stay where an object is too deep for its others."""
_BOUNDS: Mapping[str, tuple[str, ...]] = {
    "string": ("minLength", "maxLength", "pattern"),
    "array": ("minItems", "maxItems"),
    **dict.fromkeys(("integer", "number"), ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")),
}
_KINDS = {"bool": "boolean", "int": "integer", "float": "number", "str": "string"}
_OWN = frozenset(("description", *(keyword for keywords in _BOUNDS.values() for keyword in keywords)))
_MAX_PATTERN = 500


class Way(Enum):
    """Which way a value goes: to the API, or back."""

    REQUEST = "Input"
    RESULT = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reduction:
    """How much of the schemas is kept.

    Attributes:
        depth: how many levels of objects results have.
        body_depth: how many levels of objects requests have.
        drop: globs of properties that results do not have.
        describe: the length of a description, in characters.
    """

    depth: float = 2
    body_depth: float = math.inf
    drop: tuple[str, ...] = ()
    describe: int = 200


class Schemas:
    """The definitions that chosen operations need.

    Args:
        document: the document.
        reduction: how much is kept.

    Attributes:
        definitions: the objects with properties, by name.
    """

    def __init__(self, document: Document, reduction: Reduction) -> None:
        self._document, self._reduction = document, reduction
        self.definitions: dict[str, Json] = {}
        self._names: dict[tuple[str, Way, float], tuple[str, bool]] = {}
        self._origins: dict[str, str] = {}
        self._merged: dict[str, Json] = {}
        self._nested = 0
        self._is_cut = False

    def request(self, node: Any, hint: str) -> Json:
        """Return the schema of a value that is sent; `hint` names its object if it has no name."""
        return self._reduced(node, Way.REQUEST, self._reduction.body_depth, hint)

    def result(self, node: Any, hint: str) -> Json:
        """Return the schema of a value that comes back."""
        return self._reduced(node, Way.RESULT, self._reduction.depth, hint)

    def merged(self, node: Any, seen: frozenset[str] = frozenset()) -> Json:
        """Return a schema with its references followed and its ``allOf`` merged."""
        if not is_object(node):
            return {}
        if "$ref" in node:
            reference = str(node["$ref"])
            found = self._merged.get(reference)
            if found is None:
                target = self._document.find(node["$ref"])
                found = {} if reference in seen else self.merged(target, seen | {reference})
            if not seen:
                self._merged[reference] = found
            required = [*as_list(found.get("required")), *as_list(node.get("required"))]
            found = found | ({"required": required} if required else {})
            return found | {key: node[key] for key in ("description", "nullable") if key in node}
        found = {key: value for key, value in node.items() if key != "allOf"}
        for part in as_list(node.get("allOf")):
            own = self.merged(part, seen)
            found |= {key: value for key, value in own.items() if key not in found}
            found["properties"] = as_object(own.get("properties")) | as_object(found.get("properties"))
            found["required"] = [*as_list(own.get("required")), *as_list(found.get("required"))]
        return found

    def used(self, roots: Iterable[Any]) -> Iterator[str]:
        """Iterate over the names of the definitions that schemas refer to, directly or not."""
        waiting, seen = list(roots), set[str]()
        while waiting:
            node = waiting.pop()
            reference = node.get("$ref") if is_object(node) else None
            if isinstance(reference, str):
                name = reference.rpartition("/")[2]
                if name not in seen:
                    seen.add(name)
                    yield name
                    waiting.append(self.definitions[name])
            else:
                waiting += node.values() if is_object(node) else as_list(node)

    def _reduced(self, node: Any, way: Way, left: float, hint: str) -> Json:
        """Return a schema of which so many levels of objects are left."""
        if not is_object(node) or self._nested > MAX_NESTED:
            return ANY
        self._nested += 1
        try:
            found = self._of_kind(node, way, left, hint)
        finally:
            self._nested -= 1
        text = self._described(node, way) if left > 0 else ""
        # Beside a reference, a description would make a copy of the class.
        return found if not text or "$ref" in found else {**found, "description": text}

    def _described(self, node: Json, way: Way) -> str:
        """Return the description, of a request with the format and the default, which types do not say."""
        text = short(node.get("description"), self._reduction.describe)
        if way is Way.RESULT:
            return text
        default, format_ = node.get("default"), node.get("format")
        notes = [short(format_, 30)] if node.get("type") == "string" and isinstance(format_, str) else []
        if isinstance(default, str | bool) or is_number(default):
            shown = str(default).lower() if isinstance(default, bool) else short(str(default), 40)
            notes += [f"default {shown}"] if shown and "default" not in text.lower() else []
        notes = [note for note in notes if note and note not in text]
        return f"{text} ({', '.join(notes)})".strip() if notes else text

    def _of_kind(self, node: Json, way: Way, left: float, hint: str) -> Json:
        if "$ref" in node:
            return self._referred(node, way, left, hint)
        types, is_null = _types_of(node)
        if len(types) > 1:
            members = [self._reduced({**node, "type": kind, "nullable": False}, way, left, hint) for kind in types]
            return _union(members, is_null)
        if "allOf" in node:
            return _union([self._all_of(node, way, left, hint)], is_null)
        for keyword in ("anyOf", "oneOf"):
            members = as_list(node.get(keyword))
            if members and not as_object(node.get("properties")):
                if len(members) > MAX_UNION * (4 if way is Way.REQUEST else 1):
                    return ANY
                whole: Json = {"type": types[0]} if types else {}
                each = [whole | one if is_object(one) and "$ref" not in one else one for one in members]
                hints = [f"{hint}Option{number}" if number > 1 else hint for number in range(1, len(each) + 1)]
                reduced = [self._reduced(one, way, left, name) for one, name in zip(each, hints, strict=True)]
                rest = [one for one in reduced if one != NULL]
                return _union(
                    rest if len(rest) == 1 else [_bare(one) for one in rest], is_null or len(rest) < len(reduced)
                )
        if "const" in node or is_list(node.get("enum")):
            return _constants([node["const"]] if "const" in node else node["enum"], way, is_null)
        return _union([self._plain(types[0] if types else _implied(node), node, way, left, hint)], is_null)

    def _plain(self, kind: str, node: Json, way: Way, left: float, hint: str) -> Json:
        if kind == "object":
            return self._object(node, way, left, hint, f"{hint} {mark(json.dumps(node))}")
        if kind == "array":
            items = self._reduced(node.get("items"), way, left, f"{hint}Item")
            return {"type": "array", "items": _bare(items), **_bounds(kind, node, way)}
        return {"type": kind, **_bounds(kind, node, way)} if kind in SCALARS else NULL if kind == "null" else ANY

    def _all_of(self, node: Json, way: Way, left: float, hint: str) -> Json:
        parts = as_list(node["allOf"])
        if len(parts) == 1 and is_object(parts[0]) and "$ref" in parts[0] and not node.get("properties"):
            return self._reduced(parts[0], way, left, hint)  # It keeps its name.
        merged = self.merged(node)
        return self._reduced({key: value for key, value in merged.items() if key != "allOf"}, way, left, hint)

    def _referred(self, node: Json, way: Way, left: float, hint: str) -> Json:
        reference = str(node["$ref"])
        target = self.merged(node)
        is_null = _types_of(target)[1]
        if as_object(target.get("properties")):
            name = class_name(reference.rpartition("/")[2] if "/schemas/" in reference else reference)
            return _union([self._object(target, way, left, name, reference)], is_null)
        found = self._document.find(node["$ref"])
        if not is_object(found):
            return ANY
        return self._reduced(found, way, left, class_name(reference.rpartition("/")[2]) or hint)

    def _object(self, node: Json, way: Way, left: float, base: str, origin: str) -> Json:
        """Return an object: a reference to a definition if it has properties."""
        properties, more = as_object(node.get("properties")), node.get("additionalProperties")
        if not properties:
            if is_object(more) and more and left > 0:
                value = _bare(self._reduced(more, way, left - 1, f"{base}Value"))
                return {"type": "object", "additionalProperties": value or True}
            self._is_cut |= left <= 0
            return OPEN
        key = origin, way, left
        if key not in self._names:
            self._define(key, node, self._unique(f"{base}{way.value}", origin))
        name, is_cut = self._names[key]
        self._is_cut |= is_cut
        return {"$ref": f"#/$defs/{name}"} if name else OPEN

    def _define(self, key: tuple[str, Way, float], node: Json, name: str) -> None:
        """Define an object. One that lost something because it is deep gets another name than the whole."""
        _, way, left = key
        before, self._is_cut = self._is_cut, False
        nested, self._nested = self._nested, 0
        if left == math.inf:
            self._names[key] = name, False  # It may contain itself.
        made = self._made(node, way, left, name)
        whole = self._reduction.body_depth if way is Way.REQUEST else self._reduction.depth
        if self._is_cut and left != whole:
            name = f"{name}Brief" if left <= 0 else f"{name}Depth{left:g}"
        if left > 0 and (text := short(node.get("description"), self._reduction.describe)):
            made = {**made, "description": text}
        self._names[key] = name if made["properties"] else "", self._is_cut
        if made["properties"]:
            self.definitions[name] = made
        self._is_cut, self._nested = before, nested

    def _made(self, node: Json, way: Way, left: float, name: str) -> Json:
        hidden = "readOnly" if way is Way.REQUEST else "writeOnly"
        found: dict[str, Json] = {}
        for key, value in as_object(node.get("properties")).items():
            shown = self.merged(value)
            is_dropped = way is Way.RESULT and any(fnmatchcase(key, glob) for glob in self._reduction.drop)
            if is_dropped or shown.get(hidden) is True:
                continue
            if left > 0:
                reduced = self._reduced(value, way, left - 1, f"{name}{class_name(key)}")
                if way is Way.REQUEST or left > 1 or not _is_open(reduced):  # A result may have it all the same.
                    found[key] = reduced
            elif key in IDENTIFYING and shown.get("type") in SCALARS:
                found[key] = self._reduced(value, way, 0, name)
            else:
                self._is_cut = True
        more = node.get("additionalProperties")
        is_open = way is Way.RESULT or left <= 0 or more is True or is_object(more)
        required = [each for each in dict.fromkeys(map(str, as_list(node.get("required")))) if each in found]
        narrow = {"required": required} if way is Way.REQUEST and required else {}
        return {"type": "object", "properties": found, **narrow, "additionalProperties": is_open}

    def _unique(self, name: str, origin: str) -> str:
        """Return a name that no schema of another origin has."""
        owner = self._origins.setdefault(name, origin)
        return name if owner == origin else f"{name}{mark(origin)}"


def _types_of(node: Json) -> tuple[list[str], bool]:
    """Return the types of a schema, null left out, and whether it allows null."""
    stated = node.get("type")
    types = [str(each) for each in (stated if is_list(stated) else [stated]) if each is not None]
    rest = [each for each in types if each != "null"]
    is_null = node.get("nullable") is True or "null" in types
    return (rest or types[:1], is_null and bool(rest or not types))


def _implied(node: Json) -> str:
    """Return the type of a schema that states none."""
    if as_object(node.get("properties")) or is_object(node.get("additionalProperties")):
        return "object"
    return "array" if "items" in node else ""


def _is_open(schema: Json) -> bool:
    """Whether a schema says no more than that a value is an object, or an array of objects, or null."""
    if members := schema.get("anyOf"):
        return all(_is_open(each) for each in members)
    items = schema.get("items")
    return schema.get("additionalProperties") is True or schema == NULL or (is_object(items) and _is_open(items))


def _bare(schema: Json) -> Json:
    """Return a schema inside an array, a map or a union: without description and bounds, which would need a class."""
    return {key: value for key, value in schema.items() if key not in _OWN}


def _union(members: list[Json], is_null: bool) -> Json:
    """Return a union: of one alternative that one, of one that takes anything anything."""
    flat = [each for one in members for each in (one["anyOf"] if "anyOf" in one and len(members) > 1 else [one])]
    unique = [each for number, each in enumerate(flat) if each not in flat[:number]]
    if ANY in unique or not unique:
        return ANY
    only = unique[0]
    if is_null and len(unique) == 1 and isinstance(only.get("type"), str) and only != NULL:
        return {**only, "type": [only["type"], "null"]}
    if is_null and NULL not in unique:
        unique.append(NULL)
    return unique[0] if len(unique) == 1 else {"anyOf": unique}


def _constants(values: list[Any], way: Way, is_null: bool) -> Json:
    """Return an enum; that of a result is open, since new values must not break callers."""
    is_null = is_null or None in values
    values = [value for value in values if value is not None]
    if way is Way.REQUEST and values and all(isinstance(value, str | int) for value in values):
        return _union([{"enum": values}], is_null)
    found = list(dict.fromkeys(_KINDS.get(value.__class__.__name__, "") for value in values))
    return ANY if "" in found else _union([{"type": kind} for kind in found], is_null)


def _bounds(kind: str, node: Json, way: Way) -> Json:
    """Return the bounds of a request; a result may exceed them."""
    if way is Way.RESULT:
        return {}
    found = {key: node[key] for key in _BOUNDS.get(kind, ()) if _is_bound(key, node.get(key))}
    for exclusive, inclusive in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if node.get(exclusive) is True and inclusive in found:  # OpenAPI 3.0
            found[exclusive] = found.pop(inclusive)
    return found


def _is_bound(key: str, value: object) -> bool:
    if key == "pattern":
        return isinstance(value, str) and _is_supported(value)
    is_size = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 53
    return is_size if key.endswith(("Length", "Items")) else is_number(value)


def _is_supported(pattern: str) -> bool:
    """Whether the regular expressions of pydantic take a pattern: they have no lookaround and no backreferences."""
    from pydantic_core import SchemaError, SchemaValidator, core_schema

    try:
        SchemaValidator(core_schema.str_schema(pattern=pattern))
    except SchemaError:
        return False
    return len(pattern) <= _MAX_PATTERN
