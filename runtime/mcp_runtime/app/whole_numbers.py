"""Numbers such as 1.0 where a schema asks for an integer: JSON Schema accepts them, pydantic's strict mode does not."""

from collections.abc import Iterable, Mapping
from itertools import chain, repeat, zip_longest
from operator import is_
from typing import Any, Final

from mcp_runtime.protocol.jsonrpc import is_array, is_object

_EXACT: Final = 2.0**53
"""Beyond this, floats are not exact integers, and an integer would have many more digits than its sender wrote."""

_Schema = Mapping[str, Any]


class WholeNumbers:
    """Converts numbers without a fraction to integers where a schema asks for integers.

    All schemas of a place are applied together, so that nested choices do not multiply.

    Args:
        schema: the JSON Schema (2020-12) of the values, as pydantic writes it.
    """

    def __init__(self, schema: _Schema) -> None:
        self._definitions: _Schema = schema.get("$defs", {})
        self._schemas = self._choices([schema])

    def convert(self, value: Any) -> Any:
        """Return the value with such integers; the same object if there is nothing to convert."""
        return self._convert(value, self._schemas)

    def _convert(self, value: Any, schemas: tuple[_Schema, ...]) -> Any:
        if not schemas:
            return value
        if isinstance(value, float):
            if value.is_integer() and abs(value) <= _EXACT and any(map(_takes_integers, schemas)):
                return int(value)
            return value
        if is_object(value):
            parts = {name: self._convert(inner, self._property(schemas, name)) for name, inner in value.items()}
            return value if all(parts[name] is value[name] for name in value) else parts
        if is_array(value):
            rest = self._choices(schema["items"] for schema in schemas if is_object(schema.get("items")))
            first = zip_longest(*(schema["prefixItems"] for schema in schemas if "prefixItems" in schema))
            places = (self._choices((*rest, *filter(None, stated))) for stated in first)
            items = list(map(self._convert, value, chain(places, repeat(rest))))
            return value if all(map(is_, items, value)) else items
        return value

    def _property(self, schemas: tuple[_Schema, ...], name: str) -> tuple[_Schema, ...]:
        stated = (schema.get("properties", {}).get(name, schema.get("additionalProperties")) for schema in schemas)
        return self._choices(schema for schema in stated if is_object(schema))

    def _choices(self, schemas: Iterable[_Schema]) -> tuple[_Schema, ...]:
        """Return the schemas with references resolved and choices spread."""
        found: dict[int, _Schema] = {}
        left = list(schemas)
        while left:
            schema = left.pop()
            if id(schema) in found:
                continue
            found[id(schema)] = schema
            left += [inner for key in ("anyOf", "oneOf", "allOf") for inner in schema.get(key, ())]
            if "$ref" in schema:
                left.append(self._definitions[schema["$ref"].rpartition("/")[2]])
        return tuple(found.values())


def _takes_integers(schema: _Schema) -> bool:
    constants = [schema["const"]] if "const" in schema else schema.get("enum", ())
    return schema.get("type") == "integer" or any(type(constant) is int for constant in constants)
