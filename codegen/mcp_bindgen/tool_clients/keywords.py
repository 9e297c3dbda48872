"""The keywords of JSON Schema by what they mean to types, the limits of types, and what a schema says for people."""

import json
from collections.abc import Mapping
from typing import Any

from mcp_bindgen.json_values import is_list, is_object

MAX_DEPTH = 48
"""The maximum nesting depth of a schema that becomes types."""
MAX_NODES = 5_000
"""The maximum number of subschemas of a schema that becomes types."""
MAX_CHOICES = 500
"""The maximum number of values of an enum that becomes a Literal."""
MAX_TEXT = 1_000
"""How long a name or a value may be to become part of a type, in characters."""
MAX_INTEGER = 2**53
"""Bounds beyond it are left to jsonschema."""

INEXACT = frozenset(
    "not if then else dependencies dependentRequired dependentSchemas propertyNames patternProperties minProperties"
    " maxProperties uniqueItems contains minContains maxContains multipleOf pattern unevaluatedItems"
    " unevaluatedProperties additionalItems prefixItems $dynamicRef $recursiveRef".split()
)
BOUNDS: Mapping[str, tuple[str, ...]] = {
    "string": ("minLength", "maxLength"),
    "array": ("minItems", "maxItems"),
    **dict.fromkeys(("integer", "number"), ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")),
}
ALL_BOUNDS = frozenset(name for names in BOUNDS.values() for name in names)
STRUCTURE = frozenset("type properties required items additionalProperties enum const anyOf oneOf allOf".split())
"""Keywords that say what a value is made of."""


def texts(value: Any) -> list[str]:
    """Return the distinct strings of a list; empty if it is not a list."""
    return list(dict.fromkeys(item for item in value if isinstance(item, str))) if is_list(value) else []


def are_of(values: Any, type_: Any) -> bool:
    """Whether a type next to a list of values adds nothing to the list."""
    if type_ is None:
        return True
    return type_ == "string" and is_list(values) and all(isinstance(v, str) for v in values)


def is_choice(value: Any) -> bool:
    """Whether a value can be one of a Literal."""
    if isinstance(value, str):
        return len(value) <= MAX_TEXT
    return value is None or isinstance(value, bool) or (isinstance(value, int) and abs(value) < MAX_INTEGER)


MAX_DESCRIPTION = 4_000
"""How much of a description becomes documentation, in characters."""


def default(schema: object) -> str:
    """Return the default of a property, as JSON; empty if its schema has none."""
    return json.dumps(schema["default"]) if is_object(schema) and "default" in schema else ""


def description(schema: object) -> str:
    """Return the description in a schema; may be empty."""
    found = schema.get("description") if is_object(schema) else None
    return found.strip()[:MAX_DESCRIPTION] if isinstance(found, str) else ""
