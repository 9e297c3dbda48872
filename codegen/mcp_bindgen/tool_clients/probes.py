"""Values to try: small ones that a schema may allow, and those around the limits of two schemas."""

from collections.abc import Iterator
from itertools import islice
from typing import Any

from mcp_bindgen.tool_clients.kinds import is_list, is_object

MAX_DEPTH = 24
MAX_VALUES = 60
MAX_LENGTH = 2_000
"""How long a string or a list is made to get around a limit."""

Step = str | int
"""A step to a value: the name of a property, 0 for an item, or ``ANY`` for a member without a name of its own."""
ANY = "\0any"
FREE_NAME = "anyOtherMember"


def resolve(schema: Any, root: Any) -> Any:
    """Follow references within a schema; one that leads nowhere or out of it, or in circles, gives None."""
    for _ in range(MAX_DEPTH):
        if not is_object(schema) or not isinstance(reference := schema.get("$ref"), str):
            return schema
        if not reference.startswith("#") or reference[1:2] not in ("", "/"):
            return None
        found: Any = root
        for token in reference[2:].split("/") if len(reference) > 1 else ():
            key = token.replace("~1", "/").replace("~0", "~")
            if is_list(found) and key.isdecimal() and len(key) < 6 and int(key) < len(found):
                found = found[int(key)]
            elif is_object(found):
                found = found.get(key)
            else:
                return None
        schema = found
    return None


def sample(schema: Any, root: Any, depth: int = 0) -> Any:
    """Return a small value that a schema probably allows."""
    return next(values(schema, root, depth), None)


def values(schema: Any, root: Any, depth: int = 0) -> Iterator[Any]:
    """Iterate over values that a schema may allow, the smallest first; none is certain."""
    yield from islice(_values(resolve(schema, root), root, depth), MAX_VALUES)


def _values(schema: Any, root: Any, depth: int) -> Iterator[Any]:
    if not is_object(schema) or depth > MAX_DEPTH:
        yield from ("x", 1, True, None, 1.5, [], {})
        return
    known = schema
    if "const" in known:
        yield known["const"]
        return
    for keyword in ("enum", "anyOf", "oneOf"):
        members = known.get(keyword)
        if is_list(members) and members:
            for member in members:
                if keyword == "enum":
                    yield member
                else:
                    yield from islice(values(member, root, depth + 1), MAX_VALUES // 4)
            return
    every = known.get("allOf")
    if is_list(every):
        for member in every:
            yield from islice(values(member, root, depth + 1), 4)
    types = known.get("type", "object" if "properties" in known else None)
    for type_ in types if is_list(types) else [types]:
        yield from _of_type(type_, known, root, depth)


def _of_type(type_: Any, schema: dict[str, Any], root: Any, depth: int) -> Iterator[Any]:
    match type_:
        case "string":
            yield from _strings(schema)
        case "integer":
            yield from (number for number in _numbers(schema) if isinstance(number, int))
        case "number":
            yield from _numbers(schema)
        case "boolean":
            yield from (True, False)
        case "null":
            yield None
        case "array":
            yield from _arrays(schema, root, depth)
        case "object":
            yield from _objects(schema, root, depth)
        case _:
            yield from ("x", 1, True, None, 1.5, [], {}, ["x"], {"x": 1})


def _strings(schema: dict[str, Any]) -> Iterator[str]:
    least = _limit(schema.get("minLength"), 0)
    most = _limit(schema.get("maxLength"), MAX_LENGTH)
    yield "x" * min(max(1, least), most)
    for length in (least, most, least + 1, 0, 40):
        if least <= length <= most:
            yield "y" * length
    yield from ("1", "2020-01-01", "2020-01-01T00:00:00Z", "http://example.com/", "user@example.com", "A", "a b", "/x")


def _numbers(schema: dict[str, Any]) -> Iterator[int | float]:
    limits = [schema.get(name) for name in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")]
    step = schema.get("multipleOf")
    for number in (1, 0, *limits, step, -1, 1000, 1.5, -(10**6), 10**12):
        if isinstance(number, int | float) and not isinstance(number, bool):
            yield from (number, number + 1, number - 1)


def _arrays(schema: dict[str, Any], root: Any, depth: int) -> Iterator[list[Any]]:
    least = _limit(schema.get("minItems"), 0)
    most = _limit(schema.get("maxItems"), MAX_LENGTH)
    item = sample(schema.get("items", True), root, depth + 1)
    yield [item] * least
    for length in (1, 2, most, least + 1):
        if least <= length <= most:
            yield [item] * length
    for value in islice(values(schema.get("items", True), root, depth + 1), 12):
        yield [value] * max(1, least)


def _objects(schema: dict[str, Any], root: Any, depth: int) -> Iterator[dict[str, Any]]:
    properties: Any = schema.get("properties")
    members = properties if is_object(properties) else {}
    required: Any = schema.get("required")
    names = [name for name in required if isinstance(name, str)] if is_list(required) else []
    least = {name: sample(members.get(name, True), root, depth + 1) for name in names}
    yield least
    for name in islice(members, MAX_VALUES):
        yield {**least, name: sample(members[name], root, depth + 1)}
    additional = schema.get("additionalProperties")
    if additional:
        yield {**least, FREE_NAME: sample(additional, root, depth + 1)}


def around(schema: Any) -> Iterator[Any]:
    """Iterate over values just beyond the limits that a schema sets, which others may still allow."""
    if not is_object(schema):
        return
    known = schema
    for name in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"):
        limit = known.get(name)
        if isinstance(limit, int | float) and not isinstance(limit, bool):
            yield from (limit, limit + 1, limit - 1, limit + 0.5)
    for name in ("minLength", "maxLength"):
        length = _limit(known.get(name), 0)
        yield from ("z" * size for size in (length - 1, length + 1) if 0 <= size <= MAX_LENGTH)


def along(schema: Any, root: Any, path: tuple[Step, ...], value: Any, depth: int = 0) -> Any:
    """Return a value of a schema that has another value at the end of a path."""
    if not path:
        return value
    found = resolve(schema, root)
    known: dict[str, Any] = found if is_object(found) else {}
    step, rest = path[0], path[1:]
    if step == 0:
        items = known.get("items", True)
        return [along(items, root, rest, value, depth + 1)] * max(1, _limit(known.get("minItems"), 0))
    base = sample({**known, "type": "object"}, root, depth)
    whole: dict[str, Any] = dict(base) if is_object(base) else {}
    if step == ANY:
        return {**whole, FREE_NAME: along(known.get("additionalProperties", True), root, rest, value, depth + 1)}
    properties: Any = known.get("properties")
    member: Any = properties.get(str(step), True) if is_object(properties) else True
    return {**whole, str(step): along(member, root, rest, value, depth + 1)}


def _limit(value: Any, default: int) -> int:
    return min(value, MAX_LENGTH) if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else default
