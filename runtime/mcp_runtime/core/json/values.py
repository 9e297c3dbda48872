"""Parsed JSON values: their kinds, and JSON pointers into them (RFC 6901).

A value is what `json.text.read` returns: an object is a dict with str keys, an array a list, a number an int or a
float. A pointer is a sequence of tokens, each after a slash: the name of a property or the index of an item. In a
token, ``~`` is written ``~0`` and ``/`` is written ``~1``.
"""

from collections.abc import Iterable
from enum import Enum
from math import ceil, floor, isfinite
from typing import Annotated, Any, Final, TypeAlias, TypeGuard, cast

from pydantic import BaseModel, BeforeValidator, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema


def is_object(value: object) -> TypeGuard[dict[str, Any]]:
    """Whether a parsed JSON value is an object."""
    return isinstance(value, dict)


def is_array(value: object) -> TypeGuard[list[Any]]:
    """Whether a parsed JSON value is an array."""
    return isinstance(value, list)


def is_number(value: object) -> TypeGuard[int | float]:
    """Whether a parsed JSON value is a number; true and false are none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def escaped(token: str | int) -> str:
    """Return a token as a pointer contains it.

    Args:
        token: the name of a property, or the index of an item.
    """
    return str(token).replace("~", "~0").replace("/", "~1")


def unescaped(token: str) -> str:
    """Return the name or the index that a token of a pointer stands for.

    Args:
        token: the token, without a slash.
    """
    return token.replace("~1", "/").replace("~0", "~")


def spell_pointer(path: Iterable[str | int]) -> str:
    """Return the pointer to a place in a value; empty for the value itself.

    Args:
        path: the names and indexes that lead to it.
    """
    return "".join(f"/{escaped(token)}" for token in path)


def read_pointer(pointer: str) -> tuple[str, ...]:
    """Return the names and indexes that a pointer consists of.

    Args:
        pointer: the pointer; empty, or beginning with a slash.
    """
    return tuple(map(unescaped, pointer.split("/")[1:]))


FINITE: Final = frozenset((str, int, bool, type(None)))
"""Types of values that cannot contain an infinite number."""
_ARRAYS: Final = (list, tuple)  # written where it is used, it would be built for each value: 2 % of row "encode"


def refuse_non_finite(value: object) -> None:
    """Check that a value contains no infinite number and no NaN, which JSON cannot express.

    Raises:
        ValueError: it does.
    """
    kind = type(value)  # `isinstance` would ask a model for its class: a fifth of constructing a list (row "encode")
    held: Any = value
    if issubclass(kind, dict):
        held = held.values()
    elif not issubclass(kind, _ARRAYS):
        if issubclass(kind, float) and not isfinite(held):
            raise ValueError(f"{value!r} is not a JSON number")
        return
    for inner in held:
        if type(inner) not in FINITE:
            refuse_non_finite(inner)


class Exactly:
    """Metadata of a number with a single allowed value, for fractions, which cannot be arguments of `Literal`.

    Args:
        value: the only value allowed.
    """

    def __init__(self, value: float) -> None:
        self._value = value

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.literal_schema([self._value])


class JsonNumber:
    """Metadata of a JSON number. Numbers written as integers stay integers, whatever their size.

    Args:
        bounds: ``ge`` and ``le`` for minimum and maximum, ``gt`` and ``lt`` for exclusive ones, and ``multiple_of``.
    """

    def __init__(self, **bounds: float) -> None:
        self._bounds: dict[str, Any] = bounds

    def _int_schema(self) -> CoreSchema:
        """The schema of an int within the bounds, rounded to whole numbers."""
        bounds: dict[str, Any] = {}
        for name, bound in self._bounds.items():
            if name == "multiple_of" and not float(bound).is_integer():
                return core_schema.no_info_after_validator_function(int, self._float_schema())
            bounds[name] = ceil(bound) if name in ("ge", "lt") else floor(bound)
        return core_schema.int_schema(strict=True, **bounds)

    def _float_schema(self) -> CoreSchema:
        return core_schema.float_schema(strict=True, allow_inf_nan=False, **self._bounds)

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.union_schema(
            [self._int_schema(), self._float_schema()],
            mode="left_to_right",
            serialization=core_schema.simple_ser_schema("any"),
        )

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return handler(core_schema.float_schema(**self._bounds))


class JsonInteger(JsonNumber):
    """Metadata of a JSON integer: an int, or a float without a fraction, which becomes an int."""

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        spelled_as_float = core_schema.no_info_after_validator_function(
            _whole, core_schema.float_schema(strict=True, allow_inf_nan=False)
        )
        return core_schema.union_schema(
            [self._int_schema(), core_schema.chain_schema([spelled_as_float, self._int_schema()])],
            mode="left_to_right",
            serialization=core_schema.simple_ser_schema("int"),
        )

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return handler(core_schema.int_schema(**self._bounds))


def _whole(value: float) -> int:
    # Exact, unlike `multiple_of`, which accepts 1.0000000001 and 5e-324 as multiples of 1.
    if not value.is_integer():
        raise PydanticCustomError("json_integer", "Input should be a whole number")
    return int(value)


Integer: TypeAlias = Annotated[int, JsonInteger()]
Number: TypeAlias = Annotated[float, JsonNumber()]


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
    """Return the expected value that equals a JSON value; a float without a fraction becomes the equal integer."""

    def __init__(self, expected: list[Any]) -> None:
        plain = [value.value if isinstance(value, Enum) else value for value in expected]
        self._expected = {(key.__class__, key): value for key, value in zip(plain, expected, strict=True)}
        self._shown = ", ".join(map(repr, plain))

    def __call__(self, value: Any) -> Any:
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if value.__class__ in _KINDS and (key := (value.__class__, value)) in self._expected:
            return self._expected[key]
        raise PydanticCustomError("literal_error", "Input should be {expected}", {"expected": self._shown})


class _Unique:
    """Metadata of a list whose items must be unique (JSON Schema 2020-12 validation, section 6.4.3)."""

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(_check_unique, handler(source))


def _check_unique(items: list[Any]) -> list[Any]:
    import json  # No released revision needs it.

    seen: set[str] = set()
    for item in items:
        text = json.dumps(_comparable(item), sort_keys=True)
        if text in seen:
            raise PydanticCustomError("unique_items", "Items should be unique")
        seen.add(text)
    return items


def _comparable(value: Any) -> Any:
    """Reduce equal JSON values to the same form: numbers without a fraction become integers."""
    if isinstance(value, BaseModel):
        value = value.model_dump()
    if isinstance(value, dict):
        return {name: _comparable(inner) for name, inner in cast(dict[str, Any], value).items()}
    if isinstance(value, list):
        return [_comparable(inner) for inner in cast(Any, value)]
    return int(value) if isinstance(value, float) and value.is_integer() else value


UNIQUE: Final = _Unique()


def subschema(value: Any) -> Any:
    """Return a JSON Schema as an object, where it is true or false; other values stay as they are."""
    if isinstance(value, bool):
        return {} if value else {"not": {}}
    return value


Subschema: TypeAlias = Annotated[dict[str, Any], BeforeValidator(subschema)]
"""A JSON Schema as an object, which peers may have written as true or false."""
