"""Validate JSON values against untrusted schemas: bounded, and without network access."""

from collections.abc import Callable, Iterator
from importlib import import_module
from itertools import islice
from typing import Any

from jsonschema import ValidationError
from jsonschema.exceptions import SchemaError
from jsonschema.validators import Draft202012Validator, validator_for

from mcp_bindgen.ir.scalars import matcher
from mcp_bindgen.json_values import is_object

MAX_STEPS = 20_000
"""The maximum number of keywords that one validation evaluates."""
MAX_ALL_STEPS = 2_000_000
"""The maximum number of keywords in all validations by one schema, about a few seconds; later ones are undecided."""
MAX_ERRORS = 50
_UNBOUNDED = frozenset(("patternProperties", "unevaluatedItems", "unevaluatedProperties"))


class Undecidable(Exception):
    """The validity of a value cannot be decided, or not in reasonable time."""


class Validity:
    """Judges values by one schema, in the dialect that it names, 2020-12 if it names none.

    Raises:
        Undecidable: it is not a valid schema, or its dialect is unknown.
    """

    def __init__(self, schema: Any) -> None:
        self._steps = self._all_steps = 0
        plain = {name: value for name, value in schema.items() if name != "$schema"} if is_object(schema) else schema
        dialect = schema.get("$schema") if is_object(schema) else None
        known: Any = Draft202012Validator
        if isinstance(dialect, str):
            known = validator_for({"$schema": dialect}, default=Draft202012Validator)
        keywords = {**known.VALIDATORS, "pattern": _pattern} | dict.fromkeys(_UNBOUNDED, _refuse)
        try:
            known.check_schema(plain)
            bounded = _load("jsonschema.validators").extend(
                known, {name: self._counted(keyword) for name, keyword in keywords.items()}
            )
            self._validator: Any = bounded(plain, registry=_load("jsonschema_specifications").REGISTRY)
        except (SchemaError, RecursionError) as error:
            raise Undecidable(f"not a valid schema: {type(error).__name__}") from None

    def accepts(self, value: Any) -> bool:
        """Whether a value is certainly valid."""
        return self._errors(value, 1) == []

    def errors(self, value: Any) -> list[ValidationError]:
        """Return why a value is certainly invalid; empty if that is not certain."""
        return self._errors(value, MAX_ERRORS) or []

    def _errors(self, value: Any, limit: int) -> list[ValidationError] | None:
        self._steps = 0
        try:
            return list(islice(self._validator.iter_errors(value), limit))
        except Exception:  # Too many steps, a dangling reference, bounds other than numbers, and so on.
            return None

    def _counted(self, keyword: Callable[..., Any]) -> Callable[..., Any]:
        def counted(validator: Any, value: Any, instance: Any, schema: Any) -> Any:
            self._steps += 1
            self._all_steps += 1
            if self._steps > MAX_STEPS or self._all_steps > MAX_ALL_STEPS:
                raise Undecidable("too many steps")
            return keyword(validator, value, instance, schema)

        return counted


def _load(name: str) -> Any:
    """Import a part of the library without complete types."""
    return import_module(name)


def _refuse(validator: Any, value: Any, instance: Any, schema: Any) -> Any:
    raise Undecidable("a keyword that is not evaluated")


def _pattern(validator: Any, pattern: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
    matches = matcher(str(pattern))
    if matches is None:
        raise Undecidable("a pattern that has no linear algorithm")
    if isinstance(instance, str) and not matches(instance):
        yield ValidationError("pattern")
