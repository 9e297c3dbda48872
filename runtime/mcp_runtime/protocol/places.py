"""Where in a message pydantic's errors are, and which of them matter.

Pydantic includes the branches of unions in a location (``content, 0, text, annotations``), although messages have none,
and reports the errors of each branch that it tried.
"""

from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Any, Final, TypeAlias

from pydantic_core import ErrorDetails

from mcp_runtime.protocol.jsonrpc import is_array, is_object

Path: TypeAlias = tuple[str | int, ...]

MAX_READINGS: Final = 64
"""How many interpretations of one location are tried."""
_NOTHING: Final = object()


def spell_pointer(path: Path) -> str:
    """Format a path as a JSON pointer (RFC 6901)."""
    return "".join(f"/{str(part).replace('~', '~0').replace('/', '~1')}" for part in path)


def _child(value: Any, part: str | int) -> Any:
    """Return the value at a step of an object or array, `_NOTHING` if there is none."""
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
    names: Iterable[str] = getattr(model, "__constants__", ())
    return [model.model_fields[constant].alias or constant for constant in names]


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
