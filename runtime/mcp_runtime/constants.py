"""Adjustments to pydantic's core schemas: exact constants, and lists that stop at the first invalid item.

pydantic treats 1, 1.0 and true as the same constant; JSON Schema equates only 1 and 1.0. Reporting an error for each
item of a long list would take a hundred times the memory of the text.
"""

from typing import Any, Final

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

_PARTS: Final = frozenset(("schema", "items_schema", "keys_schema", "values_schema"))
"""Keys under which a core schema holds the schema of a part."""
_KINDS: Final = frozenset((str, int, float, bool, None.__class__))


class _ExactConstants:
    """Metadata of a type that contains exact constants. Fields of models do not need it."""

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        exact: CoreSchema = with_exact_constants(handler(source))
        return exact


EXACT_CONSTANTS: Final = _ExactConstants()


def with_exact_constants(schema: Any) -> Any:
    """Change a core schema so that constants match exactly and lists report only the first invalid item.

    Models in it are left alone, since they have already been changed.
    """
    match schema["type"]:
        case "literal":
            return _exact(schema)
        case "model":
            return schema
        case "function-before" if isinstance(schema["function"]["function"], _OneOf):
            return schema
        case _:
            for name in _PARTS & schema.keys():
                schema[name] = _in_part(schema[name])
            if schema["type"] == "list":
                schema["fail_fast"] = True
            elif schema["type"] == "union":
                schema["choices"] = _in_part(schema["choices"])
            return schema


def _in_part(part: Any) -> Any:
    """Change a schema, or each schema in a list. Labelled choices belong to a callable discriminator and are models."""
    if part.__class__ is list:
        return [item if item.__class__ is tuple else with_exact_constants(item) for item in part]
    return with_exact_constants(part)


def _exact(literal: Any) -> Any:
    expected = literal["expected"]
    if all(value is None or isinstance(value, str) for value in expected):
        return literal
    return core_schema.no_info_before_validator_function(_OneOf(expected), literal)


class _OneOf:
    """Return a value if it is one of the expected ones; a float without a fraction becomes the equal integer."""

    def __init__(self, expected: list[Any]) -> None:
        self._expected = frozenset((value.__class__, value) for value in expected)
        self._shown = ", ".join(repr(value) for value in expected)

    def __call__(self, value: Any) -> Any:
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if value.__class__ in _KINDS and (value.__class__, value) in self._expected:
            return value
        raise PydanticCustomError("literal_error", "Input should be {expected}", {"expected": self._shown})
