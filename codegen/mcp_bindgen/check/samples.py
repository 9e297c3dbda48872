"""Arguments made from an input schema: valid ones at its bounds, and ones with a single violation each."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from mcp_bindgen.check.client import list_of, object_of

MAX_DEPTH: Final = 8
MAX_LENGTH: Final = 10_000
"""The longest text or array that is made."""
_FORMATS: Final[Mapping[str, str]] = {
    "date": "2026-01-01",
    "date-time": "2026-01-01T00:00:00Z",
    "time": "00:00:00Z",
    "email": "a@example.com",
    "uri": "https://example.com/",
    "uuid": "00000000-0000-4000-8000-000000000000",
}
_WRONG: Final[Mapping[str, Any]] = {"string": {}, "integer": {}, "number": {}, "boolean": {}, "array": 1, "object": 1}
"""A value of another type, which no server can take for one of this type."""


def minimal(schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the smallest arguments that a schema accepts; None if none are found."""
    return next(valid(schema), None)


def valid(schema: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield different arguments that a schema accepts: the smallest, and for each property those at its bounds."""
    smallest = _value(schema, schema, 0)
    found: list[Any] = []
    for name, each in _properties(schema):
        found += [{**object_of(smallest), name: value} for value in _bounds(each, schema)]
    seen: list[Any] = []
    for arguments in (smallest, *found):
        if arguments not in seen and isinstance(arguments, dict) and mismatch(schema, arguments) == "":
            seen.append(arguments)
            yield object_of(arguments)


def invalid(schema: Mapping[str, Any], base: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield arguments with one violation each, and what that is; `base` is valid.

    What a server may reasonably read as something valid is left out: a number as text, an unknown property.
    """
    properties = object_of(schema.get("properties"))
    # Some libraries list a property with a default as required: it describes what the tool sees.
    required = [
        str(name) for name in list_of(schema.get("required")) if "default" not in object_of(properties.get(name))
    ]
    tried = [(f"without {name}", {key: base[key] for key in base if key != name}) for name in required]
    for name, each in _properties(schema):
        tried += [(f"with {name} {what}", {**base, name: value}) for what, value in _violations(each, schema)]
    for what, arguments in tried:
        if mismatch(schema, arguments):
            yield what, arguments


def mismatch(schema: Mapping[str, Any], value: Any) -> str | None:
    """Return why a value does not fit a schema, empty if it does, None if the schema cannot be used."""
    from mcp_runtime.middleware.json_schema import Check, UnusableSchema

    try:
        found = Check(schema, is_trusted=False).find(value)
    except (UnusableSchema, ModuleNotFoundError):
        return None
    return "" if found is None else f"{found.pointer or '/'}: {found.reason}"


def _properties(schema: Mapping[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    properties = object_of(schema.get("properties"))
    return [(name, _resolved(each, schema)) for name, each in properties.items()]


def _resolved(schema: Any, root: Mapping[str, Any], depth: int = 0) -> dict[str, Any]:
    """Follow a local reference, and take the first alternative of a union that is not null."""
    found = object_of(schema)
    reference = found.get("$ref")
    if isinstance(reference, str) and reference.startswith("#/") and depth < MAX_DEPTH:
        target: Any = root
        for token in reference[2:].split("/"):
            target = object_of(target).get(token.replace("~1", "/").replace("~0", "~"))
        return _resolved({**object_of(target), **{key: found[key] for key in found if key != "$ref"}}, root, depth + 1)
    for key in ("anyOf", "oneOf", "allOf"):
        options = [each for each in list_of(found.get(key)) if object_of(each).get("type") != "null"]
        if options and depth < MAX_DEPTH:
            rest = {name: found[name] for name in found if name != key}
            return _resolved({**object_of(options[0]), **rest}, root, depth + 1)
    return found


def _type(schema: Mapping[str, Any]) -> str:
    types = [each for each in list_of(schema.get("type")) or [schema.get("type")] if each != "null"]
    return str(types[0]) if types and types[0] else "object" if "properties" in schema else ""


def _value(schema: Any, root: Mapping[str, Any], depth: int) -> Any:
    """Return a small value of a schema."""
    schema = _resolved(schema, root)
    for key in ("const", "default"):
        if key in schema:
            return schema[key]
    for key in ("examples", "enum"):
        if options := list_of(schema.get(key)):
            return options[0]
    type_ = _type(schema)
    if type_ == "object":
        properties = object_of(schema.get("properties"))
        names = [str(name) for name in list_of(schema.get("required"))] if depth < MAX_DEPTH else []
        return {name: _value(properties.get(name), root, depth + 1) for name in names}
    if type_ == "array":
        size = min(int(schema.get("minItems", 0)), MAX_LENGTH)
        return [_value(schema.get("items"), root, depth + 1) for _ in range(size)] if depth < MAX_DEPTH else []
    if type_ in ("integer", "number"):
        return _number(schema, 0)
    text = _FORMATS.get(str(schema.get("format")), "a")
    return False if type_ == "boolean" else text.ljust(min(int(schema.get("minLength", 0)), MAX_LENGTH), "a")


def _number(schema: Mapping[str, Any], wanted: float) -> Any:
    low = schema.get("minimum", schema.get("exclusiveMinimum", wanted - 1) + 1)
    high = schema.get("maximum", schema.get("exclusiveMaximum", max(wanted, low) + 1) - 1)
    step = schema.get("multipleOf", 1)
    number = max(low, min(high, wanted))
    return number if step == 1 else -(-number // step) * step


def _bounds(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Iterator[Any]:
    """Yield values at the bounds of a schema."""
    yield _value(schema, root, 1)
    yield from list_of(schema.get("enum"))
    if _type(schema) in ("integer", "number"):
        yield from (schema[key] for key in ("minimum", "maximum") if key in schema)
    if _type(schema) == "string":
        sizes = (schema[key] for key in ("minLength", "maxLength") if isinstance(schema.get(key), int))
        yield from ("a" * size for size in sizes if size <= MAX_LENGTH)
    if _type(schema) == "boolean":
        yield True


def _violations(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield values that a schema does not accept, and what is wrong with them."""
    type_ = _type(schema)
    if type_ in _WRONG:
        yield f"of another type than {type_}", _WRONG[type_]
    if schema.get("enum"):
        yield "outside its enum", "mcp-bindgen-check"
    if type_ in ("integer", "number"):
        yield from (("too small", schema["minimum"] - 1),) if "minimum" in schema else ()
        yield from (("too large", schema["maximum"] + 1),) if "maximum" in schema else ()
    if type_ == "string" and isinstance(schema.get("maxLength"), int) and schema["maxLength"] < MAX_LENGTH:
        yield "too long", "a" * (schema["maxLength"] + 1)
    if type_ == "string" and isinstance(schema.get("minLength"), int) and schema["minLength"] > 0:
        yield "too short", "a" * (schema["minLength"] - 1)
