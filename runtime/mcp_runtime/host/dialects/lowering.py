"""Lowering: a tool's JSON Schema as a provider's models accept it, with a report of what was lost on the way.

A schema is seen as a conjunction of fragments, each with its place: references are followed and ``allOf`` is flattened,
so that every keyword has one meaning. The fragments are then written again with the keywords of the dialect. What
cannot be written is narrowed if values remain that the tool accepts, and otherwise lost and reported: what the result
accepts is valid for the schema without the keywords that were lost.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from math import ceil, floor, inf, prod
from typing import Any, Final

from mcp_runtime.core.json.text import MAX_DEPTH
from mcp_runtime.core.json.values import is_array, is_object
from mcp_runtime.host.dialects.dialect import ANNOTATIONS, APPLIED, CONSTRAINTS, Dialect, Loss, Lowered
from mcp_runtime.host.dialects.reading import (
    COPIED,
    MAX_LEVELS,
    MAX_STEPS,
    VISITED,
    Described,
    Fragment,
    Fragments,
    Inexpressible,
    Reader,
    below,
    common,
    fits,
    items_of,
    modern,
    property_name,
    required_of,
    types,
)
from mcp_runtime.json_schema.keywords import MEANT
from mcp_runtime.json_schema.meter import Meter, TooManySteps, canonical, weight_of

_MAX_BRANCHES: Final = 32
"""How many alternatives one value may have."""
_UNIONS: Final = frozenset(("anyOf", "oneOf"))
_TYPES: Final[tuple[str, ...]] = ("object", "array", "string", "integer", "number", "boolean", "null")
_UPPER: Final = frozenset(("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"))


class _Writer(Reader):
    """Writes fragments in a dialect."""

    def __init__(self, root: Mapping[str, Any], dialect: Dialect, meter: Meter) -> None:
        super().__init__(root, meter)
        self.definitions: dict[str, Any] = {}
        self._dialect = dialect
        self._names: dict[str, str] = {}
        self._values: dict[int, dict[str, Any]] = {}
        self._properties = self._enumerated = 0

    def root_schema(self) -> dict[str, Any]:
        """Return the whole schema: always one object, since no provider takes alternatives at the top."""
        fragments = self.fragments("", self.root)
        branches = list(self.branches(fragments))
        if len(branches) > 1:
            self.lose(fragments, *_UNIONS, reason="alternatives at the top are joined")
        written = self.object(branches, 0, frozenset(at for at, _ in fragments))
        if self._dialect.is_verbatim:
            kept = {
                word: self.verbatim(f"/{word}", {"properties": self.root[word]})["properties"]
                for word in ("$defs", "definitions")
                if is_object(self.root.get(word))
            }
            return written | kept
        return written | ({"$defs": self.definitions} if self.definitions else {})

    def lose(self, fragments: Fragments, *keywords: str, reason: str) -> None:
        """Report keywords as lost, where there are."""
        self.meter.spend(len(fragments))
        for pointer, schema in fragments:
            self.lost += [Loss(pointer=pointer, keyword=word, reason=reason) for word in keywords if word in schema]

    def branches(self, fragments: Fragments, depth: int = 0) -> Iterator[Fragments]:
        """Iterate over the alternatives of a conjunction, each without ``anyOf`` and ``oneOf``."""
        if depth > MAX_DEPTH:
            raise Inexpressible("alternatives that lead back to themselves")
        unions: list[list[Fragments]] = []
        for one, keyword, options in self.unions(fragments):
            if prod(map(len, unions)) * len(options) > _MAX_BRANCHES:
                self.lose((one,), keyword, reason="too many alternatives")
                continue
            if keyword == "oneOf":
                self.lose((one,), keyword, reason="several may match")
            unions.append(options)
        plain = tuple(Fragment(at, {k: v for k, v in one.items() if k not in _UNIONS}) for at, one in fragments)
        for chosen in product(*unions):
            self.meter.spend(1 + len(plain))
            inner = tuple(fragment for option in chosen for fragment in option)
            if _UNIONS & {word for one in inner for word in one.schema}:
                yield from self.branches((*plain, *inner), depth + 1)
            else:
                yield (*plain, *inner)

    def value(self, fragments: Fragments, depth: int, seen: frozenset[str]) -> dict[str, Any]:
        """Return the schema of a value."""
        if depth > MAX_LEVELS:
            raise Inexpressible(f"values in more than {MAX_LEVELS} levels")
        written: list[dict[str, Any]] = []
        for branch in self.branches(fragments):
            for type_ in self.types_of(branch):
                one = self.once(written, partial(self.typed, type_, branch, depth, seen))
                if one.get("enum") != [] and one not in written:
                    written.append(one)
        found = self.union(written)
        described = [fragment.schema["description"] for fragment in fragments if "description" in fragment.schema]
        return {**found, "description": described[-1]} if described and "$ref" not in found else found

    def once(self, written: Sequence[Any], write: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Return the next of several alternatives, which the caller compares with those before it."""
        used = self.meter.used
        found = write()
        self.meter.spend(1 + len(written) * (self.meter.used - used) // VISITED)
        return found

    def union(self, options: list[dict[str, Any]]) -> dict[str, Any]:
        """Return what accepts each of several schemas."""
        rest = [option for option in options if option != {"type": "null"}]
        if not rest and options and self._dialect.null == "nullable":
            raise Inexpressible("null alone")
        if len(rest) < 2 and options:
            found = rest[0] if rest else options[0]
        elif rest:
            found = {"anyOf": rest}
        else:
            raise Inexpressible("a schema that accepts nothing")
        return self.nullable(found) if len(rest) < len(options) and rest else found

    def nullable(self, schema: dict[str, Any]) -> dict[str, Any]:
        """Return what also accepts null."""
        if self._dialect.null == "nullable":
            return {**schema, "nullable": True}
        if "anyOf" in schema:
            options = schema["anyOf"]
            return schema if {"type": "null"} in options else {**schema, "anyOf": [*options, {"type": "null"}]}
        if isinstance(schema.get("type"), str) and schema["type"] != "null":
            enumerated = {"enum": [*schema["enum"], None]} if "enum" in schema else {}
            return {**schema, "type": [schema["type"], "null"], **enumerated}
        return schema if "type" in schema else {"anyOf": [schema, {"type": "null"}]}

    def types_of(self, fragments: Fragments) -> list[str]:
        """Return the JSON types that a conjunction without alternatives accepts; one for any value: ``any``."""
        found: set[str] | None = None
        for _, schema in fragments:
            self.meter.spend(1 + len(items_of(schema.get("enum"))) // VISITED)
            for given in types(schema):
                found = given if found is None else common(found, given)
        if found is not None:
            return [name for name in _TYPES if name in found and not (name == "integer" and "number" in found)]
        meant = {MEANT[word] for _, schema in fragments for word in schema if word in MEANT}
        return [name for name in _TYPES if name in meant][:1] or ["any"]

    def typed(self, type_: str, fragments: Fragments, depth: int, seen: frozenset[str]) -> dict[str, Any]:
        """Return the schema of a value of one type."""
        if type_ == "any":
            return self.any(fragments)
        if type_ == "object":
            return self.object([fragments], depth, seen)
        written: dict[str, Any] = {"type": type_}
        enumerated = self.enumerated(type_, fragments)
        if enumerated is not None:
            written["enum"] = enumerated
        if type_ == "array":
            written["items"] = self.items(fragments, depth, seen)
        return written | self.constraints(type_, fragments)

    def any(self, fragments: Fragments) -> dict[str, Any]:
        """Return what accepts as much as possible."""
        if not self._dialect.has_any:
            raise Inexpressible("any value")
        self.constraints("any", fragments)
        return {"anyOf": [{"type": "string"}, {"type": "number"}, {"type": "boolean"}]}

    def enumerated(self, type_: str, fragments: Fragments) -> list[Any] | None:
        """Return the values of one type that are enumerated; None if they are not, or cannot be."""
        lists = [self.values(one) for _, one in fragments if "const" in one or is_array(one.get("enum"))]
        if not lists or type_ == "null":
            return None
        first, *rest = lists
        self.meter.spend(len(first) * len(lists) // VISITED)
        kept = [one for key, one in first.items() if fits(one, type_) and all(key in other for other in rest)]
        if not self._dialect.has_empty_value and "" in kept:
            kept = [one for one in kept if one != ""]
            if not kept:
                self.lose(fragments, "const", "enum", reason="the empty string cannot be enumerated")
                return None
        self._enumerated += len(kept)
        if type_ in self._dialect.enums and self._enumerated <= (self._dialect.max_enum or self._enumerated):
            return kept
        self.lose(fragments, "const", "enum", reason=f"values of the type {type_} cannot be enumerated")
        return None

    def values(self, schema: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the values of ``const`` or ``enum`` by a text that equal ones share; true is not 1."""
        listed = [schema["const"]] if "const" in schema else schema["enum"]
        found = self._values.get(id(listed))
        if found is None:
            self.meter.spend(weight_of(listed))
            found = dict[str, Any]()
            for value in listed:
                found.setdefault(canonical(value), value)
            if "const" not in schema:  # which lives as long as the schema
                self._values[id(listed)] = found
        return found

    def items(self, fragments: Fragments, depth: int, seen: frozenset[str]) -> dict[str, Any]:
        """Return the schema of the items of an array."""
        if any("prefixItems" in schema for _, schema in fragments):
            self.lose(fragments, "prefixItems", "items", reason="items have no types by position")
            options = [
                self.value(self.fragments(f"{pointer}/prefixItems/{number}", item), depth + 1, seen)
                for pointer, schema in fragments
                for number, item in enumerate(items_of(schema.get("prefixItems")))
            ]
            return self.union([one for number, one in enumerate(options) if one not in options[:number]])
        return self.conjunction(
            [(f"{at}/items", found["items"]) for at, found in fragments if "items" in found], depth + 1, seen
        )

    def conjunction(self, schemas: Sequence[tuple[str, Any]], depth: int, seen: frozenset[str]) -> dict[str, Any]:
        """Return the schema of a value that several schemas describe; a reference alone may stay one."""
        if self._dialect.is_verbatim:
            copies = [self.verbatim(at, schema) for at, schema in schemas]
            return copies[0] if len(copies) == 1 else {"allOf": copies}
        if self._dialect.has_references and len(schemas) == 1 and is_object(schemas[0][1]) and "$ref" in schemas[0][1]:
            found = self.target(schemas[0][1]["$ref"])
            if found is not None and not (schemas[0][1].keys() - ANNOTATIONS - {"$ref"}):
                return self.reference(*found, depth)
        fragments = tuple(fragment for at, schema in schemas for fragment in self.fragments(at, schema))
        places = frozenset(at for at, schema in fragments if schema)
        if places & seen:
            if self._dialect.has_references and len(schemas) == 1:
                return self.reference(*schemas[0], depth)
            self.lost.append(Loss(pointer=schemas[0][0], keyword="$ref", reason="the type contains itself"))
            return self.any(())
        return self.value(fragments, depth, seen | places)

    def verbatim(self, pointer: str, schema: Any) -> Any:
        """Return a copy of a schema in which properties have names that models can write."""
        self.meter.spend(1 + len(pointer) // COPIED)
        if is_array(schema):
            return [self.verbatim(f"{pointer}/{number}", item) for number, item in enumerate(schema)]
        if not is_object(schema):
            return schema
        if "$ref" in schema and self.target(schema["$ref"]) is None:
            self.lose((Fragment(pointer, schema),), "$ref", reason="leads out of the schema")
            schema = {word: value for word, value in schema.items() if word != "$ref"}
        copy: dict[str, Any] = {}
        for word, value in schema.items():
            at = below(pointer, word)
            if word == "properties" and is_object(value):
                copy[word] = {
                    property_name(name): self.verbatim(below(at, name), inner) for name, inner in value.items()
                }
            elif word == "required" and is_array(value):
                copy[word] = [property_name(str(name)) for name in value]
            else:
                copy[word] = value if word in ("enum", "const", "default", "examples") else self.verbatim(at, value)
            if word == "oneOf" and copy[word] != value:
                self.lose((Fragment(pointer, schema),), word, reason="with other names, several may match")
        if self._dialect.needs_items and any("array" in given for given in types(schema)):
            if copy.get("items") is False:
                self.lose((Fragment(pointer, schema),), "items", reason="more items are allowed")
            copy["items"] = copy["items"] if is_object(copy.get("items")) else {}
        return copy

    def reference(self, pointer: str, schema: Any, depth: int) -> dict[str, Any]:
        """Return a reference to a definition, which is written once."""
        name = self._names.get(pointer)
        if name is None:
            base = re.sub(r"[^A-Za-z0-9_]+", "_", pointer.rpartition("/")[2])[:40] or "root"
            name = self._names[pointer] = base if base not in self.definitions else f"{base}_{len(self._names)}"
            self.definitions[name] = {}
            self.definitions[name] = self.conjunction([(pointer, schema)], depth, frozenset())
        return {"$ref": f"#/$defs/{name}"}

    def object(self, branches: Sequence[Fragments], depth: int, seen: frozenset[str]) -> dict[str, Any]:
        """Return the schema of an object; of several alternatives, what all of them fit."""
        if depth >= (self._dialect.max_depth or MAX_DEPTH):
            raise Inexpressible(f"objects in more than {self._dialect.max_depth or MAX_DEPTH} levels")
        objects = [Described(branch, self.meter) for branch in branches]
        names = list(dict.fromkeys(name for one in objects for name in one.names(has_any=self._dialect.has_any)))
        self._properties += len(names)
        if self._properties > (self._dialect.max_properties or self._properties):
            raise Inexpressible(f"more than {self._dialect.max_properties} properties")
        required = set[str].intersection(*map(required_of, branches))
        is_free = any(schema.get("additionalProperties", True) is not False for _, schema in branches[0])
        if not names and depth and (is_free or self._dialect.has_any):  # verbatim dialects never get here
            return self.free(branches[0])
        properties: dict[str, Any] = {}
        for name in names:
            options: list[dict[str, Any]] = []
            for described in objects:
                if schemas := described.schemas(name):
                    one = self.once(options, partial(self.conjunction, schemas, depth + 1, seen))
                    options += [] if one in options else [one]
            found = self.union(options) if options else self.any(())
            is_optional = self._dialect.is_closed and name not in required
            properties[property_name(name)] = self.nullable(found) if is_optional else found
        written: dict[str, Any] = {"type": "object", "properties": properties}
        missing = required - set(names)
        if missing and not self._dialect.is_verbatim:
            raise Inexpressible(f"a required property that is not described: {min(missing)}")
        listed = [property_name(name) for name in names if self._dialect.is_closed or name in required]
        listed += sorted(map(property_name, missing))
        if listed or self._dialect.is_closed:
            written["required"] = listed
        if self._dialect.is_closed:
            written["additionalProperties"] = False
        for branch in branches:
            self.enumerated("object", branch)
            written |= self.constraints("object", branch)
        return written

    def free(self, fragments: Fragments) -> dict[str, Any]:
        """Return what stands for an object with any properties: the text of it, as JSON."""
        if not self._dialect.has_any:
            raise Inexpressible("an object with any properties")
        self.lose(
            fragments, *CONSTRAINTS, "type", "required", "properties", reason="the object is written as JSON text"
        )
        return {"type": "string", "description": "A JSON object, as text."}

    def constraints(self, type_: str, fragments: Fragments) -> dict[str, Any]:
        """Return the other keywords for values of one type; what the dialect lacks is lost."""
        known = self._dialect.keywords.get(type_, frozenset[str]())
        written: dict[str, Any] = {}
        for pointer, schema in fragments:
            self.meter.spend(1 + len(schema) // VISITED)
            for name, given in schema.items():
                word, value = _whole(name, given) if type_ == "integer" and name not in known else (name, given)
                if word in APPLIED or word in ANNOTATIONS or word.startswith("x-"):
                    continue
                if word == "additionalProperties" and self._dialect.is_closed:
                    continue
                if word in MEANT and not _concerns(word, type_):
                    continue
                fits = word in known and (word != "format" or value in self._dialect.formats)
                both = word in written and written[word] != value
                if not fits or (both and not isinstance(value, int | float)):
                    self.lost.append(
                        Loss(pointer=pointer, keyword=name, reason=f"{self._dialect.name} has no such rule")
                    )
                elif both:
                    written[word] = (min if word in _UPPER else max)(written[word], value)
                else:
                    written[word] = value
        return written


def _whole(word: str, value: Any) -> tuple[str, Any]:
    """Return an exclusive limit of an integer as an inclusive one; other keywords stay as they are."""
    if isinstance(value, bool) or not isinstance(value, int | float) or value in (inf, -inf):
        return word, value
    if word == "exclusiveMinimum":
        return "minimum", floor(value) + 1
    return ("maximum", ceil(value) - 1) if word == "exclusiveMaximum" else (word, value)


def _concerns(word: str, type_: str) -> bool:
    return type_ == "any" or MEANT[word] == ("number" if type_ == "integer" else type_)


def lower(schema: Mapping[str, Any], dialect: Dialect, meter: Meter | None = None) -> Lowered:
    """Return a tool's schema in the terms of a dialect.

    Args:
        schema: the schema.
        dialect: the rules of the provider.
        meter: counts the steps; by default at most 20,000.

    Raises:
        Inexpressible: the dialect cannot express it at all, or reading it takes too many steps.
    """
    meter = meter or Meter(MAX_STEPS)
    try:
        writer = _Writer(modern(schema, meter), dialect, meter)
        written = writer.root_schema()
    except (TooManySteps, RecursionError, ValueError):
        raise Inexpressible("a schema that takes this many steps to read") from None
    return Lowered(schema=written, losses=tuple(dict.fromkeys(writer.lost)), is_strict=dialect.is_closed)
