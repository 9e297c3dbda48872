"""Arguments made from an input schema: valid ones at its bounds, and ones with a single violation each."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, cast

from mcp_bindgen.ingest.paths import read_json
from mcp_bindgen.ir.diagnostics import InputError
from mcp_bindgen.ir.json_values import as_list, as_object, is_list, is_object
from mcp_bindgen.values.builder import MAX_LENGTH
from mcp_bindgen.values.schema import Least, NoValue, plain_form, value_of
from mcp_runtime.json_schema.meter import PEER_STEPS, Meter, TooManySteps, canonical, weight_of

_TYPES: Final = ("string", "integer", "number", "boolean", "array", "object")


class Validator:
    """Validates values against a schema of somebody else; all together take little time.

    Attributes:
        unusable: why the schema cannot be used; empty if it can, as far as known.
    """

    def __init__(self, schema: Mapping[str, Any]) -> None:
        from mcp_runtime.json_schema.check import Check, UnusableSchema

        self._check: Check | None = None
        self.unusable = ""
        try:
            self._check = Check(schema, is_trusted=False)
            self.restart()
        except UnusableSchema as error:
            self.unusable = str(error)

    def restart(self) -> None:
        """Count steps and time from the start."""
        if self._check is not None:
            self._check.restart()

    def mismatch(self, value: Any) -> str | None:
        """Return why a value is not valid, empty if it is, None if the schema cannot be used."""
        from mcp_runtime.json_schema.check import UnusableSchema

        try:
            return None if self._check is None else str(self._check.find_in(self._check.schema, value) or "")
        except UnusableSchema as error:
            self.unusable = str(error)
            return None


class Arguments:
    """The arguments of one tool.

    Args:
        schema: its input schema.
        known: arguments that are known to be good.

    Attributes:
        mismatch: returns why arguments do not fit the schema, like `Validator.mismatch`.
    """

    def __init__(self, schema: Mapping[str, Any], known: list[dict[str, Any]] | None = None) -> None:
        self._schema = schema
        self.mismatch = Validator(schema).mismatch
        self._known = known or []
        self._properties: dict[str, dict[str, Any]] = {}
        meter = Meter(PEER_STEPS)
        for name, each in as_object(schema.get("properties")).items():
            with suppress(NoValue):
                self._properties[name] = plain_form(each, schema, meter)

    @property
    def smallest(self) -> dict[str, Any] | None:
        """Known good arguments, or the smallest that the schema accepts; None if none are found."""
        return next(self.valid(), None)

    def valid(self) -> Iterator[dict[str, Any]]:
        """Yield different arguments that the schema accepts: the known ones, the smallest, and at each bound."""
        yield from self._known
        tried: set[str] = set()
        with suppress(NoValue, TooManySteps):
            for each in self._tried(Meter(PEER_STEPS)):
                if is_object(each) and (text := canonical(each)) not in tried and self.mismatch(each) == "":
                    tried.add(text)
                    yield each

    def _tried(self, meter: Meter) -> Iterator[Any]:
        """Yield arguments that the schema may accept."""
        smallest = value_of(self._schema, Least(), meter=meter)
        yield smallest
        size = weight_of(smallest)
        for name, each in self._properties.items():
            for value in self._at_bounds(each, meter):
                meter.spend(1 + size // 16)
                yield {**as_object(smallest), name: value}

    def invalid(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield arguments with one violation each, and what that is.

        What a server may reasonably read as something valid is left out: a number as text, an unknown property.
        """
        base = self.smallest or {}
        # Some libraries list a property with a default as required: it describes what the tool sees.
        required = [
            str(name)
            for name in as_list(self._schema.get("required"))
            if "default" not in self._properties.get(str(name), {})
        ]
        tried = [(f"without {name}", {key: base[key] for key in base if key != name}) for name in required]
        for name, each in self._properties.items():
            tried += [(f"with {name} {what}", {**base, name: value}) for what, value in _violations(each)]
        yield from ((what, each) for what, each in tried if self.mismatch(each))

    def _at_bounds(self, schema: Mapping[str, Any], meter: Meter) -> Iterator[Any]:
        """Yield values at the bounds of the schema of a property."""
        with suppress(NoValue):
            yield value_of(schema, Least(), self._schema, meter)
        yield from as_list(schema.get("enum"))
        yield from (schema[key] for key in ("minimum", "maximum") if key in schema)
        sizes = (schema[key] for key in ("minLength", "maxLength") if isinstance(schema.get(key), int))
        yield from ("a" * size for size in sizes if size <= MAX_LENGTH)
        yield from (True,) if schema.get("type") == "boolean" else ()


def _violations(schema: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield values that a schema does not accept, and what is wrong with them."""
    type_: Any = schema.get("type")
    type_ = next((each for each in type_ if each != "null"), None) if is_list(type_) else type_
    if type_ in _TYPES:  # no server can take one of these for the other
        yield f"of another type than {type_}", 1 if type_ in ("array", "object") else {}
    if schema.get("enum"):
        yield "outside its enum", "mcp-bindgen-check"
    sizes = {key: schema.get(key) for key in ("minLength", "maxLength")}
    numbers = {key: schema.get(key) for key in ("minimum", "maximum")}
    if isinstance(numbers["minimum"], int | float):
        yield "too small", numbers["minimum"] - 1
    if isinstance(numbers["maximum"], int | float):
        yield "too large", numbers["maximum"] + 1
    if isinstance(sizes["maxLength"], int) and sizes["maxLength"] < MAX_LENGTH:
        yield "too long", "a" * (sizes["maxLength"] + 1)
    if isinstance(sizes["minLength"], int) and 0 < sizes["minLength"] <= MAX_LENGTH:
        yield "too short", "a" * (sizes["minLength"] - 1)


def known_arguments(path: Path | None) -> dict[str, list[dict[str, Any]]]:
    """Read arguments of tools that a user knows to be good.

    Raises:
        InputError: the file cannot be read, or holds something else.
    """
    if path is None:
        return {}
    value = read_json(path)
    lists = cast("dict[str, Any]", value).values() if isinstance(value, dict) else [None]
    for each in lists:
        items = cast("list[object]", each) if isinstance(each, list) else []
        if not items or not all(isinstance(item, dict) for item in items):
            raise InputError.at(path, 'must map each tool to a list of arguments: {"add": [{"a": 1, "b": 2}]}')
    return cast("dict[str, list[dict[str, Any]]]", value)
