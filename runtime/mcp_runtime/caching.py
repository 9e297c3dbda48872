"""How long clients of the modern era may cache results (2026-07-28, server/utilities/caching)."""

from dataclasses import dataclass
from typing import Literal

__all__ = ["CacheHint"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheHint:
    """How long results of a method may be cached, and by which caches. Values set by the handler take precedence.

    Attributes:
        seconds: how long a result stays fresh.
        scope: ``public`` if the result is the same for every user, so that shared caches may store it.

    Raises:
        ValueError: `seconds` is negative, or `scope` is not a known scope.
    """

    seconds: float
    scope: Literal["private", "public"] = "private"

    def __post_init__(self) -> None:
        if self.seconds < 0:
            raise ValueError(f"seconds: must be 0 or more, not {self.seconds:g}")
        if self.scope not in ("private", "public"):
            raise ValueError(f"scope: must be 'private' or 'public', not {self.scope!r}")

    @property
    def milliseconds(self) -> int:
        """The duration in milliseconds, as sent on the wire."""
        return int(self.seconds * 1000)
