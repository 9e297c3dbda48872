"""Samples of inputs that would take too long all together; `make test-all LONG=1` takes them all."""

import os
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


def sampled(items: Sequence[T], number: int) -> Sequence[T]:
    """Return this many of the items, spread over all of them; all with LONG=1."""
    if os.environ.get("LONG"):
        return items
    return items[:: max(1, len(items) // number)]
