"""What the conversions of a table are compiled to."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from mcp_runtime.bridge.policy import Action, Loss
from mcp_runtime.protocol.places import spell_pointer

Place: TypeAlias = tuple[str | int, ...]
"""A path within a part of a message."""


Told: TypeAlias = tuple[str, ...]
"""A loss that somebody knows of: its kind, method, part, revision and place."""

MAX_TOLD: Final = 10_000
"""How many different losses are told of."""


class Run:
    """One conversion: what is converted, to which revision, who is told of losses, and of which it knows."""

    __slots__ = ("_report", "_told", "method", "part", "revision")

    def __init__(
        self, method: str, part: str, revision: str, report: Callable[[Loss], None], told: set[Told] | None
    ) -> None:
        self.method = method
        self.part = part
        self.revision = revision
        self._report = report
        self._told = told

    def tell(self, kind: str, action: Action, at: Place) -> None:
        """Report a loss; which item of a list it is in makes it no other one."""
        if self._told is not None:
            key = (kind, self.method, self.part, self.revision, *(p if isinstance(p, str) else "*" for p in at))
            if key in self._told or len(self._told) >= MAX_TOLD:
                return
            self._told.add(key)
        self._report(
            Loss(
                kind=kind,
                action=action,
                method=self.method,
                part=self.part,
                path=spell_pointer(at),
                revision=self.revision,
            )
        )


Convert: TypeAlias = Callable[[Any, Place, Run], Any]
"""Takes a value and its place; returns what the other revision calls it, `DROPPED` if nothing."""

DROPPED: Final = object()
"""What a conversion returns for a value that is left out."""

ALWAYS: Final = None
"""The needles of a step that has to look at every message."""


@dataclass(frozen=True, slots=True)
class Bare:
    """What a conversion of an object does to a text that has none of some words: it only adds members."""

    needles: frozenset[bytes]
    fill: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Step:
    """A conversion, and words of which one is in every JSON text that it changes; None if no word is.

    Where that is so only because it adds members, `bare` says which, and what tells that nothing else is to be done.
    """

    convert: Convert
    needles: frozenset[bytes] | None
    bare: Bare | None = None


def needles_of(found: Iterable[frozenset[bytes] | None]) -> frozenset[bytes] | None:
    """Return the needles of several steps together."""
    united: frozenset[bytes] = frozenset()
    for needles in found:
        if needles is None:
            return None
        united |= needles
    return united


def within(name: str, step: Step) -> Step:
    """Return what converts an object by one of its members."""

    def convert(value: Any, at: Place, run: Run) -> Any:
        return {**value, name: step.convert(value[name], (*at, name), run)}

    return Step(convert, step.needles)
