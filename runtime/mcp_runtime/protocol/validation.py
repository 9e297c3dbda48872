"""Read what a peer sent into the generated types, strictly or leniently, and say where it breaks the protocol."""

from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from mcp_runtime.errors import RemoteProtocolError
from mcp_runtime.method import WireType
from mcp_runtime.protocol.jsonrpc import is_array, is_object
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
            try:
                return self._repaired(type_, value, method, error)
            except ValidationError as final:
                raise self._violation(final, value, method) from None

    def _repaired(self, type_: WireType[T], value: dict[str, Any], method: str, error: ValidationError) -> T:
        """Read a value without each null that stands for absence.

        Raises:
            pydantic.ValidationError: it has other faults, or nothing is repaired here.
        """
        pointers = [pointer for details in error.errors() if (pointer := _null_at(details, value)) is not None]
        if not self._lenient or not pointers:
            raise error
        read = type_.validate(_without(value, {tuple(pointer) for pointer in pointers}))
        for pointer in pointers:
            self._report_null(method, spell_pointer(pointer))
        return read

    def _report_null(self, method: str, pointer: str) -> None:
        reported = self._reported = self._reported or set()
        if (method, pointer) in reported or len(reported) >= MAX_REPORTED:
            return
        reported.add((method, pointer))
        reason = "null stands for a member that may only be absent; it was taken as absent"
        self._report(RemoteProtocolError(revision=self._revision, method=method, pointer=pointer, reason=reason))

    def _violation(self, error: ValidationError, value: Any, method: str) -> RemoteProtocolError:
        found = error.errors(include_url=False)
        places = [(spell_pointer(locate(details["loc"], value)), details["msg"]) for details in found[:MAX_ERRORS]]
        reason = places[0][1] + "".join(f"; {pointer or '/'}: {text}" for pointer, text in places[1:])
        if len(found) > MAX_ERRORS:
            reason += f"; and {len(found) - MAX_ERRORS} more"
        return RemoteProtocolError(revision=self._revision, method=method, pointer=places[0][0], reason=clipped(reason))


Path: TypeAlias = tuple[str | int, ...]


def locate(place: Path, value: Any) -> Path:
    """Return the path in a value that pydantic means: it names the members of unions too, which no value has."""
    found: list[str | int] = []
    for number, part in enumerate(place):
        child = _child(value, part)
        if child is not _NOTHING:
            found.append(part)
            value = child
        elif is_object(value) and number == len(place) - 1 and isinstance(part, str):
            # What is missing is named last; the name of a union's member is followed by what is wrong in it.
            found.append(part)
    return tuple(found)


_NOTHING = object()


def _child(value: Any, part: str | int) -> Any:
    """Return what an object or an array has at a place, `_NOTHING` if it has nothing there."""
    if is_object(value) and isinstance(part, str):
        return value.get(part, _NOTHING)
    if is_array(value) and isinstance(part, int) and 0 <= part < len(value):
        return value[part]
    return _NOTHING


def spell_pointer(path: Path) -> str:
    """Spell a path as a JSON pointer (RFC 6901)."""
    return "".join(f"/{str(part).replace('~', '~0').replace('/', '~1')}" for part in path)


def _null_at(details: ErrorDetails, value: Any) -> Path | None:
    """Return where a null is that an error is about, None if it is about something else."""
    path = locate(details["loc"], value)
    found = value
    for part in path:
        found = _child(found, part)
    return path if found is None and path and isinstance(path[-1], str) else None


def _without(value: Any, gone: set[Path], path: Path = ()) -> Any:
    if is_object(value):
        return {name: _without(v, gone, (*path, name)) for name, v in value.items() if (*path, name) not in gone}
    if is_array(value):
        return [_without(item, gone, (*path, index)) for index, item in enumerate(value)]
    return value
