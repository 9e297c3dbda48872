"""Validates a peer's messages with the generated types, strictly or leniently, and locates errors in them."""

from collections.abc import Callable, Sequence
from functools import reduce
from importlib import import_module
from typing import Any, Final, TypeAlias, TypeVar

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from mcp_runtime.core.errors import RemoteProtocolError, clipped
from mcp_runtime.core.json.values import is_array, is_object, spell_pointer
from mcp_runtime.core.method import WireType
from mcp_runtime.core.model import WireModel
from mcp_runtime.core.protocol.rules import Broken

Path: TypeAlias = tuple[str | int, ...]

MAX_READINGS: Final = 64
"""How many interpretations of one location are tried."""
_NOTHING: Final = object()


def _child(value: Any, part: str | int) -> Any:
    """Return the value at a step of an object or array, or `_NOTHING`."""
    if is_object(value) and isinstance(part, str):
        return value.get(part, _NOTHING)
    if is_array(value) and isinstance(part, int) and 0 <= part < len(value):
        return value[part]
    return _NOTHING


def locate(details: ErrorDetails, value: Any) -> Path:
    """Return the path in a value that an error is about."""
    return _read(details, value)[0]


def judged(errors: Sequence[ErrorDetails], value: Any, package: str) -> list[ErrorDetails]:
    """Return the errors of those union branches that a value was meant for.

    A value is not meant for a branch whose constants it contradicts, unless it contradicts those of every branch; among
    the others, it is meant for those of which it lacks the fewest properties.

    Args:
        errors: the errors of one value.
        value: the value.
        package: the package of the classes that branches are named after.
    """
    branches = [_read(details, value)[1] for details in errors]
    scores: dict[Path, dict[str | int, list[int]]] = {}
    for details, indexes in zip(errors, branches, strict=True):
        place = details["loc"]
        for index in indexes:
            score = scores.setdefault(place[:index], {}).setdefault(place[index], [0, 0])
            if index == len(place) - 2:
                is_missing = details["type"] == "missing"
                score[1] += is_missing
                score[0] += details["type"] == "literal_error" or (
                    is_missing and place[-1] in _constants(package, str(place[index]))
                )
    best = {union: _best(found) for union, found in scores.items()}
    return [
        details
        for details, indexes in zip(errors, branches, strict=True)
        if all(details["loc"][index] in best[details["loc"][:index]] for index in indexes)
    ]


def _best(scores: dict[str | int, list[int]]) -> frozenset[str | int]:
    """Return the branches with the best score; all of them if each is contradicted."""
    fewest = min(scores.values())
    return frozenset(branch for branch, score in scores.items() if fewest[0] or score == fewest)


def _constants(package: str, name: str) -> list[str | int]:
    """Return the constants of a class by wire name; none if there is no such class."""
    model: Any = getattr(import_module(package), name, None) if name.isidentifier() else None
    if not isinstance(model, type) or not issubclass(model, WireModel):
        return []
    return [model.__pydantic_fields__[constant].alias or constant for constant in model.__constants__]


def _read(details: ErrorDetails, value: Any) -> tuple[Path, tuple[int, ...]]:
    """Return the path in a value that an error is about, and which parts of its location are union branches.

    A branch may have the name of a property, so each part is interpreted both ways; the interpretation that leads to
    the value pydantic found counts.
    """
    place, found = details["loc"], details["input"]
    is_missing = details["type"] == "missing"
    readings: list[tuple[Path, tuple[int, ...], Any]] = [((), (), value)]
    for index, part in enumerate(place[:-1] if is_missing else place):
        further: list[tuple[Path, tuple[int, ...], Any]] = []
        for path, branches, held in readings:
            inner = _child(held, part)
            if inner is not _NOTHING:
                further.append(((*path, part), branches, inner))
            if isinstance(part, str):
                further.append((path, (*branches, index), held))
        readings = further[:MAX_READINGS]
    last = len(place) - 1
    path, branches, _ = max(
        readings,
        key=lambda reading: (reading[2] is found, last not in reading[1], len(reading[0])),
        default=((), (), 0),
    )
    return ((*path, place[-1]) if is_missing else path), branches


T = TypeVar("T")
Report: TypeAlias = Callable[[RemoteProtocolError], None]
"""Called with each repair."""

MAX_ERRORS = 3
"""How many locations an error message names."""
MAX_REPORTED = 1000
"""How many different repairs are reported."""
MAX_KIND = 100
"""How many characters of an unknown type are reported."""
MAX_FOUND = 10_000
"""How many errors of one message are examined."""
MAX_ROUNDS = 20
"""How often a message is repaired before it is refused: a list reports only its first bad item."""


class Reader:
    """Validates values of one revision.

    Args:
        revision: the revision in use.
        lenient: whether null counts as absent where the schema does not allow it.
        report: called once for each location that was repaired; None to repair silently.
        drops: whether to take items of unknown types out of lists, such as content blocks of later revisions.
    """

    __slots__ = ("_drops", "_lenient", "_report", "_reported", "_revision")

    def __init__(
        self, revision: str, *, lenient: bool = False, report: Report | None = None, drops: bool = False
    ) -> None:
        self._revision = revision
        self._lenient = lenient
        self._drops = drops
        self._report = report
        self._reported: set[int] | None = None  # hashes; created on demand, since most peers need no repair

    def read(self, type_: WireType[T], value: dict[str, Any], method: str) -> T:
        """Validate a part of a message, and return it as its type.

        Args:
            type_: the expected type.
            value: the parsed part.
            method: the method that the message belongs to.

        Raises:
            RemoteProtocolError: it does not match the type.
        """
        try:
            return type_.validate(value)
        except ValidationError as error:
            return self.repaired(type_, value, method, error)

    def repaired(self, type_: WireType[T], value: dict[str, Any], method: str, error: ValidationError) -> T:
        """Return a part of a message that did not match its type without what is wrong with it, if that is allowed.

        Args:
            type_: the expected type.
            value: the parsed part.
            method: the method that the message belongs to.
            error: why it did not match.

        Raises:
            RemoteProtocolError: it cannot be repaired.
        """
        for _ in range(MAX_ROUNDS if self._drops else 0):
            if not self._take_out(error, value, method):
                break
            try:
                return type_.validate(value)
            except ValidationError as left:
                error = left
        return self._without_nulls(type_, value, method, error)

    def _take_out(self, error: ValidationError, value: Any, method: str) -> bool:
        """Take the items of an unknown type out of a list; return whether there are any.

        An item may contain the value of that type, as the message of a prompt does.
        """
        if error.error_count() > MAX_FOUND:
            return False
        details = error.errors(include_url=False, include_context=False)[0]
        path, kind = locate(details, value), _kind(details["input"])
        index = next((place for place in reversed(range(len(path))) if isinstance(path[place], int)), None)
        if details["type"] != "union_tag_invalid" or index is None:
            return False
        items: list[Any] = reduce(_child, path[:index], value)
        items[:] = [item for item in items if _kind(reduce(_child, path[index + 1 :], item)) != kind]
        reason = f"items of a type that is not known here are left out: {clipped(str(kind), MAX_KIND)}"
        self._report_once(method, spell_pointer(path[:index]), reason)
        return True

    def _without_nulls(self, type_: WireType[T], value: dict[str, Any], method: str, error: ValidationError) -> T:
        """Validate a value without each null that stands for absence.

        Raises:
            RemoteProtocolError: it has other errors, or nothing is repaired here.
        """
        gone: _Gone = {}
        pointers: list[str] = []
        given, errors = value, _judged(error, value, type_)
        for _ in range(MAX_ROUNDS if self._lenient else 0):
            nulls = [path for details in errors if (path := _null_at(details, given)) is not None]
            if not nulls:
                break
            pointers += [spell_pointer(path) for path in nulls if _put(gone, path)]
            try:
                read = type_.validate(given := _without(value, gone))
            except ValidationError as left:
                error, errors = left, _judged(left, given, type_)
                continue
            for pointer in pointers:
                self._report_once(method, pointer, "null is not allowed for this property; it was treated as absent")
            return read
        raise self._violation(error, errors, given, method) from None

    def _report_once(self, method: str, pointer: str, reason: str) -> None:
        reported = self._reported = self._reported or set()
        known = hash((method, pointer, reason))
        if self._report is None or known in reported or len(reported) >= MAX_REPORTED:
            return
        reported.add(known)
        self._report(RemoteProtocolError(revision=self._revision, method=method, pointer=pointer, reason=reason))

    def _violation(
        self, error: ValidationError, found: list[ErrorDetails], value: Any, method: str
    ) -> RemoteProtocolError:
        if not found:
            return RemoteProtocolError(revision=self._revision, method=method, pointer="", reason=_too_many(error))
        places = [(_shown(details, value), details["msg"]) for details in found[:MAX_ERRORS]]
        reason = places[0][1] + "".join(f"; {pointer or '/'}: {text}" for pointer, text in places[1:])
        if len(found) > MAX_ERRORS:
            reason += f"; and {len(found) - MAX_ERRORS} more"
        return RemoteProtocolError(revision=self._revision, method=method, pointer=places[0][0], reason=clipped(reason))


def faults(type_: WireType[Any], value: Any) -> list[Broken]:
    """Return where a value does not match a type, strictly: at most `MAX_ERRORS` locations, none if it matches."""
    try:
        type_.validate(value)
    except ValidationError as error:
        found = _judged(error, value, type_)
        if not found:
            return [Broken("", _too_many(error))]
        places = {_shown(details, value): clipped(details["msg"]) for details in reversed(found)}
        return [Broken(pointer, reason) for pointer, reason in reversed(places.items())][:MAX_ERRORS]
    return []


def _too_many(error: ValidationError) -> str:
    return f"{error.error_count():,} values do not match the schema"


def _shown(details: ErrorDetails, value: Any) -> str:
    return clipped(spell_pointer(locate(details, value)))


def _judged(error: ValidationError, value: Any, type_: WireType[Any]) -> list[ErrorDetails]:
    """Return the errors that matter; none if there are too many to examine."""
    if error.error_count() > MAX_FOUND:
        return []
    return judged(error.errors(include_url=False, include_context=False), value, type_.package)


def _kind(value: Any) -> Any:
    return value.get("type") if is_object(value) else None


def _null_at(details: ErrorDetails, value: Any) -> Path | None:
    """Return the location of the null that an error is about; None if it is about something else."""
    if details["input"] is not None:
        return None
    path = locate(details, value)
    return path if path and isinstance(path[-1], str) else None


_Gone: TypeAlias = "dict[str | int, _Gone]"
"""Locations of nulls to remove, by the names on the way there."""
_EACH = 0
"""The step to each item of a list."""
_END = 1
"""The step after the name of what is removed."""


def _put(gone: _Gone, path: Path) -> bool:
    """Add a location, the same in all items of a list; return whether it is new."""
    for part in path:
        gone = gone.setdefault(part if isinstance(part, str) else _EACH, {})
    is_new = _END not in gone
    gone[_END] = {}
    return is_new


def _without(value: Any, gone: _Gone) -> Any:
    if is_object(value):
        kept = {name: inner for name, inner in value.items() if inner is not None or _END not in gone.get(name, {})}
        return {name: _without(inner, gone[name]) if name in gone else inner for name, inner in kept.items()}
    if is_array(value) and _EACH in gone:
        return [_without(item, gone[_EACH]) for item in value]
    return value
