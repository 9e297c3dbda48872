"""Describes invalid arguments in a way that a model can act on."""

from collections.abc import Collection, Iterator, Mapping
from difflib import get_close_matches
from typing import Any, Final

from pydantic_core import ErrorDetails, ValidationError

from mcp_runtime.app.schemas import text_of
from mcp_runtime.core.errors import clipped
from mcp_runtime.core.json.values import is_array, is_object

_MAX_MISTAKES: Final = 5
_MAX_READ: Final = 50
"""How many errors are examined: a hostile message may have as many as it has values."""
_MAX_COUNTED: Final = 10_000
"""With more errors than this, none is listed: pydantic builds all of them or none, at microseconds each."""
_MAX_SHOWN: Final = 60
"""How many characters of a value or a name are quoted."""
_UNKNOWN: Final = "extra_forbidden"
_MISSING: Final = "missing"


def mistakes(error: ValueError, arguments: Mapping[str, Any], known: Collection[str]) -> str:
    """Describe what is wrong with arguments: which one, why, and what is expected.

    Args:
        error: pydantic's error, or why the arguments cannot be written as JSON.
        arguments: what the client passed.
        known: the names of the declared arguments.
    """
    if not isinstance(error, ValidationError):
        return clipped(str(error))
    if error.error_count() > _MAX_COUNTED:
        return f"{error.error_count():,} values do not match the schema"
    reasons: dict[str, list[str]] = {}
    for details in error.errors(include_url=False, include_context=False)[:_MAX_READ]:
        where, reason = _mistake(details, arguments, known)
        said = reasons.setdefault(where, [])
        if reason not in said:
            said.append(reason)
    lines = [f"{where}: {' or '.join(said)}" for where, said in reasons.items()]
    more = len(lines) > _MAX_MISTAKES or error.error_count() > _MAX_READ
    return "; ".join(lines[:_MAX_MISTAKES]) + ("; and more" if more else "")


def _mistake(details: ErrorDetails, arguments: Mapping[str, Any], known: Collection[str]) -> tuple[str, str]:
    steps = list(_path(details["loc"], arguments, details["type"]))
    where = "".join(steps) or "arguments"
    if details["type"] == _UNKNOWN and len(steps) == 1:
        near = get_close_matches(steps[0][:_MAX_SHOWN], known, 1)
        names = ", ".join(known) or "none"
        hint = f"did you mean {near[0]}?" if near else f"known arguments: {names}"
        return where, f"no such argument; {hint}"
    if details["type"] == _MISSING:
        return where, "missing"
    reason = details["msg"].removeprefix("Value error, ").removeprefix("Assertion failed, ")
    reason = reason.replace("Input should", "it should", 1)
    return where, f"{clipped(reason, 200)}, not {_shown(details['input'])}"


def _path(loc: tuple[int | str, ...], value: Any, kind: str) -> Iterator[str]:
    """Iterate over the path to a value; other steps that pydantic reports are members of unions."""
    for place, step in enumerate(loc):
        is_last = place == len(loc) - 1
        if isinstance(step, int) and is_array(value) and step < len(value):
            value = value[step]
            yield f"[{step}]"
        elif isinstance(step, str) and is_object(value) and (step in value or (is_last and kind == _MISSING)):
            value = value.get(step)
            shown = clipped(step, _MAX_SHOWN)
            yield f".{shown}" if place else shown


def _shown(value: Any) -> str:
    try:
        return clipped(text_of(value), _MAX_SHOWN)
    except ValueError:
        return type(value).__name__
