"""The part of a JSON Schema that becomes types: the engine's input, and whether it is complete.

Only structure leaves this module: no descriptions, defaults, patterns or titles, and no references out of the schema.
What is omitted either has no effect (annotations) or makes the shape inexact: then jsonschema validates.
"""

from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from mcp_bindgen.ingest.json_keywords import TYPES, find
from mcp_bindgen.json_values import is_list, is_number, is_object
from mcp_bindgen.tool_clients.keywords import (
    ALL_BOUNDS,
    BOUNDS,
    INEXACT,
    MAX_CHOICES,
    MAX_DEPTH,
    MAX_INTEGER,
    MAX_NODES,
    MAX_TEXT,
    STRUCTURE,
    References,
    are_of,
    is_choice,
    texts,
)
from mcp_bindgen.tool_clients.names import MAX_NAME, alternative_words, class_word, unique

Schema = dict[str, Any]

ORIGIN = "x-origin"
"""The keyword that says which property a field stands for: a key of `Shape.properties`."""


class Untypable(Exception):
    """A schema cannot become types; the message says why."""


@dataclass(slots=True)
class Shape:
    """The engine's input for one schema.

    Attributes:
        name: what the schema itself becomes.
        definitions: the schema and what it refers to, by the class or alias that each becomes.
        sources: the same, as the server wrote them.
        properties: the property that each field stands for, by the value of `ORIGIN`: its name and its schema.
        why: the keywords that the types do not express; without any, they accept exactly what the schema does.
        outside: references that lead out of the schema, and are never followed.
    """

    name: str
    definitions: dict[str, Schema] = field(default_factory=dict[str, Schema])
    sources: dict[str, Any] = field(default_factory=dict[str, Any])
    properties: dict[str, tuple[str, Any]] = field(default_factory=dict[str, tuple[str, Any]])
    why: set[str] = field(default_factory=set[str])
    outside: list[str] = field(default_factory=list[str])


def shape_of(schema: Any, name: str, taken: set[str]) -> Shape:
    """Return the shape of a schema of objects; `taken` are the class names in use, to which it adds its own.

    Raises:
        Untypable: it does not describe objects of a known form, or it is too large.
    """
    return _Shaper(schema, name, taken).shape()


class _Shaper:
    def __init__(self, root: Any, name: str, taken: set[str]) -> None:
        self._root = root
        self._references = References(root)
        self._taken = taken
        self._is_old = is_object(root) and "draft-0" in str(root.get("$schema"))  # Then `prefixItems` has no effect.
        self._names: dict[str, str] = {"#": name}
        self._at = name
        self._waiting: list[str] = []
        self._nodes = 0
        self._shape = Shape(name=name)

    def shape(self) -> Shape:
        if not is_object(self._root):
            raise Untypable("the schema is not an object")
        self._define(self._shape.name, self._root, self._whole(self._merged(self._root, ())))
        while self._waiting:
            reference = self._waiting.pop()
            target = self._target(reference)
            self._at = self._names[reference]
            self._define(self._at, target, self._any(target, 0))
        self._refuse_explosions()
        if not self._is_of_objects(self._shape.definitions[self._shape.name]):
            raise Untypable("it does not describe an object")
        return self._shape

    def _define(self, name: str, source: Any, shown: Schema) -> None:
        self._shape.definitions[name] = shown
        self._shape.sources[name] = source

    def _whole(self, schema: Schema) -> Schema:
        """Return the engine's input for the root, which describes objects."""
        self._note_unread(schema)
        if is_list(types := schema.get("type")) and "object" in types:  # arguments are objects in any case
            schema = {**schema, "type": "object"}
            self._shape.why |= {"type"} if len(types) > 1 else set()
        if schema.get("type", "object") != "object":
            raise Untypable("it does not describe an object")
        if schema.get("properties"):
            self._shape.why |= schema.keys() & {"anyOf", "oneOf", "enum", "const"}
            return self._object(schema, 0)
        keyword = next((name for name in ("anyOf", "oneOf") if is_list(schema.get(name))), None)
        if keyword is not None:
            return self._union(keyword, schema, 0)
        if schema.get("additionalProperties") not in (None, True, False, {}) and not schema.get("required"):
            self._shape.why |= schema.keys() & {"enum", "const"}
            return self._map(schema, 0)
        if "type" in schema and not schema.get("required") and schema.get("additionalProperties", False) is False:
            self._shape.why |= schema.keys() & {"enum", "const"}
            return self._object({**schema, "properties": {}}, 0)
        raise Untypable("it declares no properties")

    def _is_of_objects(self, shown: Schema) -> bool:
        shown = self._shape.definitions.get(str(shown.get("$ref", "")).rpartition("/")[2], shown)
        return shown.get("type") == "object" or ("anyOf" in shown and all(map(self._is_of_objects, shown["anyOf"])))

    def _any(self, node: Any, depth: int) -> Schema:
        """Return the engine's input for a schema."""
        self._count(depth)
        if node is True:
            return {}
        if not is_object(node):
            self._because("false" if node is False else "no schema")
            return {}
        schema = node
        self._note_unread(schema)
        if "$ref" in schema:
            return self._reference(schema)
        if "allOf" in schema:
            return self._every(schema, depth)
        if "enum" in schema or "const" in schema:
            return self._choice(schema, depth)
        for keyword in ("anyOf", "oneOf"):
            if keyword in schema:
                return self._union(keyword, schema, depth)
        return self._typed(schema, depth)

    def _count(self, depth: int) -> None:
        self._nodes += 1
        if depth > MAX_DEPTH or self._nodes > MAX_NODES:
            raise Untypable("it is too large, or nested too deeply")

    def _because(self, keyword: str) -> None:
        self._shape.why.add(keyword)

    def _note_unread(self, schema: Schema) -> None:
        self._shape.why |= schema.keys() & INEXACT
        if "$id" in schema and schema is not self._root:
            self._because("$id")
        type_ = schema.get("type")
        expressed = BOUNDS.get(type_, ()) if isinstance(type_, str) else ()
        self._shape.why |= (schema.keys() & ALL_BOUNDS) - set(expressed)

    def _without(self, keyword: str, schema: Schema, depth: int) -> Schema:
        self._because(keyword)
        return self._any({name: value for name, value in schema.items() if name != keyword}, depth + 1)

    def _reference(self, schema: Schema) -> Schema:
        reference = schema["$ref"]
        if self._target(reference) is None:
            self._because("$ref")
            self._shape.outside.append(str(reference)[:MAX_TEXT])
            return {}
        if self._siblings(schema):
            self._because("$ref beside others")
        if reference not in self._names:
            last = unquote(reference).rpartition("/")[2].rpartition("#")[2]
            self._names[reference] = unique(f"{self._shape.name}{class_word(last)}", self._taken)
            self._waiting.append(reference)
        return {"$ref": f"#/$defs/{self._names[reference]}"}

    def _target(self, reference: object) -> Any:
        """Return the schema that a reference leads to, None if it has no target or is external."""
        pointer = self._references.pointer(reference)
        return None if pointer is None else find(self._root, pointer)

    def _siblings(self, schema: Schema) -> set[str]:
        return {name for name in schema if name in INEXACT or name in ALL_BOUNDS or name in STRUCTURE}

    def _every(self, schema: Schema, depth: int) -> Schema:
        every = schema["allOf"]
        others = {name: value for name, value in schema.items() if name != "allOf"}
        if is_list(every) and len(every) == 1 and not self._siblings(others):
            return self._any(every[0], depth + 1)
        merged = self._merged(schema, ())
        return self._any(merged, depth + 1) if merged.get("properties") else self._without("allOf", schema, depth)

    def _choice(self, schema: Schema, depth: int) -> Schema:
        values = [schema["const"]] if "const" in schema else schema["enum"]
        others = {name: value for name, value in schema.items() if name not in ("const", "enum")}
        if self._siblings(others) - {"type"} or not are_of(values, others.get("type")):
            self._because("enum beside others")
        if not is_list(values) or not 0 < len(values) <= MAX_CHOICES or not all(map(is_choice, values)):
            self._because("enum")
            return self._any(others, depth + 1)
        chosen = [value for value in values if value is not None]
        if any(not isinstance(value, str) for value in chosen):
            self._because("enum of numbers")
        if not chosen:
            return {"type": "null"}
        null = [{"type": "null"}] if len(chosen) < len(values) else []
        return {"anyOf": [{"enum": chosen}, *null]} if null else {"enum": chosen}

    def _union(self, keyword: str, schema: Schema, depth: int) -> Schema:
        members = schema[keyword]
        others = {name: value for name, value in schema.items() if name != keyword}
        whole = others.get("properties") or others.get("type", "object") != "object" or "anyOf" in others
        if whole or not is_list(members) or not members or len(members) > MAX_CHOICES:
            return self._without(keyword, schema, depth)
        if self._siblings(others):
            self._because(f"{keyword} beside others")
        if keyword == "oneOf":
            self._because("oneOf")
        found = self._alternatives(members, depth + 1)
        if any(not member for member in found):
            return {}
        return found[0] if len(found) == 1 else {"anyOf": found}

    def _alternatives(self, members: list[Any], depth: int) -> list[Schema]:
        """Return the engine's input for alternatives; if there are several objects, each gets a distinct name."""
        objects = [one for one in members if is_object(one) and "$ref" not in one and is_object(one.get("properties"))]
        words = alternative_words(objects) if len(objects) > 1 else []
        named = {id(member): f"{self._at}{word}" for member, word in zip(objects, words, strict=False)}
        found: list[Schema] = []
        before = self._at
        for member in members:
            self._at = named.get(id(member), before)
            shown = self._any(member, depth)
            if id(member) in named and shown.get("type") == "object":
                self._at = unique(self._at, self._taken)
                self._define(self._at, member, shown)
                shown = {"$ref": f"#/$defs/{self._at}"}
            found.append(shown)
        self._at = before
        return found

    def _typed(self, schema: Schema, depth: int) -> Schema:
        type_ = schema.get("type")
        if type_ is None:
            type_ = "object" if schema.get("properties") else "array" if "items" in schema else None
            if type_:
                self._because("implied type")
        if is_list(type_):
            return self._types(type_, schema, depth)
        match type_:
            case "object":
                return self._object({**schema, "type": "object"}, depth)
            case "array":
                return self._array(schema, depth)
            case "string" | "integer" | "number":
                return {"type": type_, **self._bounds(type_, schema)}
            case "boolean" | "null":
                return {"type": type_}
            case None:
                if schema.get("required"):
                    self._because("required")
                return {}
            case _:
                self._because("type")
                return {}

    def _types(self, types: list[Any], schema: Schema, depth: int) -> Schema:
        names = [name for name in types if isinstance(name, str) and name in TYPES]
        if len(names) != len(types) or not names:
            self._because("type")
            return {}
        plain = [self._typed({**schema, "type": name}, depth + 1) for name in dict.fromkeys(names)]
        return plain[0] if len(plain) == 1 else {"anyOf": plain}

    def _array(self, schema: Schema, depth: int) -> Schema:
        items = schema.get("items", True)
        prefix = items if is_list(items) else None if self._is_old else schema.get("prefixItems")
        if prefix is not None:
            return self._tuple(prefix, schema, depth)
        shown = self._any(items, depth + 1)
        return {"type": "array", **self._bounds("array", schema), **({"items": shown} if shown else {})}

    def _tuple(self, prefix: Any, schema: Schema, depth: int) -> Schema:
        """Return an array whose first items have types of their own: a tuple if these are all of its items."""
        self._because("prefixItems")  # The types agree with jsonschema.
        rest = schema.get("additionalItems" if is_list(schema.get("items")) else "items", True)
        ends = rest is False or schema.get("maxItems") == (len(prefix) if is_list(prefix) else None)
        if not is_list(prefix) or not 0 < len(prefix) <= MAX_CHOICES or not ends:
            return {"type": "array"}
        shown = [self._any(item, depth + 1) for item in prefix]
        if schema.get("minItems") == len(prefix):
            return {"type": "array", "prefixItems": shown, "minItems": len(prefix), "maxItems": len(prefix)}
        return {"type": "array", "items": {"anyOf": shown}} if all(shown) else {"type": "array"}

    def _bounds(self, type_: str, schema: Schema) -> Schema:
        found: Schema = {}
        for name in BOUNDS[type_]:
            bound = schema.get(name)
            if bound is None:
                continue
            if is_number(bound) and abs(bound) < MAX_INTEGER and (isinstance(bound, int) or type_ == "number"):
                found[name] = bound
            else:
                self._because(name)
        return found

    def _object(self, schema: Schema, depth: int) -> Schema:
        properties = schema.get("properties")
        declared = properties if is_object(properties) else {}
        required = [name for name in texts(schema.get("required")) if len(name) <= MAX_TEXT]
        if "required" in schema and required != schema["required"]:
            self._because("required")
        if not declared and not required and depth:
            return self._map(schema, depth)
        if any(len(name) > MAX_TEXT for name in declared):
            raise Untypable("the name of a property is too long")
        additional = schema.get("additionalProperties", True)
        if "patternProperties" in schema or not isinstance(additional, bool):
            self._because("additionalProperties")
            additional = True
        found: Schema = {}
        before = self._at
        for name in dict.fromkeys([*declared, *required]):
            origin = f"{self._shape.name}/{len(self._shape.properties)}"
            self._shape.properties[origin] = name, declared.get(name, True)
            self._at = f"{before}{class_word(name)}"[:MAX_NAME]
            found[name] = {**self._any(declared.get(name, True), depth + 1), ORIGIN: origin}
        self._at = before
        closed = {} if additional else {"additionalProperties": False}
        return {"type": "object", "properties": found, "required": required, **closed}

    def _map(self, schema: Schema, depth: int) -> Schema:
        additional = schema.get("additionalProperties", True)
        if additional is False:
            self._because("no properties")
        if "patternProperties" in schema or isinstance(additional, bool):
            return {"type": "object", "additionalProperties": True}
        return {"type": "object", "additionalProperties": self._any(additional, depth + 1) or True}

    def _merged(self, schema: Schema, seen: tuple[str, ...]) -> Schema:
        """Return one schema for a schema and those that all must hold with it, as far as they are objects."""
        self._count(0)
        parts: list[Any] = [{name: value for name, value in schema.items() if name not in ("allOf", "$ref")}]
        reference = schema.get("$ref")
        if isinstance(reference, str) and reference not in seen and len(seen) < MAX_DEPTH:
            target = self._target(reference)
            if is_object(target):
                parts.append(self._merged(target, (*seen, reference)))
        every = schema.get("allOf")
        for part in every[:MAX_CHOICES] if is_list(every) else ():
            self._because("allOf")
            if is_object(part) and len(seen) < MAX_DEPTH:
                parts.append(self._merged(part, (*seen, "")))
        if len(parts) == 1:
            only: Schema = parts[0]
            return only
        self._because("allOf")
        merged: Schema = {}
        properties: Schema = {}
        required: list[str] = []
        for part in parts:
            own = part.get("properties")
            for name, value in (own if is_object(own) else {}).items():
                properties[name] = value if properties.get(name, value) == value else True
            required += texts(part.get("required"))
            merged |= {key: value for key, value in part.items() if key not in ("properties", "required")}
        merged.pop("additionalProperties", None)
        merged.pop("enum", None)
        return {**merged, "properties": properties, "required": list(dict.fromkeys(required))}

    def _refuse_explosions(self) -> None:
        """Refuse schemas that expand to too many alternatives, or to themselves: later steps visit each of them."""
        widths: dict[str, int] = {}

        def width(shown: Schema) -> int:
            if "anyOf" in shown:
                return sum(map(width, shown["anyOf"]))
            name = str(shown.get("$ref", "")).rpartition("/")[2]
            if name and name not in widths:
                widths[name] = MAX_CHOICES + 1  # the placeholder if the path is recursive
                widths[name] = width(self._shape.definitions[name])
            return widths.get(name, 1)

        if any(width(shown) > MAX_CHOICES for shown in self._shape.definitions.values()):
            raise Untypable("it has too many alternatives, or is recursive in a way that has no type")
