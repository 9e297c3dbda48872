"""JSON values that parsers often get wrong, and functions to compare and walk JSON values.

The domain is I-JSON (RFC 7493): finite numbers, unique property names, no lone surrogates, at most `MAX_DEPTH` deep.
"""

import json
import random
from collections.abc import Iterator
from typing import Any, TypeAlias, TypeGuard

Json: TypeAlias = Any
Path: TypeAlias = tuple[str | int, ...]

MAX_DEPTH = 128

STRINGS: tuple[str, ...] = (
    *("", "a", "text", "1", "1.0", "null", "true", "user", "file:///a b", "not a uri", "=", "2025-01-01T00:00:00Z"),
    *("\u00e9", "e\u0301", "\U0001f600", "\U0010ffff", "\uffff", "\ufeff", "\u2028\u2029", "\x00\x1f\x7f\x85"),
    *('"\\/\b\n', "x" * 300),
)
INTEGERS: tuple[int, ...] = (
    *(0, 1, -1, 100, -32042, 2**31, 2**53 - 1, 9007199254740993, -9007199254740993),
    *(2**63 - 1, 2**63, -(2**63) - 1, 2**64, 2**70, -(2**70), 10**40),
)
WHOLE_FLOATS: tuple[float, ...] = (0.0, -0.0, 1.0, -1.0, 100.0, 1e9, 9007199254740992.0, 1e16, 1e22, -1e300)
FRACTIONS: tuple[float, ...] = (
    *(0.1, 0.5, 1.5, -1.5, 0.30000000000000004, 1.0000000001, 0.9999999999999999, 1.0000000000000002),
    *(1000000000.5, 4503599627370495.5, 5e-324, 1e-7, 2.2250738585072014e-308),
)
HUGE: tuple[float, ...] = (1.7976931348623157e308, -1.7976931348623157e308)
MEMBER_NAMES: tuple[str, ...] = (
    *("", "x", "meta", "_meta", "mime_type", "mimeType", "type", "type_", "list", "self", "cls", "data", "name", "id"),
    *("model_config", "model_fields", "model_extra", "model_dump_json", "__class__", "__dict__", "__init__"),
    *("__constants__", "__pydantic_extra__", "__pydantic_fields_set__", "copy", "json", "schema"),
    *("$ref", "a/b", "~0", "\u00e9\U0001f600", "\x00"),
)
PROBES: tuple[Json, ...] = (
    *(None, True, False, 0, 1, -1, 1.0, 1.5, 0.0, 9007199254740993, 2**70, 5e-324, 1000000000.5, "", "x", "1"),
    *([], {}, [None], [""], [[]], [{}], [1], ["a", 1], {"": None}, {"type": "text"}, {"type": "text", "text": ""}),
    {"a": {"b": []}},
)


def is_map(value: Json) -> TypeGuard[dict[str, Json]]:
    """Whether a value is an object."""
    return isinstance(value, dict)


def is_list(value: Json) -> TypeGuard[list[Json]]:
    """Whether a value is an array."""
    return isinstance(value, list)


def any_value(rng: random.Random, level: int) -> Json:
    """Make a value of any type, nested in `level` containers."""
    choice = rng.random()
    if choice < 0.005 and level < MAX_DEPTH:
        return deep(rng, MAX_DEPTH - level)
    if choice < 0.3 and level < 6:
        return {rng.choice(MEMBER_NAMES): any_value(rng, level + 1) for _ in range(rng.randrange(4))}
    if choice < 0.45 and level < 6:
        return [any_value(rng, level + 1) for _ in range(rng.randrange(4))]
    scalars: tuple[Json, ...] = rng.choice((STRINGS, INTEGERS, WHOLE_FLOATS, FRACTIONS, HUGE, (None, True, False)))
    return rng.choice(scalars)


def deep(rng: random.Random, depth: int) -> Json:
    """Make a value of exactly this many nested containers."""
    value: Json = [] if rng.random() < 0.5 else {}
    for _ in range(depth - 1):
        value = [value] if rng.random() < 0.5 else {rng.choice(MEMBER_NAMES): value}
    return value


def depth_of(value: Json) -> int:
    """Return the nesting depth of containers."""
    if is_map(value):
        return 1 + max(map(depth_of, value.values()), default=0)
    return 1 + max(map(depth_of, value), default=0) if is_list(value) else 0


def places(value: Json) -> list[Path]:
    """Return the paths of all values inside a value, its own (empty) first."""
    found: list[Path] = [()]
    values: list[Json] = [value]
    for path, inner in zip(found, values, strict=False):  # Both grow during the loop.
        if is_map(inner):
            found += [(*path, name) for name in inner]
            values += inner.values()
        elif is_list(inner):
            found += [(*path, index) for index in range(len(inner))]
            values += inner
    return found


def at(value: Json, path: Path) -> Json:
    """Return the value at a path."""
    for token in path:
        value = value[token]
    return value


def differences(left: Json, right: Json, path: Path = ()) -> Iterator[Path]:
    """Iterate over the paths at which two values differ; 1, 1.0 and true are three values."""
    if is_map(left) and is_map(right):
        for name in left.keys() | right.keys():
            if name in left and name in right:
                yield from differences(left[name], right[name], (*path, name))
            else:
                yield (*path, name)
    elif is_list(left) and is_list(right):
        if len(left) != len(right):
            yield path
        for index, (inner, other) in enumerate(zip(left, right, strict=False)):
            yield from differences(inner, other, (*path, index))
    elif type(left) is not type(right) or repr(left) != repr(right):
        yield path


def write(value: Json, rng: random.Random) -> str:
    """Write a value as JSON text, in one of the usual spellings."""
    separators = rng.choice(((", ", ": "), (",", ":"), ("\n,", "\t:\r\n")))
    return json.dumps(value, ensure_ascii=rng.random() < 0.5, separators=separators, allow_nan=False)


def read(text: str | bytes) -> Json:
    """Read JSON text; a duplicate property name is an error."""
    return json.loads(text, object_pairs_hook=_unique)


def _unique(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError(f"a name occurs twice: {[name for name, _ in pairs]}")
    return found
