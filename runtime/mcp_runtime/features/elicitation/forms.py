"""What a person filled in, against the schema of the form (client/elicitation, "Requested Schema").

The schemas are a small part of JSON Schema: a flat object of texts, numbers, booleans and choices.
"""

import re
from collections.abc import Callable, Mapping
from datetime import date, datetime
from typing import Any, Final, TypeAlias
from urllib.parse import urlsplit

from mcp_runtime.protocol.jsonrpc import is_array, is_object
from mcp_runtime.protocol.text import clipped
from mcp_runtime.protocol.validation import spell_pointer

Check: TypeAlias = Callable[[Mapping[str, Any], Any], "str | None"]
"""Says what is wrong with the value of a field; None if nothing is."""

MAX_PROBLEMS: Final = 20
"""How many problems are told of a form."""


def problems(schema: Mapping[str, Any], content: Mapping[str, Any], *, patterns: bool = False) -> list[str]:
    """Return what is wrong with the content of a form, as ``/field: what``; an empty list if nothing is.

    Fields that the schema does not name are none of its business, as in JSON Schema.

    Args:
        schema: the ``requestedSchema``, by wire names.
        content: the fields by name.
        patterns: whether a ``pattern``, which the specification's text has and its schema has not, is tried: only for
            a schema of one's own, since an expression can be made to take for ever.
    """
    fields = _object(schema.get("properties"))
    required: object = schema.get("required")
    names = [name for name in required if isinstance(name, str)] if is_array(required) else []
    found = [f"{spell_pointer((clipped(name, 100),))}: is required" for name in names if name not in content]
    for name, field in fields.items():
        if name not in content:
            continue
        problem = _problem(_object(field), content[name], patterns)
        if problem is not None:
            found.append(f"{spell_pointer((clipped(name, 100),))}: {problem}")
    return found[:MAX_PROBLEMS]


def defaults(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that the fields of a form should start with, as far as its schema has them."""
    fields = {name: _object(field) for name, field in _object(schema.get("properties")).items()}
    return {name: field["default"] for name, field in fields.items() if field.get("default") is not None}


def choices(field: Mapping[str, Any]) -> dict[str, str]:
    """Return the values that a field lets choose from, each with its label; empty if it is no choice."""
    items = _object(field.get("items"))
    for titled in (field.get("oneOf"), items.get("anyOf")):
        if is_array(titled):
            return {str(each["const"]): str(each.get("title", each["const"])) for each in map(_object, titled)}
    for plain in (field.get("enum"), items.get("enum")):
        if is_array(plain):
            names: object = field.get("enumNames")
            labels = names if is_array(names) and len(names) == len(plain) else plain
            return {str(value): str(label) for value, label in zip(plain, labels, strict=True)}
    return {}


def _problem(field: Mapping[str, Any], value: Any, patterns: bool) -> str | None:
    check = _CHECKS.get(str(field.get("type")))
    if check is None:
        return "is of a type that a form cannot have"
    problem = check(field, value)
    pattern: object = field.get("pattern")
    if problem is None and patterns and isinstance(pattern, str) and not re.search(pattern, value):
        return f"does not match {pattern!r}"
    return problem


def _text(field: Mapping[str, Any], value: Any) -> str | None:
    if not isinstance(value, str):
        return "is not a text"
    allowed = choices(field)
    if allowed and value not in allowed:
        return f"is none of {_listed(allowed)}"
    least, most = field.get("minLength"), field.get("maxLength")
    if least is not None and len(value) < least:
        return f"is shorter than {least}"
    if most is not None and len(value) > most:
        return f"is longer than {most}"
    form = str(field.get("format", ""))
    return f"is not written as {form}" if form in _FORMATS and not _FORMATS[form](value) else None


def _number(field: Mapping[str, Any], value: Any) -> str | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return "is not a number"
    if field.get("type") == "integer" and value != int(value):
        return "is not a whole number"
    least, most = field.get("minimum"), field.get("maximum")
    if least is not None and value < least:
        return f"is less than {least}"
    if most is not None and value > most:
        return f"is more than {most}"
    return None


def _boolean(field: Mapping[str, Any], value: Any) -> str | None:
    return None if isinstance(value, bool) else "is neither true nor false"


def _several(field: Mapping[str, Any], value: Any) -> str | None:
    if not is_array(value) or not all(isinstance(item, str) for item in value):
        return "is not a list of texts"
    allowed = choices(field)
    if any(item not in allowed for item in value):
        return f"has something that is none of {_listed(allowed)}"
    least, most = field.get("minItems"), field.get("maxItems")
    if least is not None and len(value) < least:
        return f"has fewer than {least} choices"
    if most is not None and len(value) > most:
        return f"has more than {most} choices"
    return None


_CHECKS: Final[Mapping[str, Check]] = {
    "string": _text,
    "number": _number,
    "integer": _number,
    "boolean": _boolean,
    "array": _several,
}


def _is_email(text: str) -> bool:
    return re.fullmatch(r"[^@\s]{1,64}@[^@\s.]+(\.[^@\s.]+)*", text) is not None and len(text) <= 254


def _is_uri(text: str) -> bool:
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return bool(parts.scheme and (parts.netloc or parts.path)) and re.search(r"[\s<>\"{}|\\^`]", text) is None


def _is_date(text: str) -> bool:
    return re.fullmatch(r"\d{4}-\d\d-\d\d", text) is not None and _is_iso(date.fromisoformat, text)


def _is_date_time(text: str) -> bool:
    shape = r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)"
    # Python takes six digits of a second, RFC 3339 any number of them.
    return re.fullmatch(shape, text) is not None and _is_iso(
        datetime.fromisoformat, re.sub(r"(\.\d{1,6})\d*", r"\1", text.upper())
    )


def _is_iso(read: Callable[[str], Any], text: str) -> bool:
    try:
        read(text)
    except ValueError:
        return False
    return True


_FORMATS: Final[Mapping[str, Callable[[str], bool]]] = {
    "email": _is_email,
    "uri": _is_uri,
    "date": _is_date,
    "date-time": _is_date_time,
}
"""The formats that a form can ask for; others are ignored, as JSON Schema wants it."""


def _listed(allowed: Mapping[str, str]) -> str:
    return clipped(", ".join(map(repr, allowed)), 200)


def _object(value: object) -> Mapping[str, Any]:
    return value if is_object(value) else {}
