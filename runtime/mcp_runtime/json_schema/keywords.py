"""The keywords of JSON Schema and the form of their arguments, in every dialect since draft 4.

A peer's schema is checked against this table: evaluating the dialect's own meta-schema takes a hundred times longer.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from mcp_runtime.core.errors import clipped
from mcp_runtime.core.json.values import is_array, is_object, spell_pointer

TYPES: Final = frozenset(("array", "boolean", "integer", "null", "number", "object", "string"))
"""The names of types."""


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_limit(value: object) -> bool:
    return _is_number(value) or isinstance(value, bool)  # a flag in draft 4


def _is_step(value: Any) -> bool:
    return _is_number(value) and value > 0


def _is_count(value: Any) -> bool:
    return _is_number(value) and value >= 0 and (isinstance(value, int) or value.is_integer())


def _are_texts(value: object) -> bool:
    return is_array(value) and all(isinstance(one, str) for one in value)


def _is_type(value: object) -> bool:
    names: list[Any] = value if is_array(value) else [value]
    return all(isinstance(name, str) and name in TYPES for name in names)


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_flag(value: object) -> bool:
    return isinstance(value, bool)


_HOLDING: Final = frozenset(
    "additionalItems additionalProperties contains else if items not propertyNames then unevaluatedItems"
    " unevaluatedProperties".split()
)
"""Keywords whose argument is a schema."""
_LISTING: Final = frozenset(("allOf", "anyOf", "oneOf", "prefixItems"))
"""Keywords whose argument is a list of schemas."""
_NAMING: Final = frozenset(("$defs", "definitions", "dependentSchemas", "patternProperties", "properties"))
"""Keywords whose argument is an object of schemas."""
_FORMS: Final[Mapping[str, tuple[Callable[[Any], bool], str]]] = {
    **dict.fromkeys(("$anchor", "$dynamicRef", "$id", "$recursiveRef", "$ref", "pattern"), (_is_text, "a text")),
    **dict.fromkeys(("exclusiveMaximum", "exclusiveMinimum"), (_is_limit, "a number")),
    **dict.fromkeys(("maximum", "minimum"), (_is_number, "a number")),
    **dict.fromkeys(
        "maxContains maxItems maxLength maxProperties minContains minItems minLength minProperties".split(),
        (_is_count, "a whole number of at least 0"),
    ),
    "dependencies": (is_object, "an object"),
    "dependentRequired": (is_object, "an object"),
    "enum": (is_array, "a list"),
    "multipleOf": (_is_step, "a number above 0"),
    "required": (_are_texts, "a list of texts"),
    "type": (_is_type, "the name of a type"),
    "uniqueItems": (_is_flag, "true or false"),
}
"""For other keywords, what their argument must be. Arguments of unknown keywords may be anything."""


def malformed(schema: Any) -> str:
    """Return where a schema has an argument of the wrong form, in one line; empty if it has none."""
    left: list[tuple[tuple[str, ...], Any]] = [((), schema)]
    while left:
        place, node = left.pop()
        if isinstance(node, bool):
            continue
        if not is_object(node):
            return _wrong(place, "a schema")
        for word, argument in node.items():
            at = (*place, word)
            if word in _FORMS:
                takes, form = _FORMS[word]
                if not takes(argument):
                    return _wrong(at, form)
            elif word in _LISTING or (word == "items" and is_array(argument)):
                if not is_array(argument):
                    return _wrong(at, "a list of schemas")
                left += [((*at, str(number)), one) for number, one in enumerate(argument)]
            elif word in _HOLDING:
                left.append((at, argument))
            elif word in _NAMING:
                if not is_object(argument):
                    return _wrong(at, "an object of schemas")
                left += [((*at, name), one) for name, one in argument.items()]
    return ""


def _wrong(place: tuple[str, ...], form: str) -> str:
    return f"{clipped(spell_pointer(place), 200)} must be {form}"
