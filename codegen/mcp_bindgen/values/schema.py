"""Build a value of any JSON Schema, such as that of a tool: the plainest one, or one of random choices.

Schemas are untrusted: depth, size and time are bounded. The value is likely to be valid, so callers validate it.
`mcp_bindgen.values.builder` builds values of the types of a revision, which schemas of tools need not have.
"""

import math
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from random import Random
from typing import Any, Final

from mcp_bindgen.ir.json_values import is_list, is_object, read_pointer
from mcp_bindgen.values.builder import MAX_LENGTH, matching
from mcp_runtime.json_schema.keywords import MEANT
from mcp_runtime.json_schema.meter import MAX_LEVELS, Meter, TooManySteps, weight_of

FULL_DEPTH: Final = 4
"""How deep objects have properties that are not required."""
MAX_STEPS: Final = 2_000
"""How many schemas are visited for one value; in the second half of them, only for what is required."""
MAX_ITEMS: Final = 1_000
"""The longest array."""
NESTING: Final = frozenset(("$ref", "allOf", "anyOf", "items", "oneOf", "properties"))
"""The keywords of schemas that may not come to an end."""
_WORDS: Final = ("amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "harbor", "indigo", "juniper")
_FORMATS: Final[Mapping[str, str]] = {
    "date": "2026-01-{:02}",
    "date-time": "2026-01-{:02}T12:00:00Z",
    "duration": "PT{}M",
    "email": "user{}@example.com",
    "hostname": "host{}.example.com",
    "ipv4": "192.0.2.{}",
    "ipv6": "2001:db8::{}",
    "time": "12:00:{:02}Z",
    "uri": "https://example.com/{}",
    "uri-reference": "/{}",
    "url": "https://example.com/{}",
    "uuid": "00000000-0000-4000-8000-0000000000{:02}",
}


class NoValue(Exception):
    """No value was found; the text says why."""


class Least(Random):
    """Chooses what makes a value small and plain: defaults, first alternatives, no optional property, least sizes."""

    def random(self) -> float:
        """Return the greatest number, which leaves out what has a chance."""
        return 1.0

    def choice(self, seq: Any) -> Any:
        """Return the first one."""
        return seq[0]

    def randint(self, a: int, b: int) -> int:
        """Return the number that is nearest to zero."""
        return max(a, min(b, 0))

    def uniform(self, a: float, b: float) -> float:
        """Return the least number."""
        return a


def value_of(schema: Any, chance: Random, root: Any = None, meter: Meter | None = None) -> Any:
    """Return a value that a schema probably accepts.

    Args:
        schema: the JSON Schema.
        chance: makes the choices.
        root: what its references lead into; by default the schema itself.
        meter: counts the steps of several values; by default those of this one.

    Raises:
        NoValue: it accepts nothing, or is too large or too deep.
    """
    with _malformed_has_no_value():
        return _Builder(schema if root is None else root, chance, meter).value(schema, 0)


def plain_form(schema: Any, root: Any, meter: Meter | None = None) -> dict[str, Any]:
    """Return a schema without references and alternatives: what refers is replaced, the first alternative is taken.

    Raises:
        NoValue: it accepts nothing, or does not come to an end.
    """
    with _malformed_has_no_value():
        return _Builder(root, Least(), meter).resolved(schema, 0) if is_object(schema) else {}


@contextmanager
def _malformed_has_no_value() -> Generator[None]:
    try:
        yield
    except TooManySteps:
        raise NoValue("the schema is too large, or its values are nested too deeply") from None
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise NoValue(f"the schema is malformed: {type(error).__name__}") from None


class _Builder:
    """Builds one value."""

    def __init__(self, root: Any, chance: Random, meter: Meter | None) -> None:
        self._root = root
        self._chance = chance
        self._meter = meter or Meter(MAX_STEPS)
        self._start = self._meter.used
        self._by_type: Mapping[str, Callable[[dict[str, Any], int], Any]] = {
            "object": self._object,
            "array": self._array,
            "string": self._string,
            "integer": self._integer,
            "number": self._number,
            "boolean": lambda schema, depth: chance.random() < 0.5,
            "null": lambda schema, depth: None,
        }

    def value(self, schema: Any, depth: int) -> Any:
        self._meter.spend(1, depth)
        if schema is False:
            raise NoValue("the schema accepts nothing")
        if not is_object(schema) or not schema:
            return self._chance.choice(_WORDS)
        plain = self.resolved(schema, depth)
        if "default" in plain and isinstance(self._chance, Least):
            return self._taken(plain["default"])
        for choices in (plain.get("enum"), [plain["const"]] if "const" in plain else None, plain.get("examples")):
            if is_list(choices) and choices:
                return self._taken(self._chance.choice(choices))
        types: Any = plain.get("type", next((MEANT[name] for name in plain if name in MEANT), "string"))
        if is_list(types):
            types = "null" if depth > FULL_DEPTH and "null" in types else self._chance.choice(_null_last(types))
        return self._by_type[types](plain, depth)

    def _taken(self, value: Any) -> Any:
        """Return a value of the schema's, which counts by its size."""
        self._meter.spend(weight_of(value))
        return value

    def resolved(self, schema: dict[str, Any], depth: int) -> dict[str, Any]:
        """Return a schema with its reference, its parts and one of its alternatives merged into it."""
        found = dict(schema)
        for _ in range(MAX_LEVELS):
            parts: list[Any] = []
            if (reference := found.pop("$ref", None)) is not None:
                parts.append(self._at(str(reference)))
            parts += found.pop("allOf", None) or []
            for name in ("anyOf", "oneOf"):
                if alternatives := found.pop(name, None):
                    parts.append(self._alternative(alternatives, depth))
            if not parts:
                return found
            for part in parts:
                self._meter.spend(1 + len(found) // 16)
                found = _merged(found, part)
        raise NoValue("the schema refers to itself without end")

    def _alternative(self, alternatives: list[Any], depth: int) -> Any:
        plain = [one for one in alternatives if not (is_object(one) and NESTING & one.keys())]
        return self._chance.choice(_null_last(plain if plain and depth > FULL_DEPTH else alternatives))

    def _at(self, reference: str) -> Any:
        if not reference.startswith("#"):
            raise NoValue("a reference leads out of the schema")
        found: Any = self._root
        for name in read_pointer(reference.removeprefix("#")):
            found = found[int(name)] if is_list(found) else found[name]
        return found

    def _object(self, schema: dict[str, Any], depth: int) -> dict[str, Any]:
        properties: dict[str, Any] = schema.get("properties") or {}
        required: list[str] = schema.get("required") or []
        others = schema.get("additionalProperties", True)
        found: dict[str, Any] = {}
        self._meter.spend((len(properties) + len(required)) // 8)
        for name in dict.fromkeys((*properties, *required)):
            is_roomy = depth < FULL_DEPTH and self._meter.used - self._start < MAX_STEPS // 2
            if name in required or (is_roomy and self._chance.random() < 0.7):
                found[name] = self.value(properties.get(name, others), depth + 1)
        for number in range(min(int(schema.get("minProperties") or 0), MAX_ITEMS) - len(found)):
            found[f"{self._chance.choice(_WORDS)}{number}"] = self.value(others, depth + 1)
        return found

    def _array(self, schema: dict[str, Any], depth: int) -> list[Any]:
        least = min(int(schema.get("minItems") or 0), MAX_ITEMS)
        most = min(int(schema.get("maxItems", least + 3)), least + 3)
        first: list[Any] = schema.get("prefixItems") or []
        most = min(most, len(first)) if schema.get("items") is False else most
        size = least if depth >= FULL_DEPTH else self._chance.randint(least, max(least, most))
        found: list[Any] = []
        for place in range(max(size, min(len(first), most))):
            item = self.value(first[place] if place < len(first) else schema.get("items", True), depth + 1)
            if not schema.get("uniqueItems") or item not in found or place < len(first):
                found.append(item)
        return found

    def _string(self, schema: dict[str, Any], depth: int) -> str:
        least, pattern = min(int(schema.get("minLength") or 0), MAX_LENGTH), schema.get("pattern")
        form = _FORMATS.get(str(schema.get("format")))
        if isinstance(pattern, str):
            text = matching(pattern)
        else:
            text = self._chance.choice(_WORDS) if form is None else form.format(self._chance.randint(1, 28))
            text = text.ljust(least, "x")[: schema.get("maxLength")]
        self._taken(text)
        return text

    def _integer(self, schema: dict[str, Any], depth: int) -> int:
        low, high = _bounds(schema, 1)
        step = schema.get("multipleOf") or 1
        first = math.ceil(low / step)
        return int(self._chance.randint(first, max(first, math.floor(high / step))) * step)

    def _number(self, schema: dict[str, Any], depth: int) -> float:
        if "multipleOf" in schema:
            step = schema["multipleOf"]
            low, high = _bounds(schema, step)
            return float(self._chance.randint(math.ceil(low / step), math.floor(high / step)) * step)
        low, high = _bounds(schema, 0)
        inner = low + (high - low) * self._chance.uniform(0.1, 0.9)
        rounded = round(inner, 2)
        return rounded if low < rounded < high else inner


def _null_last(types: list[Any]) -> list[Any]:
    return sorted(types, key=lambda one: one == "null" or (is_object(one) and one.get("type") == "null"))


def _bounds(schema: Mapping[str, Any], gap: float) -> tuple[float, float]:
    """Return the least and the greatest number, a `gap` away from excluded ones."""
    lows = [schema[name] + more for name, more in (("minimum", 0), ("exclusiveMinimum", gap)) if name in schema]
    highs = [schema[name] - less for name, less in (("maximum", 0), ("exclusiveMaximum", gap)) if name in schema]
    low = max(lows) if lows else min(0, *highs) if highs else 0
    return low, min(highs) if highs else low + 100


def _merged(schema: dict[str, Any], part: Any) -> dict[str, Any]:
    """Return a schema that accepts what both probably accept."""
    if part is False:
        raise NoValue("the schema accepts nothing")
    if not is_object(part):
        return schema
    found = {**part, **schema}
    if "properties" in part and "properties" in schema:
        found["properties"] = {**part["properties"], **schema["properties"]}
    if "required" in part and "required" in schema:
        found["required"] = [*part["required"], *schema["required"]]
    if "allOf" in part and "allOf" in schema:
        found["allOf"] = [*part["allOf"], *schema["allOf"]]
    return found
