"""What the conversions of a table compile to."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from mcp_runtime.bridge.policy import Loss, LossAction
from mcp_runtime.core.json.values import spell_pointer

Place: TypeAlias = tuple[str | int, ...]
"""A path within a part of a message."""


ReportedLoss: TypeAlias = tuple[str, ...]
"""Identifies a loss that was reported: its kind, method, part, revision and place."""

MAX_REPORTED: Final = 10_000
"""How many different losses are reported."""


class Run:
    """One conversion: what is converted, to which revision, where losses are reported, and which already were."""

    __slots__ = ("_report", "_reported", "method", "part", "revision")

    def __init__(
        self, method: str, part: str, revision: str, report: Callable[[Loss], None], reported: set[ReportedLoss] | None
    ) -> None:
        self.method = method
        self.part = part
        self.revision = revision
        self._report = report
        self._reported = reported

    def report(self, kind: str, action: LossAction, at: Place) -> None:
        """Report a loss; losses that differ only in the list item count as one."""
        if self._reported is not None:
            key = (kind, self.method, self.part, self.revision, *(p if isinstance(p, str) else "*" for p in at))
            if key in self._reported or len(self._reported) >= MAX_REPORTED:
                return
            self._reported.add(key)
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
"""Takes a value and its place; returns the value of the other revision, or `DROPPED`."""

DROPPED: Final = object()
"""What a conversion returns for a value that is dropped."""

ALWAYS: Final = None
"""The needles of a step that must process every message."""


@dataclass(frozen=True, slots=True)
class Bare:
    """What an object conversion does to a text without certain words: it only adds properties."""

    needles: frozenset[bytes]
    fill: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Step:
    """A conversion, and words of which every JSON text that it changes contains at least one, or None.

    If it only adds properties otherwise, `bare` says which ones, and how to tell that nothing else has to be done.
    """

    convert: Convert
    needles: frozenset[bytes] | None
    bare: Bare | None = None


def needles_of(found: Iterable[frozenset[bytes] | None]) -> frozenset[bytes] | None:
    """Return the combined needles of several steps."""
    united: frozenset[bytes] = frozenset()
    for needles in found:
        if needles is None:
            return None
        united |= needles
    return united


def within(name: str, step: Step) -> Step:
    """Return a step that converts one property of an object."""

    def convert(value: Any, at: Place, run: Run) -> Any:
        return {**value, name: step.convert(value[name], (*at, name), run)}

    return Step(convert, step.needles)
