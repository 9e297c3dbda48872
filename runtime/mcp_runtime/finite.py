"""Numbers that JSON has: none of them is infinite or NaN."""

from collections.abc import Iterable
from math import isfinite
from typing import Final, cast

FINITE: Final = frozenset((str, int, bool, type(None)))
"""The types of values in which no number can be infinite."""
_ARRAYS: Final = (list, tuple)  # a tuple: a union would be made anew for each value that is looked at


def refuse_non_finite(value: object) -> None:
    """Check that no number in a value is infinite or NaN: JSON has none of them.

    Raises:
        ValueError: one is.
    """
    if isinstance(value, dict):
        held: Iterable[object] = cast(dict[object, object], value).values()
    elif isinstance(value, _ARRAYS):
        held = cast(Iterable[object], value)
    else:
        if isinstance(value, float) and not isfinite(value):
            raise ValueError(f"{value!r} is not a JSON number")
        return
    for inner in held:
        if inner.__class__ not in FINITE:
            refuse_non_finite(inner)
