"""JSON numbers as metadata of types, with the rules of JSON Schema: ``1.0`` is an integer, ``true`` is not a number."""

from math import ceil, floor
from typing import Annotated, Any, TypeAlias

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema


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
        ge: the minimum.
        le: the maximum.
        gt: an exclusive minimum.
        lt: an exclusive maximum.
        multiple_of: what the number must be a multiple of.
    """

    def __init__(
        self,
        *,
        ge: float | None = None,
        le: float | None = None,
        gt: float | None = None,
        lt: float | None = None,
        multiple_of: float | None = None,
    ) -> None:
        stated = {"ge": ge, "le": le, "gt": gt, "lt": lt, "multiple_of": multiple_of}
        self._bounds: dict[str, Any] = {name: bound for name, bound in stated.items() if bound is not None}

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
