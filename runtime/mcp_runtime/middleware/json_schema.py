"""The cost of evaluating JSON Schema keywords, in steps of a few microseconds each.

A step is what an evaluator spends on the simplest keyword. Some keywords take longer depending on the size of what they
compare, look up or print, and a small schema can request that many times.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sized
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from itertools import count, islice
from typing import Any, Final, cast

from pydantic_core import SchemaError as PatternError
from pydantic_core import SchemaValidator, core_schema

from mcp_runtime.errors import clipped
from mcp_runtime.json_text import MAX_DEPTH
from mcp_runtime.protocol.jsonrpc import spell_pointer

MAX_STEPS: Final = 250_000
"""The maximum number of steps per validation: one to two seconds."""
_LIGHT: Final = 20
"""How many properties or items an evaluator visits, or prints, in one step."""
_COMPARED: Final = 4
"""How many values are compared in one step."""
_MATCHED: Final = 1000
"""How many states of a pattern are tracked per character of text in one step."""
_ENOUGH: Final = 1 << 40
"""The largest number of states that is counted: nested repetitions multiply it."""
_CHARACTERS: Final = 32
"""How many characters of a text weigh as much as a value."""


class TooManySteps(Exception):
    """A validation exceeds the maximum number of steps."""


class Meter:
    """Counts the steps of one validation at a time.

    Args:
        schema: the schema, which must live as long as the meter.
        max_steps: the maximum number of steps per validation.
    """

    def __init__(self, schema: Any, max_steps: int) -> None:
        self._max_steps = max_steps
        self._left = max_steps
        self._weights: dict[int, int] = {}
        self._size = self._weigh(schema, self._weights)
        self._own: dict[int, int] = {}

    def start(self, value: Any) -> None:
        """Begin the validation of a value, which must live until the next one begins."""
        self._left = self._max_steps
        self._own = {}
        self._weigh(value, self._own)

    def spend(self, steps: int) -> None:
        """Count steps.

        Raises:
            TooManySteps: the maximum is exceeded.
        """
        self._left -= steps
        if self._left < 0:
            raise TooManySteps

    def keyword(self, name: str, argument: Any, instance: Any) -> None:
        """Count the evaluation of a keyword; keywords inside it count themselves."""
        match name:
            case "$ref" | "$dynamicRef" | "$recursiveRef":
                # A pointer is followed; anything else is searched for in the whole schema.
                is_pointer = isinstance(argument, str) and argument.startswith("#/")
                steps = 10 + (argument.count("/") if is_pointer else self._size // 2)
            case "enum" | "const" | "uniqueItems":
                steps = 1 + self.weight(instance) // _COMPARED
            case "contains":
                steps = 1 + 2 * _members(instance)
            case _:
                steps = 1 + (_members(argument) + _members(instance)) // _LIGHT
        self.spend(steps)

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
        weight = weights[id(held)] = 1 + sum(self._weigh(one, weights) for one in inner)
        return weight


def _members(value: Any) -> int:
    return len(cast("Sized", value)) if isinstance(value, Mapping | list | tuple) else 0


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


MAX_NODES: Final = 100_000
"""How many values a schema may consist of."""
_MAX_ERRORS: Final = 20
"""Among how many errors the most relevant one is chosen."""
_UNBOUNDED: Final = frozenset(("patternProperties", "unevaluatedItems", "unevaluatedProperties"))
"""Keywords whose cost is not bounded here, so they are refused in a peer's schema."""
_INSTALL: Final = "validation needs jsonschema: pip install 'mcp-bindgen[validation]'"


def _load(name: str) -> Any:
    """Import a part of the validation library, which has no complete types.

    Raises:
        ModuleNotFoundError: it is not installed.
    """
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(_INSTALL, name=error.name) from None


def check_installed() -> None:
    """Check that the validation library is installed.

    Raises:
        ModuleNotFoundError: it is not; the text says how to install it.
    """
    _load("jsonschema.validators")


class UnusableSchema(Exception):
    """A schema cannot be used for validation; the text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mismatch:
    """Where a value does not match its schema, and why.

    Attributes:
        pointer: the location, as a JSON pointer.
        reason: what is wrong there, for people and for models.
    """

    pointer: str
    reason: str

    def __str__(self) -> str:
        return f"{self.pointer}: {self.reason}" if self.pointer else self.reason


class Check:
    """A compiled schema.

    The dialect is that of ``$schema``, or else 2020-12. A ``$ref`` that leads out of the schema is never followed.

    Args:
        schema: a JSON Schema, as parsed JSON.
        is_trusted: whether the schema is your own; a schema from a peer must not be able to freeze the program.
        max_steps: the maximum number of steps per validation; `schema_cost` defines the cost of keywords.

    Raises:
        UnusableSchema: it is not valid, its dialect is unknown, or it is too large.
        ModuleNotFoundError: the validation library is not installed.
    """

    def __init__(self, schema: Mapping[str, Any], *, is_trusted: bool = True, max_steps: int = MAX_STEPS) -> None:
        library = _load("jsonschema.validators")
        name = schema.get("$schema", library.Draft202012Validator.META_SCHEMA["$id"])
        dialect = library.validator_for({"$schema": name}, default=None) if isinstance(name, str) else None
        if dialect is None:
            raise UnusableSchema(f"the JSON Schema dialect {clipped(str(name), 100)} is not supported")
        plain = _plain(schema, frozenset() if is_trusted else _UNBOUNDED)
        if is_trusted:
            _check_schema(dialect, plain)
        elif found := _Evaluator(dialect, _plain(dialect.META_SCHEMA), max_steps).find(plain):
            raise UnusableSchema(f"not a valid JSON Schema: {clipped(str(found), 200)}")
        self._evaluator = _Evaluator(dialect, plain, max_steps, needs_linear_patterns=not is_trusted)

    def find(self, value: Any) -> Mismatch | None:
        """Return where a value does not match the schema; None if it does.

        Raises:
            UnusableSchema: a reference cannot be resolved, or the schema is too expensive to evaluate.
        """
        return self._evaluator.find(value)


def _plain(
    value: Any, without: frozenset[str] = frozenset(), depth: int = 0, nodes: Iterator[int] | None = None
) -> Any:
    """Copy a schema without ``$schema``, at which the library would switch to validators without bounds.

    Raises:
        UnusableSchema: it is too large, or has one of the keywords in `without`.
    """
    nodes = nodes or count(1)
    if depth > MAX_DEPTH or next(nodes) > MAX_NODES:
        raise UnusableSchema("the schema is too large, or nested too deeply")
    if isinstance(value, Mapping):
        members = cast("Mapping[str, Any]", value)
        if found := without & members.keys():
            raise UnusableSchema(f"{min(found)} is not supported in a peer's schema")
        return {
            name: _plain(member, without, depth + 1, nodes)
            for name, member in members.items()
            if name != "$schema" or not isinstance(member, str)
        }
    if isinstance(value, list | tuple):
        return [_plain(item, without, depth + 1, nodes) for item in cast("list[Any]", value)]
    return value


@cache
def _registry() -> Any:
    """Return the schemas of the dialects, for references to them: otherwise the library might fetch them."""
    specification = _load("referencing.jsonschema").specification_with
    known: Mapping[str, Any] = _load("jsonschema_specifications").REGISTRY
    contents = {uri: resource.contents for uri, resource in known.items()}
    return (
        _load("referencing")
        .Registry()
        .with_resources(
            (uri, specification(schema["$schema"]).create_resource(_plain(schema))) for uri, schema in contents.items()
        )
    )


def _check_schema(dialect: Any, schema: Any) -> None:
    schema_error: type[Exception] = _load("jsonschema.exceptions").SchemaError
    try:
        dialect.check_schema(schema)
    except schema_error as error:
        raise UnusableSchema(f"not a valid JSON Schema: {clipped(getattr(error, 'message', ''), 200)}") from None
    except RecursionError:
        raise UnusableSchema("the schema is nested too deeply") from None


class _Evaluator:
    """Evaluates a schema, and counts the steps."""

    def __init__(self, dialect: Any, schema: Any, max_steps: int, *, needs_linear_patterns: bool = False) -> None:
        self._meter = Meter(schema, max_steps)
        self._needs_linear_patterns = needs_linear_patterns
        self._patterns: dict[str, tuple[Callable[[str], bool], int]] = {}
        self._constants: dict[int, frozenset[str]] = {}
        own: Mapping[str, Callable[..., Any]] = {
            "pattern": self._pattern,
            "enum": self._enum,
            "const": self._const,
            "uniqueItems": self._unique_items,
        }
        keywords = {name: self._counted(own.get(name) or keyword, name) for name, keyword in dialect.VALIDATORS.items()}
        bounded = _load("jsonschema.validators").extend(dialect, keywords)
        self._validator = bounded(schema, registry=_registry())

    def find(self, value: Any) -> Mismatch | None:
        exceptions = _load("jsonschema.exceptions")
        unresolvable: type[Exception] = _load("referencing.exceptions").Unresolvable
        try:
            self._meter.start(value)
            error = exceptions.best_match(islice(self._validator.iter_errors(value), _MAX_ERRORS))
        except unresolvable as unresolved:
            reference = clipped(str(getattr(unresolved, "ref", "")), 100)
            raise UnusableSchema(f"a reference in the schema cannot be resolved: {reference}") from None
        except RecursionError:
            raise UnusableSchema("the schema or the value is nested too deeply") from None
        except TooManySteps:
            raise UnusableSchema("validation takes too many steps") from None
        except (ArithmeticError, TypeError, ValueError) as broken:
            raise UnusableSchema(f"the schema cannot be evaluated: {clipped(str(broken), 100)}") from None
        if error is None:
            return None
        return Mismatch(pointer=spell_pointer(tuple(error.absolute_path)), reason=clipped(error.message))

    def _counted(self, keyword: Callable[..., Any], name: str) -> Callable[..., Any]:
        meter = self._meter

        def counted(validator: Any, argument: Any, instance: Any, schema: Any) -> Iterator[Any]:
            meter.keyword(name, argument, instance)
            for error in keyword(validator, argument, instance, schema) or ():
                meter.error(argument, instance)
                yield error

        return counted

    # The library compares each value with every other one: these take linear time.

    def _enum(self, validator: Any, values: list[Any], instance: Any, schema: Any) -> Iterator[Any]:
        allowed = self._constants.get(id(values))
        if allowed is None:
            self._meter.spend(self._meter.weight(values))
            allowed = self._constants[id(values)] = frozenset(map(canonical, values))
        if canonical(instance) not in allowed:
            yield _error(f"{instance!r} is not one of {values!r}")

    def _const(self, validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[Any]:
        self._meter.spend(self._meter.weight(value))
        if canonical(instance) != canonical(value):
            yield _error(f"{value!r} was expected")

    def _unique_items(self, validator: Any, argument: Any, instance: Any, schema: Any) -> Iterator[Any]:
        if argument and validator.is_type(instance, "array") and len(set(map(canonical, instance))) < len(instance):
            yield _error(f"{instance!r} has non-unique elements")

    def _pattern(self, validator: Any, pattern: str, instance: Any, schema: Any) -> Iterator[Any]:
        """Evaluate ``pattern`` in time that is linear in the length of the text, unlike `re`."""
        if isinstance(instance, str):
            matches, size = self._patterns.get(pattern) or self._patterns.setdefault(pattern, self._matcher(pattern))
            self._meter.match(size, instance)
            if not matches(instance):
                yield _error(f"{clipped(instance, 100)!r} does not match {clipped(pattern, 100)!r}")

    def _matcher(self, pattern: str) -> tuple[Callable[[str], bool], int]:
        """Return a function that matches a pattern, and the number of its states."""
        size = states(pattern)
        self._meter.spend(size)
        try:
            schema = core_schema.str_schema(pattern=pattern, regex_engine="rust-regex")
            return SchemaValidator(schema).isinstance_python, size
        except PatternError:
            # Backreferences and lookarounds have no linear algorithm; a program may use them in its own schemas.
            if self._needs_linear_patterns:
                raise UnusableSchema(f"the pattern {clipped(pattern, 100)!r} is not supported") from None
        compiled = re.compile(pattern)
        return lambda text: compiled.search(text) is not None, size


def _error(reason: str) -> Any:
    return _load("jsonschema.exceptions").ValidationError(reason)
