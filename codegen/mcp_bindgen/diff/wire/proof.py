"""Prove a break: a value that its sender may send, and that its receiver rejects because of the changed place."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

from jsonschema import ValidationError

from mcp_bindgen.ir.json_values import is_list, is_object
from mcp_bindgen.values.builder import ANY_KEY, Step

MAX_CANDIDATES = 200
"""The number of values tried for one break."""

MAX_HINTS = 10
"""The number of numbers and of strings in a reading that are tried."""

_STRING = re.compile(r'"([^"\\]*)"')
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_Value = TypeVar("_Value")
Place: TypeAlias = Sequence[str | int]


class Proof(NamedTuple, Generic[_Value]):
    """The result of the search for a proof: the value if `is_found`, and how many of the tried values may be sent."""

    is_found: bool
    value: _Value | None
    sent: int


def prove(
    candidates: Iterable[_Value], *, sends: Callable[[_Value], bool], refuses: Callable[[_Value], bool]
) -> Proof[_Value]:
    """Find the first candidate that its sender may send and its receiver rejects."""
    sent = 0
    for value in islice(candidates, MAX_CANDIDATES):
        if sends(value):
            sent += 1
            if refuses(value):
                return Proof(True, value, sent)
    return Proof(False, None, sent)


def repairs(value: Any, place: Place, others: Iterable[Any], there: Place) -> Iterator[Any]:
    """Iterate over copies of a value whose content at a place is left out, or replaced by that of other values."""
    yield _put(value, place, None, there, leave_out=True)
    for other in others:
        is_there, found = at(other, there)
        yield _put(value, place, found, there, leave_out=not is_there)


def put(value: Any, place: Place, found: Any) -> Any:
    """Return a copy of a value with other content at a place that it has."""
    return _put(value, place, found, place, leave_out=False) if place else found


def completed(value: Any, place: Place, other: Any, there: Place) -> Any:
    """Return a value with the properties of another one beside the way to a place, where it lacks them."""
    if is_list(value) and is_list(other) and other and place:
        return [completed(part, place[1:], other[0], there[1:]) for part in value]
    if not is_object(value) or not is_object(other) or not place:
        return value
    key, was = place[0], there[0]
    whole = {**{name: part for name, part in other.items() if name not in (key, was)}, **value}
    if key in value and was in other:
        whole[str(key)] = completed(value[str(key)], place[1:], other[str(was)], there[1:])
    return whole


def at(value: Any, place: Place) -> tuple[bool, Any]:
    """Return whether a value has content at a place, and that content."""
    for step in place:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return False, None
    return True, value


def _put(value: Any, place: Place, found: Any, there: Place, *, leave_out: bool) -> Any:
    key, *rest = place
    if is_list(value):
        if not rest:
            return [] if leave_out else [found for _ in value]
        return [_put(part, rest, found, there[1:], leave_out=leave_out) for part in value]
    if not is_object(value):
        return value
    kept = value
    if rest:
        return {**kept, key: _put(kept[key], rest, found, there[1:], leave_out=leave_out)} if key in kept else kept
    kept = {name: member for name, member in kept.items() if name != key}
    return kept if leave_out else {**kept, there[0]: found}


def hints_in(*readings: str) -> tuple[float | str, ...]:
    """Return the numbers and the strings in the readings of the two sides: values to try, sizes and names."""
    text = " ".join(readings)
    numbers = [float(number) for number in _NUMBER.findall(text)[:MAX_HINTS]]
    return (*numbers, *_STRING.findall(text)[:MAX_HINTS])


def are_about(errors: Iterable[ValidationError], way: tuple[Step, ...]) -> bool:
    """Whether one of the errors, including those in branches of a union, concerns the end of a path."""
    return any(is_about(error, way) for error in _all(errors))


def _all(errors: Iterable[ValidationError]) -> Iterator[ValidationError]:
    for error in errors:
        yield error
        yield from _all(error.context or ())


def is_about(error: ValidationError, way: tuple[Step, ...]) -> bool:
    """Whether an error itself is at the end of a path or below, or at the object that lacks or rejects the property."""
    there = path(way)
    at = list(error.absolute_path)
    if at[: len(there)] == there:
        return True
    is_of_object = error.validator in ("required", "additionalProperties")
    return is_of_object and at == there[:-1] and any(f"'{name}'" in error.message for name in _names(way))


def turned(step: Step) -> Step:
    """Return a step with the names of the other side."""
    return replace(step, name=step.was, was=step.name) if step.was else step


def path(way: tuple[Step, ...]) -> list[str | int]:
    """Return a path as the keys and indexes of JSON values."""
    return list(_path(way))


def _path(way: tuple[Step, ...]) -> Iterator[str | int]:
    for step in way:
        if step.kind == "item":
            yield 0
        elif step.kind not in ("member", "code"):
            yield step.name if step.kind == "field" else ANY_KEY


def _names(way: tuple[Step, ...]) -> Iterator[str]:
    """Iterate over the possible names of the path's last property."""
    for step in reversed(way):
        if step.kind == "field":
            yield from (step.name, step.was)
            return
        if step.kind == "value":
            yield ANY_KEY
            return
