"""Reading a JSON Schema of any draft as conjunctions of fragments, each with its place.

References are followed and ``allOf`` is flattened, so that every keyword has one meaning.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from mcp_runtime.core.json_text import MAX_DEPTH
from mcp_runtime.core.protocol.jsonrpc import is_array, is_object
from mcp_runtime.host.dialects.dialect import PROPERTY, Loss

MAX_STEPS: Final = 20_000
"""How many schemas are read: references and alternatives can multiply a few without end."""


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


def modern(schema: Any, depth: int = 0) -> Any:
    """Return a schema of any draft in the terms of draft 2020-12.

    Raises:
        Inexpressible: it is nested too deeply.
    """
    if depth > MAX_DEPTH:
        raise Inexpressible("a schema that is nested this deeply")
    if is_array(schema):
        return [modern(item, depth + 1) for item in schema]
    if not is_object(schema):
        return schema
    found = {
        name: value if name in ("enum", "const", "default", "examples") else modern(value, depth + 1)
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
    """Reads a schema as fragments."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self.root = root
        self.lost: list[Loss] = []
        self._steps = 0

    def step(self) -> None:
        """Count a schema.

        Raises:
            Inexpressible: there are too many.
        """
        self._steps += 1
        if self._steps > MAX_STEPS:
            raise Inexpressible("a schema of this size")

    def target(self, reference: object) -> tuple[str, Any] | None:
        """Return the place and the schema that a reference leads to; None if it leads out of the schema."""
        if not isinstance(reference, str) or not reference.startswith("#"):
            return None
        pointer, found = reference[1:], self.root
        for part in pointer.split("/")[1:]:
            key = part.replace("~1", "/").replace("~0", "~").replace("%24", "$")
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

    def _flat(self, pointer: str, schema: Any, seen: tuple[str, ...]) -> Iterator[Fragment]:
        self.step()
        if not is_object(schema):
            if schema is False:
                parent, _, keyword = pointer.rpartition("/")
                self.lost.append(Loss(pointer=parent, keyword=keyword, reason="accepts no value"))
            return
        rest = {name: value for name, value in schema.items() if name not in ("$ref", "allOf")}
        if "$ref" in schema:
            found = self.target(schema["$ref"])
            if found is None or found[0] in seen:
                why = "leads out of the schema" if found is None else "leads back to itself"
                self.lost.append(Loss(pointer=pointer, keyword="$ref", reason=why))
            else:
                yield from self._flat(*found, (*seen, found[0]))
        yield Fragment(pointer, rest)
        for number, part in enumerate(items_of(schema.get("allOf"))):
            yield from self._flat(f"{pointer}/allOf/{number}", part, seen)


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
    return pointer + "".join(f"/{name.replace('~', '~0').replace('/', '~1')}" for name in names)


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


def among(value: object, values: Sequence[Any]) -> bool:
    """Whether a JSON value is one of several; true is not 1."""
    return any(type_of(value) == type_of(other) and value == other for other in values)
