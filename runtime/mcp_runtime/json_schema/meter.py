"""The cost of evaluating JSON Schema keywords, in steps of a few microseconds each.

A step is what an evaluator spends on the simplest keyword. Some keywords take longer depending on the size of what they
compare, look up or print, and a small schema can request that many times.
"""

import json
import re
from collections.abc import Mapping, Sized
from math import inf
from time import thread_time
from typing import Any, Final, cast

MAX_STEPS: Final = 250_000
"""The maximum number of steps per validation by a schema of the program's own: one to two seconds."""
PEER_STEPS: Final = 50_000
"""The maximum number of steps with a peer's schema."""
MAX_LEVELS: Final = 64
"""How deep values, alternatives and references may be nested where a schema is read."""
_BLIND: Final = 16
"""After how many steps the clock is read again, which takes as long as a fifth of a step."""
_PER_VALUE: Final = 8
"""How many more steps a validation may take per value in what it validates."""
MAX_NESTED: Final = 150
"""How many keywords may be evaluated within each other, which takes four times as many calls of functions: where
Python's own limit is met, the library may panic instead of raising RecursionError."""
_LIGHT: Final = 20
"""How many properties or items an evaluator visits, or prints, in one step."""
_COMPARED: Final = 2
"""How many values are compared in one step."""
_MATCHED: Final = 1000
"""How many states of a pattern are tracked per character of text in one step."""
_ENOUGH: Final = 1 << 40
"""The largest number of states that is counted: nested repetitions multiply it."""
_HOLDERS: Final = tuple[type[Sized], ...]((dict, list, tuple))
"""The types of parsed objects and arrays."""
_CHARACTERS: Final = 32
"""How many characters of a text weigh as much as a value."""


class TooManySteps(Exception):
    """A walk of a schema exceeds the maximum number of steps, or its time."""


class Meter:
    """Counts the steps of one walk at a time, and bounds its depth.

    Args:
        max_steps: the maximum number of steps.
        until: when it ends at the latest, by `time.thread_time`.
    """

    def __init__(self, max_steps: int = MAX_STEPS, until: float = inf) -> None:
        self._max_steps = max_steps
        self.restart(until)

    @property
    def used(self) -> int:
        """How many steps were counted."""
        return self._max_steps - self._left

    def restart(self, until: float = inf) -> None:
        """Begin another walk."""
        self._left = self._look = self._max_steps
        self._until = until

    def spend(self, steps: int, depth: int = 0) -> None:
        """Count steps at a depth.

        Raises:
            TooManySteps: a maximum is exceeded.
        """
        self._left -= steps
        if depth > MAX_LEVELS:
            raise TooManySteps
        if self._left < self._look:
            self._look = self._left - _BLIND
            self.check()

    def check(self) -> None:
        """Check whether there is time left; raises TooManySteps."""
        if self._left < 0 or thread_time() > self._until:
            raise TooManySteps


class KeywordMeter(Meter):
    """Counts the steps of evaluating the keywords of a schema.

    Args:
        schema: the schema, which must live as long as the meter.
        max_steps: the maximum number of steps per validation.
        until: when it ends at the latest, by `time.thread_time`.

    Raises:
        TooManySteps: it is too late.
    """

    def __init__(self, schema: Any, max_steps: int, until: float) -> None:
        super().__init__(max_steps, until)
        self._weights: dict[int, int] = {}
        self._size = self._weigh(schema, self._weights)
        self._own: dict[int, int] = {}
        self._nested = 0

    def start(self, value: Any, *, is_whole: bool) -> None:
        """Begin the validation of a value, which must live until the next one begins; raises TooManySteps.

        A whole value may take more steps the larger it is. Its parts may not: they are validated again and again.
        """
        self._own, self._nested = {}, 0
        weight = self._weigh(value, self._own)
        if is_whole:
            self._left += min(weight * _PER_VALUE, MAX_STEPS)
            self._look = self._left
        else:
            self.spend(weight // _LIGHT)

    def keyword(self, name: str, argument: Any, instance: Any) -> None:
        """Count the evaluation of a keyword; keywords inside it count themselves."""
        match name:
            case "$ref" | "$dynamicRef" | "$recursiveRef":
                # A pointer is followed; anything else is searched for in the whole schema.
                is_pointer = isinstance(argument, str) and argument.startswith("#/")
                steps = 10 + (argument.count("/") if is_pointer else self._size)
            case "enum" | "const" | "uniqueItems":
                steps = 1 + self.weight(instance) // _COMPARED
            case "contains":
                steps = 1 + 2 * (len(instance) if isinstance(instance, _HOLDERS) else 0)
            case _:  # inlined: every keyword of every value passes here
                steps = len(argument) if isinstance(argument, _HOLDERS) else 0
                steps = 1 + (steps + (len(instance) if isinstance(instance, _HOLDERS) else 0)) // _LIGHT
        self.spend(steps)

    def enter(self) -> None:
        """Begin what is within a keyword.

        Raises:
            RecursionError: too many keywords are within each other.
        """
        self._nested += 1
        if self._nested > MAX_NESTED:
            raise RecursionError

    def leave(self) -> None:
        """End what is within a keyword."""
        self._nested -= 1

    def error(self, argument: Any, instance: Any) -> None:
        """Count an error, whose text contains the value and what is expected."""
        self.spend(1 + (self.weight(argument) + self.weight(instance)) // _LIGHT)

    def match(self, states: int, text: str) -> None:
        """Count the matching of a text with a pattern that has `states` states."""
        self.spend(states * len(text) // _MATCHED)

    def weight(self, value: Any) -> int:
        """Return the number of values in a value of the schema, or in the one being validated."""
        if isinstance(value, str):
            return 1 + len(value) // _CHARACTERS
        return self._own.get(id(value)) or self._weights.get(id(value)) or 1

    def _weigh(self, value: Any, weights: dict[int, int]) -> int:
        if isinstance(value, str):
            return 1 + len(value) // _CHARACTERS
        if not isinstance(value, Mapping | list | tuple):
            return 1
        held = cast("Mapping[str, Any] | list[Any]", value)
        inner = held.values() if isinstance(held, Mapping) else held
        self.check()
        weight = weights[id(held)] = 1 + sum(self._weigh(one, weights) for one in inner)
        return weight


def weight_of(value: Any) -> int:
    """Return the number of values in a JSON value; a long text counts as several."""
    if isinstance(value, str):
        return 1 + len(value) // _CHARACTERS
    if not isinstance(value, dict | list):
        return 1
    held = cast("dict[str, Any] | list[Any]", value)
    return 1 + sum(map(weight_of, held.values() if isinstance(held, dict) else held))


def canonical(value: Any) -> str:
    """Return a text shared by JSON values that JSON Schema treats as equal: 1 and 1.0, but not 1 and true.

    Raises:
        ValueError: a number is too long.
    """
    if isinstance(value, Mapping):
        members = sorted(cast("Mapping[str, Any]", value).items())
        return "{" + ",".join(f"{json.dumps(name)}:{canonical(member)}" for name, member in members) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(canonical, cast("list[Any]", value))) + "]"
    return str(int(value)) if isinstance(value, float) and value.is_integer() else json.dumps(value)


# Linear for any pattern: a class that is not closed extends to the end, and a longer number is not a repetition.
_TOKEN: Final = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*+(?:\]|\\?\Z)|\{(\d{1,9}+)(,?)(\d{0,9}+)\}|.", re.DOTALL)


def states(pattern: str) -> int:
    """Return the approximate number of states of a regular expression's automaton, counting repetitions."""
    outer: list[int] = []
    whole, last = 0, 0
    for token in _TOKEN.finditer(pattern):
        text = token.group()
        if text == "(":
            outer.append(whole + last)
            whole = last = 0
        elif text == ")" and outer:
            whole, last = outer.pop(), whole + last
        elif token[1] is not None:
            last = min(last * max(1, int(token[3] or token[1])), _ENOUGH)
        elif text not in "*+?":
            whole, last = whole + last, 1
    return sum(outer) + whole + last
