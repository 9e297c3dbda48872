"""Read what a peer sent into the generated types, strictly or leniently, and say where it breaks the protocol."""

from collections.abc import Callable, Set
from typing import Any, TypeAlias, TypeVar

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from mcp_runtime.errors import RemoteProtocolError
from mcp_runtime.method import WireType
from mcp_runtime.protocol.jsonrpc import is_array, is_object
from mcp_runtime.protocol.places import Path, judged, locate, spell_pointer
from mcp_runtime.protocol.text import clipped

T = TypeVar("T")
Report: TypeAlias = Callable[[RemoteProtocolError], None]
"""Is told of what was repaired."""

MAX_ERRORS = 3
"""How many places a message names."""
MAX_REPORTED = 1000
"""How many different repairs are reported."""


class Reader:
    """Reads values of one revision.

    Args:
        revision: the revision that is spoken.
        lenient: whether null counts as absent where the schema does not admit it.
        report: is told of each place that leniency repaired, once.
    """

    __slots__ = ("_lenient", "_report", "_reported", "_revision")

    def __init__(self, revision: str, *, lenient: bool, report: Report) -> None:
        self._revision = revision
        self._lenient = lenient
        self._report = report
        self._reported: set[tuple[str, str]] | None = None  # made for whoever needs it: most peers need no repair

    def read(self, type_: WireType[T], value: dict[str, Any], method: str) -> T:
        """Make a value of a type from a part of a message.

        Args:
            type_: what it should be.
            value: the part, parsed.
            method: the method that the message belongs to.

        Raises:
            RemoteProtocolError: it is of another type.
        """
        try:
            return type_.validate(value)
        except ValidationError as error:
            return self._repaired(type_, value, method, judged(error.errors(include_url=False), value, type_.package))

    def _repaired(self, type_: WireType[T], value: dict[str, Any], method: str, errors: list[ErrorDetails]) -> T:
        """Read a value without each null that stands for absence.

        Raises:
            RemoteProtocolError: it has other faults, or nothing is repaired here.
        """
        nulls = dict.fromkeys(path for details in errors if (path := _null_at(details, value)) is not None)
        if not self._lenient or not nulls:
            raise self._violation(errors, value, method)
        repaired = _without(value, nulls.keys())
        try:
            read = type_.validate(repaired)
        except ValidationError as error:
            left = judged(error.errors(include_url=False), repaired, type_.package)
            raise self._violation(left, repaired, method) from None
        for path in nulls:
            self._report_null(method, spell_pointer(path))
        return read

    def _report_null(self, method: str, pointer: str) -> None:
        reported = self._reported = self._reported or set()
        if (method, pointer) in reported or len(reported) >= MAX_REPORTED:
            return
        reported.add((method, pointer))
        reason = "null stands for a member that may only be absent; it was taken as absent"
        self._report(RemoteProtocolError(revision=self._revision, method=method, pointer=pointer, reason=reason))

    def _violation(self, found: list[ErrorDetails], value: Any, method: str) -> RemoteProtocolError:
        places = [(spell_pointer(locate(details, value)), details["msg"]) for details in found[:MAX_ERRORS]]
        reason = places[0][1] + "".join(f"; {pointer or '/'}: {text}" for pointer, text in places[1:])
        if len(found) > MAX_ERRORS:
            reason += f"; and {len(found) - MAX_ERRORS} more"
        return RemoteProtocolError(revision=self._revision, method=method, pointer=places[0][0], reason=clipped(reason))


def _null_at(details: ErrorDetails, value: Any) -> Path | None:
    """Return where a null is that an error is about, None if it is about something else."""
    if details["input"] is not None:
        return None
    path = locate(details, value)
    return path if path and isinstance(path[-1], str) else None


def _without(value: Any, gone: Set[Path], path: Path = ()) -> Any:
    if is_object(value):
        return {name: _without(v, gone, (*path, name)) for name, v in value.items() if (*path, name) not in gone}
    if is_array(value):
        return [_without(item, gone, (*path, index)) for index, item in enumerate(value)]
    return value
