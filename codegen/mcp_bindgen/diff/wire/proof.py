"""Prove a break: a value that its sender may send, and that its receiver rejects because of the changed place."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import islice
from typing import Generic, NamedTuple, TypeVar

from jsonschema import ValidationError

from mcp_bindgen.values.builder import ANY_KEY, Step

MAX_CANDIDATES = 200
"""The number of values tried for one break."""

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_Value = TypeVar("_Value")


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


def numbers_in(*readings: str) -> tuple[float, ...]:
    """Return the numbers in the readings of the two sides: values to try, and sizes."""
    return tuple(float(number) for number in _NUMBER.findall(" ".join(readings))[:10])


def are_about(errors: Iterable[ValidationError], way: tuple[Step, ...]) -> bool:
    """Whether one of the errors, including those in branches of a union, concerns the end of a path."""
    return any(_is_about(error, way) for error in _all(errors))


def _all(errors: Iterable[ValidationError]) -> Iterator[ValidationError]:
    for error in errors:
        yield error
        yield from _all(error.context or ())


def _is_about(error: ValidationError, way: tuple[Step, ...]) -> bool:
    """Whether an error is at the end of the path or below it, or at the object that lacks or rejects the property."""
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
        elif step.kind != "member":
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
