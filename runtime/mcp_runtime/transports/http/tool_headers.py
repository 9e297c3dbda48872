"""Which arguments of a tool are repeated in HTTP headers: its schema says so, by `x-mcp-header`.

See basic/transports/streamable-http of 2026-07-28, "Custom Headers from Tool Parameters".
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from mcp_runtime.protocol.jsonrpc import is_array, is_object
from mcp_runtime.protocol.text import clipped

ANNOTATION: Final = "x-mcp-header"
PREFIX: Final = "mcp-param-"
MAX_INTEGER: Final = (1 << 53) - 1

_TOKEN: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_TYPES: Final = ("string", "integer", "boolean")
_SCHEMAS: Final = frozenset(
    ("additionalItems", "additionalProperties", "contains", "contentSchema", "else", "if", "items", "not")
) | {"allOf", "anyOf", "oneOf", "prefixItems", "propertyNames", "then", "unevaluatedItems", "unevaluatedProperties"}
"""The keywords of JSON Schema whose values are schemas, or lists of them."""
_NAMED_SCHEMAS: Final = frozenset(("$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties"))
"""The keywords whose values are schemas by name, `properties` aside."""


class BadAnnotation(ValueError):
    """A tool says in a way that is not allowed which of its arguments become headers; the text says what is wrong."""


@dataclass(frozen=True, slots=True)
class ToolHeader:
    """A header that repeats an argument of a tool.

    Attributes:
        name: its name in lower case: ``mcp-param-region``.
        path: the properties that lead to the argument, from the root.
        type: the type of the argument: ``string``, ``integer`` or ``boolean``.
    """

    name: str
    path: tuple[str, ...]
    type: str

    def value(self, arguments: Any) -> Any:
        """Return the argument, None if there is none."""
        for step in self.path:
            if not is_object(arguments):
                return None
            arguments = arguments.get(step)
        return arguments


def tool_headers(schema: Any) -> tuple[ToolHeader, ...]:
    """Return the headers for the arguments of a tool.

    Args:
        schema: the `inputSchema` of the tool.

    Raises:
        BadAnnotation: an annotation breaks the rules, which makes the whole tool invalid.
    """
    found: dict[str, ToolHeader] = {}
    for path, inner in _schemas(schema):
        if ANNOTATION in inner:
            header = _header(path, inner)
            if header.name in found:
                raise BadAnnotation(f"{_shown(path)}: another argument has the {ANNOTATION} {inner[ANNOTATION]!r} too")
            found[header.name] = header
    return tuple(found.values())


def text_of(value: Any) -> str | None:
    """Return how a header spells an argument; None if it has none that can be spelled.

    Raises:
        ValueError: it is an integer that many programs cannot read exactly.
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int):
        return None
    if abs(value) > MAX_INTEGER:
        raise ValueError(f"an integer in a header is at most {MAX_INTEGER:,} and at least {-MAX_INTEGER:,}")
    return str(value)


def _header(path: tuple[str, ...] | None, schema: Mapping[str, Any]) -> ToolHeader:
    name, type_ = schema[ANNOTATION], schema.get("type")
    if not path:
        raise BadAnnotation(f"{ANNOTATION} is not at a property that `properties` alone lead to")
    if not isinstance(name, str) or not _TOKEN.fullmatch(name):
        raise BadAnnotation(f"{_shown(path)}: {ANNOTATION} is not part of the name of a header")
    if type_ not in _TYPES:
        raise BadAnnotation(f"{_shown(path)}: {ANNOTATION} needs the type {', '.join(_TYPES[:-1])} or {_TYPES[-1]}")
    return ToolHeader(PREFIX + name.lower(), path, type_)


def _schemas(root: Any) -> Iterator[tuple[tuple[str, ...] | None, Mapping[str, Any]]]:
    """Iterate over a schema and those inside it, each with the properties that lead to it.

    The path is None if something else than `properties` leads there. What is not a schema is passed over, such as a
    default value, so that no value is taken for an annotation.
    """
    waiting: list[tuple[tuple[str, ...] | None, Any]] = [((), root)]
    while waiting:
        path, schema = waiting.pop()
        if not is_object(schema):
            continue
        yield path, schema
        for keyword, value in schema.items():
            if keyword == "properties" and is_object(value):
                waiting += [(None if path is None else (*path, name), inner) for name, inner in value.items()]
            elif keyword in _NAMED_SCHEMAS and is_object(value):
                waiting += [(None, inner) for inner in value.values()]
            elif keyword in _SCHEMAS:
                waiting += [(None, inner) for inner in (value if is_array(value) else [value])]


def _shown(path: tuple[str, ...] | None) -> str:
    return clipped("/".join(path or ()), 100)
