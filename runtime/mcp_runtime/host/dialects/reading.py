"""Reading a JSON Schema of any draft as conjunctions of fragments, each with its place.

References are followed and ``allOf`` is flattened, so that every keyword has one meaning.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from mcp_runtime.core.json.text import MAX_DEPTH
from mcp_runtime.core.json.values import is_array, is_object, spell_pointer, unescaped
from mcp_runtime.host.dialects.dialect import PROPERTY, Loss
from mcp_runtime.json_schema.meter import Meter

MAX_STEPS: Final = 20_000
"""How many steps reading a schema may take: references and alternatives can multiply a few without end."""
MAX_LEVELS: Final = 64
"""How deep values may be nested, and how many references and ``allOf`` may lead to each other."""
VISITED: Final = 16
"""How many keywords or properties are looked at in one step."""
COPIED: Final = 200
"""How many characters of names and pointers are copied in one step."""


class Inexpressible(Exception):
    """The dialect has no schema for it; the text says for what."""


class Fragment(NamedTuple):
    """A part of a conjunction: its JSON pointer, and the schema there, without ``$ref`` and ``allOf``."""

    pointer: str
    schema: Mapping[str, Any]


Fragments = tuple[Fragment, ...]


def property_name(name: str) -> str:
    """Return a name of a property as every model can write it; altered names end with a digest."""
    if PROPERTY.fullmatch(name):
        return name
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{re.sub(r'[^A-Za-z0-9_.-]+', '_', name)[:50]}_{digest}"


def type_of(value: object) -> str:
    """Return the JSON type of a value."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "integer" if value.is_integer() else "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"


def modern(schema: Any, meter: Meter | None = None, depth: int = 0) -> Any:
    """Return a schema of any draft in the terms of draft 2020-12.

    Raises:
        Inexpressible: it is nested too deeply.
        TooManySteps: it is too large.
    """
    meter = meter or Meter(MAX_STEPS)
    if depth > MAX_DEPTH:
        raise Inexpressible("a schema that is nested this deeply")
    if is_array(schema):
        return [modern(item, meter, depth + 1) for item in schema]
    if not is_object(schema):
        return schema
    meter.spend(1)
    found = {
        name: value if name in ("enum", "const", "default", "examples") else modern(value, meter, depth + 1)
        for name, value in schema.items()
    }
    if is_array(found.get("items")):
        found["prefixItems"] = found.pop("items")
        if "additionalItems" in found:
            found["items"] = found.pop("additionalItems")
    for limit in ("Minimum", "Maximum"):
        flag = found.get(f"exclusive{limit}")
        if isinstance(flag, bool):
            del found[f"exclusive{limit}"]
            if flag and limit.lower() in found:
                found[f"exclusive{limit}"] = found.pop(limit.lower())
    return found


class Reader:
    """Reads a schema as fragments, and counts the steps; each method raises TooManySteps.

    Args:
        root: the schema.
        meter: counts the steps.
    """

    def __init__(self, root: Mapping[str, Any], meter: Meter) -> None:
        self.root = root
        self.lost: list[Loss] = []
        self.meter = meter

    def target(self, reference: object) -> tuple[str, Any] | None:
        """Return the place and the schema that a reference leads to; None if it leads out of the schema."""
        if not isinstance(reference, str) or not reference.startswith("#"):
            return None
        self.meter.spend(1 + len(reference) // COPIED)
        pointer, found = reference[1:], self.root
        for part in pointer.split("/")[1:]:
            key = unescaped(part).replace("%24", "$")
            inner: Any = found.get(key) if is_object(found) else None
            if inner is None and is_array(found) and key.isdigit() and int(key) < len(found):
                inner = found[int(key)]
            if inner is None:
                return None
            found = inner
        return (pointer, found) if not pointer or pointer.startswith("/") else None

    def fragments(self, pointer: str, schema: Any) -> Fragments:
        """Return the fragments of a schema."""
        return tuple(self._flat(pointer, schema, ()))

    def unions(self, fragments: Fragments) -> Iterator[tuple[Fragment, str, list[Fragments]]]:
        """Iterate over ``anyOf`` and ``oneOf``: whose they are, which it is, and the fragments of each alternative."""
        for one in fragments:
            for keyword in ("anyOf", "oneOf"):
                options = [
                    self.fragments(f"{one.pointer}/{keyword}/{number}", option)
                    for number, option in enumerate(items_of(one.schema.get(keyword)))
                    if option is not False
                ]
                if options:
                    yield one, keyword, options

    def _flat(self, pointer: str, schema: Any, seen: tuple[str, ...], depth: int = 0) -> Iterator[Fragment]:
        self.meter.spend(1 + depth // VISITED + len(pointer) // COPIED)
        if depth > MAX_LEVELS:
            raise Inexpressible("references in a chain of this length")
        if not is_object(schema):
            if schema is False:
                parent, _, keyword = pointer.rpartition("/")
                self.lost.append(Loss(pointer=parent, keyword=keyword, reason="accepts no value"))
            return
        self.meter.spend(len(schema) // VISITED)
        rest = {name: value for name, value in schema.items() if name not in ("$ref", "allOf")}
        if "$ref" in schema:
            found = self.target(schema["$ref"])
            if found is None or found[0] in seen:
                why = "leads out of the schema" if found is None else "leads back to itself"
                self.lost.append(Loss(pointer=pointer, keyword="$ref", reason=why))
            else:
                yield from self._flat(*found, (*seen, found[0]), depth + 1)
        yield Fragment(pointer, rest)
        for number, part in enumerate(items_of(schema.get("allOf"))):
            yield from self._flat(f"{pointer}/allOf/{number}", part, seen, depth + 1)


class Described:
    """The properties that a conjunction describes."""

    def __init__(self, fragments: Fragments, meter: Meter) -> None:
        self._meter = meter
        self._own: dict[str, list[tuple[str, Any]]] = {}
        self._required: list[str] = []
        self._others: list[tuple[str, Any, Mapping[str, Any]]] = []
        self._closed: list[Mapping[str, Any]] = []
        for pointer, schema in fragments:
            own, required = properties_of(schema), items_of(schema.get("required"))
            meter.spend(1 + (len(own) + len(required)) // VISITED)
            for name, inner in own.items():
                self._own.setdefault(name, []).append((below(pointer, "properties", name), inner))
            self._required += map(str, required)
            others = schema.get("additionalProperties")
            if is_object(others):
                self._others.append((below(pointer, "additionalProperties"), others, own))
            elif others is False and "patternProperties" not in schema:
                self._closed.append(own)

    def schemas(self, name: str) -> list[tuple[str, Any]]:
        """Return the schemas of a property, with their places."""
        self._meter.spend(1 + (len(self._others) + len(self._closed)) // VISITED + len(name) // COPIED)
        return self._own.get(name, []) + [(at, schema) for at, schema, own in self._others if name not in own]

    def names(self, *, has_any: bool) -> Iterator[str]:
        """Iterate over the names of the properties that an object may have."""
        for name in dict.fromkeys((*self._own, *self._required)):
            found = self.schemas(name)
            is_open = all(name in own for own in self._closed)
            if (found or has_any) and is_open and all(schema is not False for _, schema in found):
                yield name


def items_of(value: Any) -> Sequence[Any]:
    """Return a list as it is, and anything else as an empty one."""
    return value if is_array(value) else ()


def required_of(fragments: Fragments) -> set[str]:
    """Return the names of the properties that schemas require; anything but a string is left out."""
    return {name for _, schema in fragments for name in items_of(schema.get("required")) if isinstance(name, str)}


def properties_of(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the schemas of properties by name."""
    found = schema.get("properties")
    return found if is_object(found) else {}


def below(pointer: str, *names: str) -> str:
    """Return a JSON pointer with names appended."""
    return pointer + spell_pointer(names)


def types(schema: Mapping[str, Any]) -> Iterator[set[str]]:
    """Iterate over the sets of JSON types that the keywords of a schema allow; none if it allows all."""
    given = schema.get("type")
    if isinstance(given, str):
        yield {given}
    elif is_array(given):
        yield {name for name in given if isinstance(name, str)}
    if "const" in schema:
        yield {type_of(schema["const"])}
    elif is_array(schema.get("enum")):
        yield {type_of(value) for value in schema["enum"]}


def common(one: set[str], other: set[str]) -> set[str]:
    """Return the JSON types that two sets share; an integer is a number."""
    number = {"integer"} if {"integer", "number"} & one and {"integer", "number"} & other else set[str]()
    return (one & other) | number


def fits(value: object, type_: str) -> bool:
    """Whether a value has a JSON type."""
    found = type_of(value)
    return found == type_ or (found == "integer" and type_ == "number")
