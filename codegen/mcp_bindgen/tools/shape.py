"""The part of a JSON Schema that becomes types: what the engine is shown, and whether that is the whole truth.

Nothing but structure leaves this module: no descriptions, defaults, patterns or titles, no reference that leads out of
the schema. What is left out either means nothing (annotations), or makes the shape inexact: then jsonschema has the
last word at run time.
"""

from dataclasses import dataclass, field
from typing import Any

from mcp_bindgen.tools.keywords import (
    ALL_BOUNDS,
    ANNOTATIONS,
    BOUNDS,
    INEXACT,
    MAX_CHOICES,
    MAX_DEPTH,
    MAX_INTEGER,
    MAX_NODES,
    MAX_TEXT,
    STRUCTURE,
    TYPES,
    are_of,
    is_choice,
    or_null,
    texts,
)
from mcp_bindgen.tools.kinds import is_list, is_object
from mcp_bindgen.tools.names import class_word, unique

Schema = dict[str, Any]

NOT_NULL = "x-not-null"
"""Marks an optional property that may not be null, for whom the engine has no other word."""


class Untypable(Exception):
    """A schema cannot become types; the text says why."""


@dataclass(slots=True)
class Shape:
    """What the engine is shown of one schema.

    Attributes:
        name: the class that the schema itself becomes.
        definitions: the schema and what it refers to, by the class that each becomes.
        why: the keywords that the types do not express; the types are exact if there are none.
        outside: references that lead out of the schema, and are never followed.
    """

    name: str
    definitions: dict[str, Schema] = field(default_factory=dict[str, Schema])
    why: set[str] = field(default_factory=set[str])
    outside: list[str] = field(default_factory=list[str])

    @property
    def is_exact(self) -> bool:
        """Whether the types accept exactly what the schema accepts."""
        return not self.why


def shape_of(schema: Any, name: str, taken: set[str]) -> Shape:
    """Return the shape of a schema of objects; `taken` are the class names that are in use, and grows.

    Raises:
        Untypable: it is no schema of objects with properties, or too large.
    """
    return _Shaper(schema, name, taken).shape()


def without_properties(schema: Any) -> bool:
    """Whether a schema is one of objects that declares no property, and says nothing of others."""
    if not is_object(schema):
        return False
    known = schema
    silent = {name for name in known if name not in ANNOTATIONS}
    named = known.keys() & {"anyOf", "oneOf", "allOf", "$ref", "enum", "const"}
    return (
        known.get("type") == "object"
        and not known.get("properties")
        and not known.get("required")
        and isinstance(known.get("additionalProperties", False), bool)
        and not silent
        and not named
    )


class _Shaper:
    def __init__(self, root: Any, name: str, taken: set[str]) -> None:
        self._root = root
        self._taken = taken
        self._names: dict[str, str] = {"#": name}
        self._waiting: list[str] = []
        self._nodes = 0
        self._looks = 0
        self._shape = Shape(name=name)

    def shape(self) -> Shape:
        root = self._root
        if not is_object(root):
            raise Untypable("a schema that is no object says nothing of arguments")
        merged = self._merged(root, ())
        self._note_unread(merged)
        self._shape.why |= merged.keys() & {"anyOf", "oneOf", "enum", "const"}
        if merged.get("type", "object") != "object":
            raise Untypable("it does not describe an object")
        properties = merged.get("properties")
        if not is_object(properties) or not properties:
            raise Untypable("it declares no properties")
        self._shape.definitions[self._shape.name] = self._object(merged, 0)
        while self._waiting:
            reference = self._waiting.pop()
            target = self._resolve(reference)
            self._shape.definitions[self._names[reference]] = self._any(target, 0)
        return self._shape

    def _any(self, node: Any, depth: int) -> Schema:
        """Return what the engine is shown of a schema."""
        self._nodes += 1
        if depth > MAX_DEPTH or self._nodes > MAX_NODES:
            raise Untypable("it is too large, or nested too deep")
        if node is True:
            return {}
        if not is_object(node):
            self._because("false" if node is False else "no schema")
            return {}
        schema = node
        self._note_unread(schema)
        if "$ref" in schema:
            return self._reference(schema, depth)
        if "allOf" in schema:
            merged = self._merged(schema, ())
            return self._any(merged, depth + 1) if merged.get("properties") else self._without("allOf", schema, depth)
        if "enum" in schema or "const" in schema:
            return self._choice(schema, depth)
        for keyword in ("anyOf", "oneOf"):
            if keyword in schema:
                return self._union(keyword, schema, depth)
        return self._typed(schema, depth)

    def _because(self, keyword: str) -> None:
        self._shape.why.add(keyword)

    def _note_unread(self, schema: Schema) -> None:
        self._shape.why |= schema.keys() & INEXACT
        if "$id" in schema and schema is not self._root:
            self._because("$id")
        bounds = schema.keys() & ALL_BOUNDS
        type_ = schema.get("type")
        expressed = BOUNDS.get(type_, ()) if isinstance(type_, str) else ()
        self._shape.why |= bounds - set(expressed)

    def _without(self, keyword: str, schema: Schema, depth: int) -> Schema:
        self._because(keyword)
        return self._any({name: value for name, value in schema.items() if name != keyword}, depth + 1)

    def _reference(self, schema: Schema, depth: int) -> Schema:
        reference = schema["$ref"]
        if not isinstance(reference, str) or self._resolve(reference) is None:
            self._because("$ref")
            self._shape.outside.append(str(reference)[:MAX_TEXT])
            return {}
        if self._siblings(schema):
            self._because("$ref beside others")
        target = self._resolve(reference)
        if not (is_object(target) and "properties" in target):
            # Only objects become classes, so only they may refer to themselves.
            return self._inlined(reference, target, depth)
        if reference not in self._names:
            last = reference.rpartition("/")[2]
            self._names[reference] = unique(f"{self._shape.name}{class_word(last)}", self._taken)
            self._waiting.append(reference)
        return {"$ref": f"#/$defs/{self._names[reference]}"}

    def _inlined(self, reference: str, target: Any, depth: int) -> Schema:
        if depth > MAX_DEPTH // 2:
            raise Untypable("it refers to itself in a way that has no type")
        return self._any(target, depth + 1)

    def _siblings(self, schema: Schema) -> set[str]:
        return {name for name in schema if name in INEXACT or name in ALL_BOUNDS or name in STRUCTURE}

    def _resolve(self, reference: str) -> Any:
        """Return what a reference within the schema leads to, None if it leads nowhere or out of it."""
        if not reference.startswith("#") or len(reference) > MAX_TEXT:
            return None
        found: Any = self._root
        for token in reference[1:].split("/")[1:] if reference != "#" else ():
            key = token.replace("~1", "/").replace("~0", "~")
            if is_object(found) and key in found:
                found = found[key]
            elif is_list(found) and key.isdecimal() and len(key) < 6 and int(key) < len(found):
                found = found[int(key)]
            else:
                return None
        if reference[1:2] not in ("", "/"):
            return None
        return found if is_object(found) or isinstance(found, bool) else None

    def _choice(self, schema: Schema, depth: int) -> Schema:
        values = [schema["const"]] if "const" in schema else schema["enum"]
        others = {name: value for name, value in schema.items() if name not in ("const", "enum")}
        if self._siblings(others) - {"type"} or not are_of(values, others.get("type")):
            self._because("enum beside others")
        if not is_list(values) or not 0 < len(values) <= MAX_CHOICES:
            self._because("enum")
            return self._any(others, depth + 1)
        chosen = values
        if not all(is_choice(value) for value in chosen):
            self._because("enum")
            return self._any(others, depth + 1)
        if any(not isinstance(value, str) for value in chosen if value is not None):
            self._because("enum of numbers")
        texts = [value for value in chosen if value is not None]
        if not texts:
            return {"type": "null"}
        return or_null({"enum": texts}) if len(texts) < len(chosen) else {"enum": texts}

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
        found = [self._any(member, depth + 1) for member in members]
        if any(not member for member in found):
            return {}
        return found[0] if len(found) == 1 else {"anyOf": found}

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
        found: Schema = {"type": "array", **self._bounds("array", schema)}
        if "prefixItems" in schema or is_list(items):
            self._because("prefixItems")
            items = True
        shown = self._any(items, depth + 1)
        return {**found, "items": shown} if shown else found

    def _bounds(self, type_: str, schema: Schema) -> Schema:
        found: Schema = {}
        for name in BOUNDS[type_]:
            bound = schema.get(name)
            if bound is None:
                continue
            if isinstance(bound, int) and not isinstance(bound, bool) and abs(bound) < MAX_INTEGER:
                found[name] = bound
            else:
                self._because(name)
        return found

    def _object(self, schema: Schema, depth: int) -> Schema:
        properties = schema.get("properties")
        members = properties if is_object(properties) else {}
        required = [name for name in texts(schema.get("required")) if len(name) <= MAX_TEXT]
        if "required" in schema and required != schema["required"]:
            self._because("required")
        if not members and not required:
            return self._map(schema, depth)
        if any(len(name) > MAX_TEXT for name in members):
            raise Untypable("a property has too long a name")
        additional = schema.get("additionalProperties", True)
        if "patternProperties" in schema or not isinstance(additional, bool):
            self._because("additionalProperties")
            additional = True
        found: Schema = {}
        for name in [*members, *(name for name in required if name not in members)]:
            shown = self._any(members.get(name, True), depth + 1)
            optional = name not in required and not self._admits_null(members.get(name, True), 0)
            found[name] = {**shown, NOT_NULL: True} if optional else shown
        return {
            "type": "object",
            "properties": found,
            "required": required,
            **({} if additional else {"additionalProperties": False}),
        }

    def _map(self, schema: Schema, depth: int) -> Schema:
        additional = schema.get("additionalProperties", True)
        if additional is False:
            self._because("no properties")
        if "patternProperties" in schema or isinstance(additional, bool):
            return {"type": "object", "additionalProperties": True}
        shown = self._any(additional, depth + 1)
        return {"type": "object", "additionalProperties": shown or True}

    def _merged(self, schema: Schema, seen: tuple[str, ...]) -> Schema:
        """Return one schema for a schema and those that all must hold with it, as far as they are objects."""
        self._nodes += 1
        if self._nodes > MAX_NODES:
            raise Untypable("it is too large, or nested too deep")
        parts: list[Any] = [{name: value for name, value in schema.items() if name not in ("allOf", "$ref")}]
        reference = schema.get("$ref")
        if isinstance(reference, str) and reference not in seen and len(seen) < MAX_DEPTH:
            target = self._resolve(reference)
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

    def _admits_null(self, node: Any, depth: int) -> bool:
        """Whether null may be valid; in doubt it is."""
        if node is False:
            return False
        self._looks += 1
        if not is_object(node) or depth > MAX_DEPTH or self._looks > MAX_NODES:
            return True
        schema = node
        type_ = schema.get("type")
        if (isinstance(type_, str) and type_ != "null") or (is_list(type_) and "null" not in type_):
            return False
        if "const" in schema and schema["const"] is not None:
            return False
        values = schema.get("enum")
        if is_list(values) and None not in values:
            return False
        for keyword, decide in (("anyOf", any), ("oneOf", any), ("allOf", all)):
            members = schema.get(keyword)
            nullable = (self._admits_null(member, depth + 1) for member in members) if is_list(members) else ()
            if is_list(members) and members and not decide(nullable):
                return False
        reference = schema.get("$ref")
        target = self._resolve(reference) if isinstance(reference, str) else None
        return True if target is None else self._admits_null(target, depth + 1)
