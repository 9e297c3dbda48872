"""Arguments and results of tools: where they differ from a type or a schema, and their structured content."""

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from pydantic import ConfigDict, TypeAdapter, ValidationError

from mcp_runtime.protocol.places import locate, spell_pointer
from mcp_runtime.protocol.text import clipped


def structured_of(result: Any) -> Any:
    """Return the structured content of a result; in older revisions it is kept as an undeclared property."""
    known = getattr(result, "structured_content", None)
    extra: Mapping[str, Any] = result.model_extra or {}
    return extra.get("structuredContent") if known is None else known


def first_fault(error: ValidationError, value: Any) -> tuple[str, str]:
    """Return the location and the reason of the first validation error."""
    found = error.errors(include_url=False)[0]
    return spell_pointer(locate(found, value)), clipped(str(found["msg"]))


def mismatch_of(schema: str, value: Any) -> tuple[str, str] | None:
    """Return where a value does not match a schema, and why; None for schemas that cannot be evaluated."""
    if not schema:
        return None
    from mcp_runtime.protocol.json_schema import UnusableSchema

    try:
        mismatch = _compiled(schema).find(value)
    except UnusableSchema:
        return None
    return (mismatch.pointer, mismatch.reason) if mismatch else None


@lru_cache(maxsize=1024)
def _compiled(schema: str) -> Any:
    from mcp_runtime.protocol.json_schema import Check

    return Check(json.loads(schema), is_trusted=False)


@lru_cache(maxsize=4096)
def adapter_of(type_: Any) -> TypeAdapter[Any]:
    """Return a type's validator and serializer; models bring their own configuration."""
    has_own = hasattr(type_, "model_config")
    return TypeAdapter[Any](type_, config=None if has_own else ConfigDict(strict=True))
