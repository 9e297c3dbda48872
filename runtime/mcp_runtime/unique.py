"""Lists whose items must be unique. No released revision has one."""

from typing import Any, Final, cast

from pydantic import BaseModel, GetCoreSchemaHandler
from pydantic_core import CoreSchema, PydanticCustomError, core_schema


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
