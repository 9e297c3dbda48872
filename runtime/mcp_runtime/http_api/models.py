"""The base of open models: unknown properties are kept, and the schema is short."""

from typing import Any

from pydantic import BaseModel, ConfigDict

_CHOICES = {"enum", "const"}
"""Keywords that would exclude null, whatever the type says."""


def _shorten(schema: dict[str, Any]) -> None:
    """Leave out what says nothing: the title, which repeats the name, and that an object is open, as all are."""
    schema.pop("title", None)
    if schema.get("additionalProperties") is True:
        del schema["additionalProperties"]
    properties: dict[str, Any] = schema.get("properties", {})
    for name, value in properties.items():
        match value:
            case {"anyOf": [{"type": str(kind), **bounds}, {"type": "null"}], **rest} if not bounds.keys() & _CHOICES:
                properties[name] = {"type": [kind, "null"], **bounds, **rest}
            case _:
                pass


class OpenModel(BaseModel):
    """An object that may have more properties than its fields, such as the result of a newer API."""

    model_config = ConfigDict(extra="allow", validate_by_name=True, json_schema_extra=_shorten)
