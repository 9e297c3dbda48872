"""JSON Schemas, compiled: a peer's own one takes little time, and no reference leads out of it."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from itertools import count, islice
from math import inf
from time import thread_time
from typing import Any, Final, cast

from pydantic_core import SchemaError as PatternError
from pydantic_core import SchemaValidator, core_schema

from mcp_runtime.core.errors import clipped
from mcp_runtime.core.json.text import MAX_DEPTH
from mcp_runtime.core.json.values import spell_pointer
from mcp_runtime.json_schema.keywords import malformed
from mcp_runtime.json_schema.meter import MAX_STEPS, PEER_STEPS, KeywordMeter, Meter, TooManySteps, canonical, states

MAX_SECONDS: Final = 0.8
"""The maximum CPU time in seconds of compiling or evaluating a peer's schema; it is checked between keywords."""
_CONSTANTS: Final = frozenset(("const", "enum"))
_MAX_CONSTANT: Final = 64 << 10
"""The maximum length of ``const`` and ``enum`` in a peer's schema, as JSON text."""
MAX_NODES: Final = 100_000
"""How many values a schema may consist of."""
_MAX_ERRORS: Final = 20
"""Among how many errors the most relevant one is chosen."""
_UNBOUNDED: Final = frozenset(("patternProperties", "unevaluatedItems", "unevaluatedProperties"))
"""Keywords whose cost is not bounded here, so they are refused in a peer's schema."""
_TOO_SLOW: Final = "validation takes too many steps"
_INSTALL: Final = "validation needs jsonschema: pip install 'mcp-bindings[validation]'"


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


class ExhaustedSchema(UnusableSchema):
    """A schema takes too many steps, or is nested too deeply: whoever uses it must not go on without checking."""


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
        max_steps: the maximum number of steps per validation; by default fewer for a peer's schema.
        seconds: the maximum CPU time of compiling a schema that is not trusted.

    Attributes:
        schema: the schema that is evaluated, a copy.
        meter: counts the steps.

    Raises:
        UnusableSchema: it is not valid, its dialect is unknown, or it is too large.
        ModuleNotFoundError: the validation library is not installed.
    """

    def __init__(
        self,
        schema: Mapping[str, Any],
        *,
        is_trusted: bool = True,
        max_steps: int | None = None,
        seconds: float = MAX_SECONDS,
    ) -> None:
        self._is_trusted = is_trusted
        until = self._until(seconds)
        library = _load("jsonschema.validators")
        name = schema.get("$schema", library.Draft202012Validator.META_SCHEMA["$id"])
        dialect = library.validator_for({"$schema": name}, default=None) if isinstance(name, str) else None
        if dialect is None:
            raise UnusableSchema(f"the JSON Schema dialect {clipped(str(name), 100)} is not supported")
        plain = _plain(schema, frozenset() if is_trusted else _UNBOUNDED)
        if is_trusted:
            _check_schema(dialect, plain)
        elif found := malformed(plain):
            raise UnusableSchema(f"not a valid JSON Schema: {found}")
        steps = max_steps or (MAX_STEPS if is_trusted else PEER_STEPS)
        self._evaluator = _Evaluator(dialect, plain, steps, until, needs_linear_patterns=not is_trusted)
        self.schema: Any = plain
        self.meter: Meter = self._evaluator.meter

    def find(self, value: Any, seconds: float = MAX_SECONDS) -> Mismatch | None:
        """Return where a value does not match the schema; None if it does.

        Args:
            value: the value.
            seconds: the maximum CPU time, if the schema is not trusted.

        Raises:
            UnusableSchema: a reference cannot be resolved, or the schema is too expensive to evaluate.
        """
        self.restart(seconds)
        return self._evaluator.find(value)

    def restart(self, seconds: float = MAX_SECONDS) -> None:
        """Count steps and time from the start.

        Args:
            seconds: the maximum CPU time, if the schema is not trusted.
        """
        self.meter.restart(self._until(seconds))

    def find_in(self, part: Any, value: Any) -> Mismatch | None:
        """Return where a value does not match a part of the schema; None if it does.

        It counts on from the last `find` or `restart`, so that many parts together are bounded.

        Args:
            part: a schema that consists of parts of `schema`; references in it lead into that.
            value: the value.

        Raises:
            UnusableSchema: a reference cannot be resolved, or the schema is too expensive to evaluate.
        """
        return self._evaluator.find(value, part)

    def errors(self, value: Any) -> list[Any]:
        """Return the errors of the validation library, at most 20; none if a value matches the schema.

        It counts on, like `find_in`.

        Args:
            value: the value.

        Raises:
            UnusableSchema: a reference cannot be resolved, or the schema is too expensive to evaluate.
        """
        return self._evaluator.errors(value, self.schema)

    def _until(self, seconds: float) -> float:
        return inf if self._is_trusted else thread_time() + seconds


def _plain(
    value: Any, without: frozenset[str] = frozenset(), depth: int = 0, nodes: Iterator[int] | None = None
) -> Any:
    """Copy a schema without ``$schema``, at which the library would switch to validators without bounds.

    Raises:
        UnusableSchema: it is too large, or has one of the keywords in `without`.
    """
    nodes = nodes or count(1)
    if depth > MAX_DEPTH or next(nodes) > MAX_NODES:
        raise ExhaustedSchema("the schema is too large, or nested too deeply")
    if isinstance(value, Mapping):
        members = cast("Mapping[str, Any]", value)
        if found := without & members.keys():
            raise UnusableSchema(f"{min(found)} is not supported in a peer's schema")
        if without and any(len(json.dumps(members[name])) > _MAX_CONSTANT for name in _CONSTANTS & members.keys()):
            raise UnusableSchema(f"const and enum of a peer's schema have at most {_MAX_CONSTANT:,} characters")
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

    def __init__(
        self, dialect: Any, schema: Any, max_steps: int, until: float, *, needs_linear_patterns: bool = False
    ) -> None:
        try:
            self.meter = KeywordMeter(schema, max_steps, until)
        except TooManySteps:
            raise ExhaustedSchema(_TOO_SLOW) from None
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

    def find(self, value: Any, part: Any = None) -> Mismatch | None:
        error = _load("jsonschema.exceptions").best_match(self.errors(value, part))
        if error is None:
            return None
        return Mismatch(pointer=spell_pointer(tuple(error.absolute_path)), reason=clipped(error.message))

    def errors(self, value: Any, part: Any = None) -> list[Any]:
        validator = self._validator if part is None else self._validator.evolve(schema=part)
        unresolvable: type[Exception] = _load("referencing.exceptions").Unresolvable
        try:
            self.meter.start(value, is_whole=part is None)
            return list(islice(validator.iter_errors(value), _MAX_ERRORS))
        except unresolvable as unresolved:
            reference = clipped(str(getattr(unresolved, "ref", "")), 100)
            raise UnusableSchema(f"a reference in the schema cannot be resolved: {reference}") from None
        except RecursionError:
            raise ExhaustedSchema("the schema or the value is nested too deeply") from None
        except TooManySteps:
            raise ExhaustedSchema(_TOO_SLOW) from None
        except (ArithmeticError, TypeError, ValueError) as broken:
            raise UnusableSchema(f"the schema cannot be evaluated: {clipped(str(broken), 100)}") from None

    def _counted(self, keyword: Callable[..., Any], name: str) -> Callable[..., Any]:
        meter = self.meter

        def counted(validator: Any, argument: Any, instance: Any, schema: Any) -> Iterator[Any]:
            meter.keyword(name, argument, instance)
            meter.enter()
            try:
                for error in keyword(validator, argument, instance, schema) or ():
                    meter.error(argument, instance)
                    yield error
            finally:
                meter.leave()

        return counted

    # The library compares each value with every other one: these take linear time.

    def _enum(self, validator: Any, values: list[Any], instance: Any, schema: Any) -> Iterator[Any]:
        allowed = self._constants.get(id(values))
        if allowed is None:
            self.meter.spend(self.meter.weight(values))
            allowed = self._constants[id(values)] = frozenset(map(canonical, values))
        if canonical(instance) not in allowed:
            yield _error(f"{instance!r} is not one of {values!r}")

    def _const(self, validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[Any]:
        self.meter.spend(self.meter.weight(value))
        if canonical(instance) != canonical(value):
            yield _error(f"{value!r} was expected")

    def _unique_items(self, validator: Any, argument: Any, instance: Any, schema: Any) -> Iterator[Any]:
        if not argument or not validator.is_type(instance, "array"):
            return
        found: set[str] = set()
        for item in instance:
            self.meter.check()
            found.add(canonical(item))
        if len(found) < len(instance):
            yield _error(f"{instance!r} has non-unique elements")

    def _pattern(self, validator: Any, pattern: str, instance: Any, schema: Any) -> Iterator[Any]:
        """Evaluate ``pattern`` in time that is linear in the length of the text, unlike `re`."""
        if isinstance(instance, str):
            matches, size = self._patterns.get(pattern) or self._patterns.setdefault(pattern, self._matcher(pattern))
            self.meter.match(size, instance)
            if not matches(instance):
                yield _error(f"{clipped(instance, 100)!r} does not match {clipped(pattern, 100)!r}")

    def _matcher(self, pattern: str) -> tuple[Callable[[str], bool], int]:
        """Return a function that matches a pattern, and the number of its states."""
        size = states(pattern)
        self.meter.spend(size + 2 * self.meter.weight(pattern))
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
