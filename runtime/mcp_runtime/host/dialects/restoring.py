"""Mapping a model's arguments back to what the tool's own schema accepts."""

import json
from collections.abc import Mapping
from typing import Any, Final

from mcp_runtime.core.json.values import is_array, is_object
from mcp_runtime.host.dialects.reading import (
    MAX_STEPS,
    VISITED,
    Fragments,
    Inexpressible,
    Reader,
    fits,
    items_of,
    modern,
    properties_of,
    property_name,
    required_of,
    types,
)
from mcp_runtime.json_schema.check import MAX_SECONDS, Check, ExhaustedSchema, UnusableSchema
from mcp_runtime.json_schema.meter import Meter, TooManySteps

_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"


def restore(schema: Mapping[str, Any], value: Any, seconds: float = MAX_SECONDS) -> Any:
    """Map a model's arguments back to what the tool's own schema accepts.

    Null for a property that is optional and not nullable means that it is absent; altered names of properties get
    their own back; JSON text is read where an object or a list is expected.

    Args:
        schema: the tool's schema of its arguments.
        value: the arguments.
        seconds: the maximum CPU time.

    Returns:
        The arguments; as they are if the schema takes too many steps to read.
    """
    try:
        reader = _Restorer(modern(schema), seconds)
        return reader.value(reader.fragments("", reader.root), value)
    except (Inexpressible, ExhaustedSchema, TooManySteps, RecursionError):
        return value


class _Restorer(Reader):
    """Maps values back; reading the schema and trying alternatives count on one meter."""

    def __init__(self, root: Mapping[str, Any], seconds: float) -> None:
        self.check: Check | None = None
        try:
            self.check = Check({**root, "$schema": _DIALECT}, is_trusted=False, seconds=seconds)
            self.check.restart(seconds)
        except ExhaustedSchema:
            raise
        except UnusableSchema:  # Alternatives are chosen by names and types alone.
            pass
        super().__init__(*((root, Meter(MAX_STEPS)) if self.check is None else (self.check.schema, self.check.meter)))

    def value(self, fragments: Fragments, value: Any) -> Any:
        fragments = self.meant(fragments, value)
        if isinstance(value, str):
            given = [given for _, schema in fragments for given in types(schema)]
            if not given or not set[str].intersection(*given) <= {"object", "array", "null"}:
                return value
            try:
                read = json.loads(value)
            except ValueError:
                return value
            return value if isinstance(read, str) else self.value(fragments, read)
        if is_array(value):
            items = self.at(fragments, "items")
            return [self.value(items, item) for item in value]
        return self.object(fragments, value) if is_object(value) else value

    def object(self, fragments: Fragments, value: Mapping[str, Any]) -> dict[str, Any]:
        self.meter.spend(1 + sum(len(properties_of(schema)) for _, schema in fragments) // VISITED)
        own = {property_name(name): name for _, schema in fragments for name in properties_of(schema)}
        required = required_of(fragments)
        found: dict[str, Any] = {}
        for given, inner in value.items():
            name = own.get(given, given)
            inside = self.at(fragments, "properties", name)
            if inner is not None or name in required or given not in own or self.takes_null(inside):
                found[name] = self.value(inside, inner)
        return found

    def at(self, fragments: Fragments, *path: str) -> Fragments:
        """Return what is said of the items, or of a property, or else of additional ones."""
        found: Fragments = ()
        self.meter.spend(1 + len(fragments))
        for _, schema in fragments:
            inner: Any = schema
            for name in path:
                inner = inner.get(name) if is_object(inner) else None
            if inner is None and len(path) > 1:
                inner = schema.get("additionalProperties")
            found += self.fragments("", inner)
        return found

    def meant(self, fragments: Fragments, value: Any) -> Fragments:
        """Return the fragments with those of the alternatives that a value is meant for."""
        for _, _, options in self.unions(fragments):
            ranked = sorted(options, key=lambda option: self.likeness(option, value), reverse=True)
            best = next((option for option in ranked if self.accepts(option, value)), ranked[0])
            fragments += self.meant(best, value)
        return fragments

    def accepts(self, option: Fragments, value: Any) -> bool:
        """Whether a value, mapped back by an alternative, is valid for it."""
        if self.check is None:
            return True
        try:
            return self.check.find_in({"allOf": [schema for _, schema in option]}, self.value(option, value)) is None
        except ExhaustedSchema:
            raise
        except UnusableSchema:
            return True

    def likeness(self, fragments: Fragments, value: Any) -> int:
        """Rate how well a value fits a schema: by its type and its names."""
        points = -100 * any(
            not any(fits(value, name) for name in given) for _, schema in fragments for given in types(schema)
        )
        for _, schema in fragments if is_object(value) else ():
            self.meter.spend(1 + (len(items_of(schema.get("required"))) + len(properties_of(schema))) // VISITED)
            points -= 10 * sum(value.get(property_name(str(name))) is None for name in items_of(schema.get("required")))
            points += sum(value.get(property_name(name)) is not None for name in properties_of(schema))
        return points

    def takes_null(self, fragments: Fragments) -> bool:
        if any("null" not in given for _, schema in fragments for given in types(schema)):
            return False
        return all(any(map(self.takes_null, options)) for _, _, options in self.unions(fragments))
