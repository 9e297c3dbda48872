"""Checks for numbers that JSON cannot express: infinities and NaN."""

from collections.abc import Iterable
from math import isfinite
from typing import Final, cast

FINITE: Final = frozenset((str, int, bool, type(None)))
"""Types of values that cannot contain an infinite number."""
_ARRAYS: Final = (list, tuple)  # a tuple: a union would be rebuilt for each value


def refuse_non_finite(value: object) -> None:
    """Check that a value contains no infinite number and no NaN, which JSON cannot express.

    Raises:
        ValueError: it does.
    """
    kind = type(value)  # `isinstance` would ask a model for its class, through pydantic's `__getattr__`
    if issubclass(kind, dict):
        held: Iterable[object] = cast("dict[object, object]", value).values()
    elif issubclass(kind, _ARRAYS):
        held = cast("Iterable[object]", value)
    else:
        if issubclass(kind, float) and not isfinite(cast("float", value)):
            raise ValueError(f"{value!r} is not a JSON number")
        return
    for inner in held:
        if type(inner) not in FINITE:
            refuse_non_finite(inner)
