"""JSON Schemas of tools, compiled: bounded, without the network, in the dialects that are known (basic)."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from itertools import islice
from typing import Any, Final, cast

from pydantic_core import SchemaError as PatternError
from pydantic_core import SchemaValidator, core_schema

from mcp_runtime.json_text import MAX_DEPTH
from mcp_runtime.protocol.text import clipped
from mcp_runtime.protocol.validation import spell_pointer

MAX_STEPS: Final = 250_000
"""How many keywords one validation evaluates: a small schema can ask for more than the age of the universe."""
_REFERENCE: Final = 10
"""What following a reference costs, in steps."""
MAX_NODES: Final = 100_000
"""How many values a schema consists of."""
_MAX_ERRORS: Final = 20
"""Among how many errors the most telling one is chosen."""
_UNBOUNDED: Final = frozenset(("patternProperties", "unevaluatedItems", "unevaluatedProperties"))
"""Keywords whose cost nothing bounds here, so that they are refused in the schema of a stranger."""
_INSTALL: Final = "validation needs jsonschema: pip install 'mcp-bindgen[validation]'"


def _load(name: str) -> Any:
    """Import a part of the library that validates, which has no complete types.

    Raises:
        ModuleNotFoundError: it is not installed.
    """
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(_INSTALL, name=error.name) from None


class UnusableSchema(Exception):
    """A schema cannot be used to validate; the text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mismatch:
    """Where a value is not what its schema says, and why.

    Attributes:
        pointer: where, as a JSON pointer.
        reason: what is wrong there, for people and for models.
    """

    pointer: str
    reason: str

    def __str__(self) -> str:
        return f"{self.pointer}: {self.reason}" if self.pointer else self.reason


class Check:
    """A compiled schema.

    The dialect is that of ``$schema``, else 2020-12. A ``$ref`` that leads out of the schema is never followed.

    Args:
        schema: a JSON Schema, as parsed JSON.
        is_trusted: whether the schema is one's own; that of a stranger must not be able to freeze the program.
        max_steps: how many keywords one validation evaluates at most.

    Raises:
        UnusableSchema: it is not valid, its dialect is not known, or it is too large.
        ModuleNotFoundError: the library that validates is not installed.
    """

    def __init__(self, schema: Mapping[str, Any], *, is_trusted: bool = True, max_steps: int = MAX_STEPS) -> None:
        self._max_steps = max_steps
        self._is_trusted = is_trusted
        self._steps = 0
        self._nodes = 0
        self._patterns: dict[str, Callable[[str], bool]] = {}
        self._validator = self._compile(schema)

    def find(self, value: Any) -> Mismatch | None:
        """Return where a value is not what the schema says, None if it is.

        Raises:
            UnusableSchema: the schema leads nowhere, or costs too much.
        """
        exceptions = _load("jsonschema.exceptions")
        unresolvable: type[Exception] = _load("referencing.exceptions").Unresolvable
        self._steps = 0
        try:
            error = exceptions.best_match(islice(self._validator.iter_errors(value), _MAX_ERRORS))
        except unresolvable as unresolved:
            reference = clipped(str(getattr(unresolved, "ref", "")), 100)
            raise UnusableSchema(f"a reference leads nowhere in the schema: {reference}") from None
        except RecursionError:
            raise UnusableSchema("the schema or the value is nested too deep") from None
        except (ArithmeticError, TypeError, ValueError) as broken:
            raise UnusableSchema(f"the schema cannot be evaluated: {clipped(str(broken), 100)}") from None
        if error is None:
            return None
        return Mismatch(pointer=spell_pointer(tuple(error.absolute_path)), reason=clipped(error.message))

    def _compile(self, schema: Mapping[str, Any]) -> Any:
        library = _load("jsonschema.validators")
        schema_error: type[Exception] = _load("jsonschema.exceptions").SchemaError
        dialect = schema.get("$schema", library.Draft202012Validator.META_SCHEMA["$id"])
        known = library.validator_for({"$schema": dialect}, default=None) if isinstance(dialect, str) else None
        if known is None:
            raise UnusableSchema(f"the JSON Schema dialect {clipped(str(dialect), 100)} is not supported")
        plain = self._plain(schema, 0)
        try:
            known.check_schema(plain)
        except schema_error as error:
            raise UnusableSchema(f"not a valid JSON Schema: {clipped(getattr(error, 'message', ''), 200)}") from None
        except RecursionError:
            raise UnusableSchema("the schema is nested too deep") from None
        keywords = {**known.VALIDATORS, "pattern": self._pattern}
        bounded = library.extend(known, {name: self._counted(keyword, name) for name, keyword in keywords.items()})
        # A registry of its own: the default one fetches what a $ref names from the network.
        return bounded(plain, registry=_load("jsonschema_specifications").REGISTRY)

    def _plain(self, value: Any, depth: int) -> Any:
        """Copy a schema without ``$schema``, at which the library would go on with validators that nothing bounds."""
        self._nodes += 1
        if depth > MAX_DEPTH or self._nodes > MAX_NODES:
            raise UnusableSchema("the schema is too large, or nested too deep")
        if isinstance(value, Mapping):
            members = cast("Mapping[str, Any]", value)
            if not self._is_trusted and (found := _UNBOUNDED & members.keys()):
                raise UnusableSchema(f"{min(found)} is not evaluated in the schema of a stranger")
            return {
                name: self._plain(member, depth + 1)
                for name, member in members.items()
                if name != "$schema" or not isinstance(member, str)
            }
        if isinstance(value, list | tuple):
            return [self._plain(item, depth + 1) for item in cast("list[Any]", value)]
        return value

    def _counted(self, keyword: Callable[..., Any], name: str) -> Callable[..., Any]:
        cost = _REFERENCE if name in ("$ref", "$dynamicRef") else 1

        def counted(validator: Any, value: Any, instance: Any, schema: Any) -> Any:
            self._steps += cost
            if self._steps > self._max_steps:
                raise UnusableSchema("validation takes too many steps")
            return keyword(validator, value, instance, schema)

        return counted

    def _pattern(self, validator: Any, pattern: str, instance: Any, schema: Any) -> Iterator[Any]:
        """Evaluate ``pattern`` in time that is linear in the length of the text, as `re` does not."""
        if isinstance(instance, str):
            matches = self._patterns.get(pattern)
            if matches is None:
                matches = self._patterns[pattern] = self._matcher(pattern)
            if not matches(instance):
                reason = f"{clipped(instance, 100)!r} does not match {clipped(pattern, 100)!r}"
                yield _load("jsonschema.exceptions").ValidationError(reason)

    def _matcher(self, pattern: str) -> Callable[[str], bool]:
        try:
            return SchemaValidator(core_schema.str_schema(pattern=pattern, regex_engine="rust-regex")).isinstance_python
        except PatternError:
            # Backreferences and lookarounds have no linear algorithm; a program may use them in schemas of its own.
            if not self._is_trusted:
                raise UnusableSchema(f"the pattern {clipped(pattern, 100)!r} is not supported") from None
        compiled = re.compile(pattern)
        return lambda text: compiled.search(text) is not None
