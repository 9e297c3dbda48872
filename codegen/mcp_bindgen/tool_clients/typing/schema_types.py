"""JSON Schema -> definitions of the intermediate representation, and what these do not express.

Only structure becomes types: no patterns, no formats, no references out of the schema. What is omitted either has no
effect (annotations) or makes the types inexact: then jsonschema validates.
"""

from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias
from urllib.parse import unquote

from mcp_bindgen.ingest.json_keywords import ASSERTIONS, TYPES, find
from mcp_bindgen.ir.json_values import is_list, is_number, is_object
from mcp_bindgen.ir.nodes import (
    ANY,
    NULL,
    Alias,
    Bounds,
    Definition,
    Field,
    Kind,
    ListOf,
    Literal,
    MapOf,
    Primitive,
    Ref,
    Struct,
    TypeRef,
    Union,
)
from mcp_bindgen.tool_clients.typing.keywords import (
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
    default,
    description,
    is_choice,
    is_unknown,
    texts,
)
from mcp_bindgen.tool_clients.typing.names import MAX_NAME, MAX_WORD, alternative_words, class_word, unique
from mcp_bindgen.tool_clients.typing.unions import Untypable, any_of, distinct, refuse_explosions

Schema = dict[str, Any]
Form: TypeAlias = TypeRef | Struct
"""A type, or an object that has no name yet."""


@dataclass(slots=True)
class Types:
    """The types of one schema.

    Attributes:
        name: the definition of the schema itself.
        definitions: the schema, what it refers to, and the objects nested in them, by name.
        why: the keywords that the types do not express; without any, they accept exactly what the schema does.
        outside: references that lead out of the schema, and are never followed.
        unknown: keywords that have no effect, since JSON Schema has none of that name.
    """

    name: str
    definitions: dict[str, Definition] = field(default_factory=dict[str, Definition])
    why: set[str] = field(default_factory=set[str])
    outside: list[str] = field(default_factory=list[str])
    unknown: set[str] = field(default_factory=set[str])


def schema_types(schema: Any, name: str, taken: set[str]) -> Types:
    """Return the types of a schema of objects; `taken` are the class names in use, to which it adds its own.

    Raises:
        Untypable: it does not describe objects of a known form, or it is too large.
    """
    return _Reader(schema, name, taken).read()


class _Reader:
    def __init__(self, root: Any, name: str, taken: set[str]) -> None:
        self._root = root
        self._references = References(root)
        self._taken = taken
        self._is_old = is_object(root) and "draft-0" in str(root.get("$schema"))  # Then `prefixItems` has no effect.
        self._names: dict[str, str] = {"#": name}
        self._at = name
        self._waiting: list[str] = []
        self._nodes = 0
        self._types = Types(name=name)

    def read(self) -> Types:
        if not is_object(self._root):
            raise Untypable("the schema is not an object")
        self._define(self._types.name, self._whole(self._merged(self._root, ())), self._root)
        while self._waiting:
            reference = self._waiting.pop()
            target = self._target(reference)
            self._at = self._names[reference]
            self._define(self._at, self._any(target, 0), target)
        refuse_explosions(self._types.definitions)
        if not self._is_of_objects(Ref(name=self._types.name)):
            raise Untypable("it does not describe an object")
        return self._types

    def _define(self, name: str, form: Form, source: object) -> Ref:
        """Add a definition; `source` is the schema that it was read from."""
        doc = description(source)
        if isinstance(form, Struct):
            self._types.definitions[name] = replace(form, name=name, doc=doc)
        else:
            self._types.definitions[name] = Alias(name=name, type=form, doc=doc)
        return Ref(name=name)

    def _type(self, node: Any, depth: int, word: str = "") -> TypeRef:
        """Return the type of a schema; an object gets the name of its place, with a word for what it is there."""
        before = self._at
        self._at = at = f"{before[:MAX_NAME]}{word}"
        form = self._any(node, depth)
        self._at = before
        return self._define(unique(at, self._taken), form, node) if isinstance(form, Struct) else form

    def _whole(self, schema: Schema) -> Form:
        """Return the form of the root, which describes objects."""
        self._note_unread(schema)
        if is_list(types := schema.get("type")) and "object" in types:  # arguments are objects in any case
            schema = {**schema, "type": "object"}
            self._types.why |= {"type"} if len(types) > 1 else set()
        if schema.get("type", "object") != "object":
            raise Untypable("it does not describe an object")
        if schema.get("properties"):
            self._types.why |= schema.keys() & {"anyOf", "oneOf", "enum", "const"}
            return self._object(schema, 0)
        keyword = next((name for name in ("anyOf", "oneOf") if is_list(schema.get(name))), None)
        if keyword is not None:
            return self._union(keyword, schema, 0)
        if schema.get("additionalProperties") not in (None, True, False, {}) and not schema.get("required"):
            self._types.why |= schema.keys() & {"enum", "const"}
            return self._map(schema, 0)
        if "type" in schema and not schema.get("required") and schema.get("additionalProperties", False) is False:
            self._types.why |= schema.keys() & {"enum", "const"}
            return self._object({**schema, "properties": {}}, 0)
        raise Untypable("it declares no properties")

    def _is_of_objects(self, type_: TypeRef) -> bool:
        match type_:
            case Ref(name=name):
                found = self._types.definitions[name]
                return isinstance(found, Struct) or self._is_of_objects(found.type)
            case Union(members=members):
                return all(map(self._is_of_objects, members))
            case _:
                return isinstance(type_, MapOf)

    def _any(self, node: Any, depth: int) -> Form:
        """Return the form of a schema."""
        self._count(depth)
        if node is True:
            return ANY
        if not is_object(node):
            self._because("false" if node is False else "no schema")
            return ANY
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
        self._types.why.add(keyword)

    def _note_unread(self, schema: Schema) -> None:
        self._types.why |= schema.keys() & INEXACT
        self._types.unknown |= {word[:MAX_WORD] for word in schema if is_unknown(word)}
        if "$id" in schema and schema is not self._root:
            self._because("$id")
        type_ = schema.get("type")
        expressed = BOUNDS.get(type_, ()) if isinstance(type_, str) else ()
        self._types.why |= (schema.keys() & ALL_BOUNDS) - set(expressed)

    def _without(self, keyword: str, schema: Schema, depth: int) -> Form:
        self._because(keyword)
        return self._any({name: value for name, value in schema.items() if name != keyword}, depth + 1)

    def _reference(self, schema: Schema) -> TypeRef:
        reference = schema["$ref"]
        if self._target(reference) is None:
            self._because("$ref")
            self._types.outside.append(str(reference)[:MAX_TEXT])
            return ANY
        if self._siblings(schema):
            self._because("$ref beside others")
        if reference not in self._names:
            last = unquote(reference).rpartition("/")[2].rpartition("#")[2]
            self._names[reference] = unique(f"{self._types.name}{class_word(last)}", self._taken)
            self._waiting.append(reference)
        return Ref(name=self._names[reference])

    def _target(self, reference: object) -> Any:
        """Return the schema that a reference leads to, None if it has no target or is external."""
        pointer = self._references.pointer(reference)
        return None if pointer is None else find(self._root, pointer)

    def _siblings(self, schema: Schema) -> set[str]:
        return {name for name in schema if name in INEXACT or name in ALL_BOUNDS or name in STRUCTURE}

    def _every(self, schema: Schema, depth: int) -> Form:
        every = schema["allOf"]
        others = {name: value for name, value in schema.items() if name != "allOf"}
        if is_list(every) and len(every) == 1 and not self._siblings(others):
            return self._any(every[0], depth + 1)
        merged = self._merged(schema, ())
        return self._any(merged, depth + 1) if merged.get("properties") else self._without("allOf", schema, depth)

    def _choice(self, schema: Schema, depth: int) -> Form:
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
            return NULL
        literal = Literal(values=distinct(chosen))
        return any_of([literal, NULL]) if len(chosen) < len(values) else literal

    def _union(self, keyword: str, schema: Schema, depth: int) -> Form:
        members = schema[keyword]
        others = {name: value for name, value in schema.items() if name != keyword}
        whole = others.get("properties") or others.get("type", "object") != "object" or "anyOf" in others
        if whole or not is_list(members) or not members or len(members) > MAX_CHOICES:
            return self._without(keyword, schema, depth)
        if self._siblings(others):
            self._because(f"{keyword} beside others")
        if keyword == "oneOf":
            self._because("oneOf")
        if len(members) == 1:
            return self._any(members[0], depth + 1)
        return any_of(self._alternatives(members, depth + 1))

    def _alternatives(self, members: list[Any], depth: int) -> list[TypeRef]:
        """Return the types of alternatives; if several of them are objects, each gets a name that tells it apart."""
        objects = [one for one in members if is_object(one) and "$ref" not in one and is_object(one.get("properties"))]
        words = alternative_words(objects) if len(objects) > 1 else []
        named = {id(member): word for member, word in zip(objects, words, strict=False)}
        return [self._type(member, depth, named.get(id(member), "")) for member in members]

    def _typed(self, schema: Schema, depth: int) -> Form:
        type_ = schema.get("type")
        if type_ is None:
            type_ = "object" if schema.get("properties") else "array" if "items" in schema else None
            if type_:
                self._because("implied type")
        if is_list(type_):
            return self._several(type_, schema, depth)
        match type_:
            case "object":
                return self._object({**schema, "type": "object"}, depth)
            case "array":
                return self._array(schema, depth)
            case "string" | "integer" | "number":
                return Primitive(kind=Kind(type_), bounds=self._bounds(type_, schema))
            case "boolean" | "null":
                return Primitive(kind=Kind(type_))
            case None:
                if schema.get("required"):
                    self._because("required")
                return ANY
            case _:
                self._because("type")
                return ANY

    def _several(self, types: list[Any], schema: Schema, depth: int) -> Form:
        names = [name for name in types if isinstance(name, str) and name in TYPES]
        if len(names) != len(types) or not names:
            self._because("type")
            return ANY
        if len(set(names)) == 1:
            return self._typed({**schema, "type": names[0]}, depth + 1)
        return any_of([self._type({**schema, "type": name}, depth + 1) for name in dict.fromkeys(names)])

    def _array(self, schema: Schema, depth: int) -> TypeRef:
        items = schema.get("items", True)
        prefix = items if is_list(items) else None if self._is_old else schema.get("prefixItems")
        if prefix is not None:
            return self._tuple(prefix, schema, depth)
        return ListOf(item=self._type(items, depth + 1, "Item"), bounds=self._bounds("array", schema))

    def _tuple(self, prefix: Any, schema: Schema, depth: int) -> TypeRef:
        """Return an array whose first items have types of their own: a tuple if these are all of its items."""
        self._because("prefixItems")  # The types agree with jsonschema.
        rest = schema.get("additionalItems" if is_list(schema.get("items")) else "items", True)
        ends = rest is False or schema.get("maxItems") == (len(prefix) if is_list(prefix) else None)
        if not is_list(prefix) or not 0 < len(prefix) <= MAX_CHOICES or not ends:
            return ListOf(item=ANY)
        items = tuple(self._type(item, depth + 1) for item in prefix)
        is_whole = schema.get("minItems") == len(prefix)
        return ListOf(item=ANY, prefix=items) if is_whole else ListOf(item=any_of(items))

    def _bounds(self, type_: str, schema: Schema) -> Bounds:
        found: dict[str, Any] = {}
        for name in BOUNDS[type_]:
            bound = schema.get(name)
            if bound is None:
                continue
            if is_number(bound) and abs(bound) < MAX_INTEGER and (isinstance(bound, int) or type_ == "number"):
                found[ASSERTIONS[name][1]] = int(bound) if float(bound).is_integer() else bound
            else:
                self._because(name)
        return Bounds(**found)

    def _object(self, schema: Schema, depth: int) -> Form:
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
        needed = frozenset(required)
        fields: list[Field] = []
        for name in dict.fromkeys([*declared, *required]):
            stated = declared.get(name, True)
            type_ = self._type(stated, depth + 1, class_word(name))
            doc, value = description(stated), default(stated)
            fields.append(Field(wire_name=name, type=type_, required=name in needed, doc=doc, default=value))
        own = frozenset(each.wire_name for each in fields)
        return Struct(name="", fields=tuple(fields), own=own, extra=ANY if additional else None)

    def _map(self, schema: Schema, depth: int) -> TypeRef:
        additional = schema.get("additionalProperties", True)
        if additional is False:
            self._because("no properties")
        if "patternProperties" in schema or isinstance(additional, bool):
            return MapOf(value=ANY)
        return MapOf(value=self._type(additional, depth + 1, "Value"))

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
