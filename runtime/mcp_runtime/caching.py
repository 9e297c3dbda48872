"""How long clients of the modern era may keep results (2026-07-28, server/utilities/caching)."""

from dataclasses import dataclass
from typing import Literal

__all__ = ["CacheHint"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheHint:
    """How long the results of a method may be kept, and by whom; what a handler says itself comes first.

    Attributes:
        seconds: how long a result is fresh.
        scope: ``public`` if it is the same for everybody, so that caches may share it between users.

    Raises:
        ValueError: the time is below zero, or there is no such scope.
    """

    seconds: float
    scope: Literal["private", "public"] = "private"

    def __post_init__(self) -> None:
        if self.seconds < 0:
            raise ValueError(f"a result is fresh for 0 seconds or more, not {self.seconds:g}")
        if self.scope not in ("private", "public"):
            raise ValueError(f"a scope is 'private' or 'public', not {self.scope!r}")

    @property
    def milliseconds(self) -> int:
        """The time as the wire has it."""
        return int(self.seconds * 1000)
