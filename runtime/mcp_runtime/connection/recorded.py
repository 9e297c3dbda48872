"""Work of a handler that must not be repeated needlessly, however often the handler runs."""

import json
import secrets
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

Effect: TypeAlias = Callable[[str], Awaitable[Any]]
"""Does the work, given an idempotency key; returns a JSON value."""


async def run_once(work: Any, name: str, effect: Effect) -> Any:
    """Do the work: a handler that never runs again needs no record of it; see `Context.recorded`."""
    return json_of(name, await effect(secrets.token_hex(16)))


def json_of(name: str, result: Any) -> Any:
    """Return the result of recorded work after a JSON round trip, so that it is the same each time.

    Raises:
        TypeError: it is not JSON.
    """
    try:
        return json.loads(json.dumps(result, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise TypeError(f"recorded({name!r}): the work must return JSON: {error}") from None
