"""What a modern-era request repeats in its headers, so that proxies can route it without reading its body.

The names of the headers, the encoding of their values, and which tool parameters have one (2026-07-28,
basic/transports/streamable-http, "Request Metadata"). `server.modern` compares them with the body.
"""

import base64
import binascii
import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any, Final, NamedTuple

from mcp_runtime.core.json.values import is_array, is_object
from mcp_runtime.core.protocol.names import PROMPTS_GET, RESOURCES_READ, TOOLS_CALL

VERSION: Final = "mcp-protocol-version"
METHOD: Final = "mcp-method"
NAME: Final = "mcp-name"
PARAMETER: Final = "mcp-param-"
"""The prefix of the headers for tool parameters."""
ANNOTATION: Final = "x-mcp-header"
"""The property of a parameter's schema that names its header."""
NAMED: Final[Mapping[str, str]] = {PROMPTS_GET: "name", RESOURCES_READ: "uri", TOOLS_CALL: "name"}
"""Methods whose requests have the header `NAME`, and the property of their params that it repeats."""

_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_PLAIN: Final = re.compile(r"[\x20-\x7e]*")
_PREFIX: Final = "=?base64?"
_SUFFIX: Final = "?="
_DECIMAL: Final = re.compile(r"-?[0-9]{1,400}(\.[0-9]{1,400})?")
_TYPES: Final = ("boolean", "integer", "string")


def encode(value: str) -> str:
    """Encode a text as the value of a header: as it is, or in Base64 if a header cannot contain it."""
    if _PLAIN.fullmatch(value) and value == value.strip(" ") and not _is_encoded(value):
        return value
    return f"{_PREFIX}{base64.b64encode(value.encode()).decode()}{_SUFFIX}"


def decode(value: str) -> str:
    """Decode the value of a header that may be in Base64.

    Raises:
        ValueError: it contains characters that headers must not, or is not the Base64 of UTF-8 text.
    """
    if not _PLAIN.fullmatch(value.replace("\t", " ")):
        raise ValueError("contains characters that are not allowed in a header")
    if not _is_encoded(value):
        return value
    encoded = value[len(_PREFIX) : -len(_SUFFIX)]
    try:
        decoded = base64.b64decode(encoded, validate=True)
        text = decoded.decode()
    except (binascii.Error, UnicodeDecodeError):
        raise ValueError("is not the Base64 of a text in UTF-8") from None
    # Unused bits that are set would give one value several encodings.
    if base64.b64encode(decoded).decode() != encoded:
        raise ValueError("is not the Base64 of a text in UTF-8")
    return text


def _is_encoded(value: str) -> bool:
    return value.startswith(_PREFIX) and value.endswith(_SUFFIX) and len(value) >= len(_PREFIX) + len(_SUFFIX)


class Parameter(NamedTuple):
    """A tool parameter that is repeated in a header.

    Attributes:
        header: the name of the header, in lower case.
        path: the names of the properties that lead to it in the arguments.
        type: its type in the schema: ``string``, ``integer`` or ``boolean``.
    """

    header: str
    path: tuple[str, ...]
    type: str

    def value_in(self, arguments: Any) -> Any:
        """Return its value in the arguments of a call, or None."""
        value = arguments
        for name in self.path:
            value = value.get(name) if is_object(value) else None
        return value

    def text_of(self, value: Any) -> str | None:
        """Return the text of a value before it is encoded; None if no header can express it."""
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, str):
            return value
        return format(Decimal(value), "f") if isinstance(value, int | float) else None

    def matches(self, text: str, value: Any) -> bool:
        """Whether a decoded header matches a value in the arguments; integers are compared as numbers."""
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if self.type == "integer" and is_number and _DECIMAL.fullmatch(text):
            return Decimal(text) == Decimal(value)
        return text == self.text_of(value)


def parameters(schema: Any) -> tuple[Parameter, ...]:
    """Return the tool parameters that are repeated in headers, from an ``inputSchema``.

    Raises:
        ValueError: the schema names a header where it must not, or an invalid one.
    """
    found: dict[str, Parameter] = {}
    for path, annotated in _annotated(schema):
        where = ".".join(path or ()) or "the schema itself"
        if not path:
            raise ValueError(f"{ANNOTATION} is only allowed on parameters reached through `properties` alone")
        name, type_ = annotated[ANNOTATION], annotated.get("type")
        if not isinstance(name, str) or not _TOKEN.fullmatch(name):
            raise ValueError(f"the {ANNOTATION} of {where} is not the name of a header")
        if type_ not in _TYPES:
            raise ValueError(f"{where} has an {ANNOTATION}, so its type must be one of {', '.join(_TYPES)}")
        header = f"{PARAMETER}{name.lower()}"
        if header in found:
            raise ValueError(f"two parameters have the {ANNOTATION} {name}")
        found[header] = Parameter(header, path, type_)
    return tuple(found.values())


def _annotated(schema: Any) -> Iterator[tuple[tuple[str, ...] | None, dict[str, Any]]]:
    """Iterate over the schemas with the annotation, each with its path; None where it is not allowed."""
    waiting: list[tuple[tuple[str, ...] | None, Any]] = [((), schema)]
    while waiting:
        path, held = waiting.pop()
        if not is_object(held):
            continue
        if ANNOTATION in held:
            yield path, held
        for keyword, value in held.items():
            if keyword == "properties" and is_object(value):
                waiting += [(None if path is None else (*path, name), one) for name, one in value.items()]
            elif keyword in _SCHEMAS:
                waiting += [(None, one) for one in (value if is_array(value) else [value])]
            elif keyword in _NAMED_SCHEMAS and is_object(value):
                waiting += [(None, one) for one in value.values()]


_SCHEMAS: Final = frozenset(
    """additionalProperties allOf anyOf contains contentSchema else if items not oneOf prefixItems propertyNames then
    unevaluatedItems unevaluatedProperties""".split()
)
"""The JSON Schema keywords whose values are schemas, or lists of them; others contain data."""
_NAMED_SCHEMAS: Final = frozenset(("$defs", "definitions", "dependentSchemas", "patternProperties"))
"""The JSON Schema keywords whose values are objects of schemas."""
