"""What a person filled in, against the schema of the form (client/elicitation, "Requested Schema").

The schemas are a small part of JSON Schema: a flat object of texts, numbers, booleans and choices. Each field is
checked as the arguments of tools are; formats, which JSON Schema only notes, are asserted here.
"""

import re
from collections.abc import Callable, Mapping
from datetime import date, datetime
from typing import Any, Final
from urllib.parse import urlsplit

from mcp_runtime.protocol.json_schema import Check, UnusableSchema
from mcp_runtime.protocol.jsonrpc import is_array, is_object
from mcp_runtime.protocol.places import spell_pointer
from mcp_runtime.protocol.text import clipped

MAX_PROBLEMS: Final = 20
"""How many problems are told of a form."""


class Form:
    """The schema of a form, compiled.

    Args:
        schema: the ``requestedSchema``, by wire names.
        is_trusted: whether it is one's own; that of a stranger must not be able to freeze the program.

    Raises:
        UnusableSchema: the schema of a field cannot be used.
        ModuleNotFoundError: the library that validates is not installed.
    """

    def __init__(self, schema: Mapping[str, Any], *, is_trusted: bool) -> None:
        required: object = schema.get("required")
        self._required = [name for name in required if isinstance(name, str)] if is_array(required) else []
        fields = {name: _object(field) for name, field in _object(schema.get("properties")).items()}
        self._formats = {name: str(field.get("format", "")) for name, field in fields.items()}
        self._checks = {name: Check(_plain(field), is_trusted=is_trusted) for name, field in fields.items()}

    def problems(self, content: Mapping[str, Any]) -> list[str]:
        """Return what is wrong with the content of the form, as ``/field: what``; an empty list if nothing is.

        Fields that the schema does not name are none of its business, as in JSON Schema.

        Raises:
            UnusableSchema: the schema leads nowhere, or costs too much.
        """
        found = [f"{_pointer(name)}: is required" for name in self._required if name not in content]
        for name, check in self._checks.items():
            if name not in content:
                continue
            mismatch, format_ = check.find(content[name]), self._formats[name]
            if mismatch is not None:
                found.append(f"{_pointer(name)}{mismatch.pointer}: {mismatch.reason}")
            elif format_ in _FORMATS and isinstance(content[name], str) and not _FORMATS[format_](content[name]):
                found.append(f"{_pointer(name)}: is not written as {format_}")
        return found[:MAX_PROBLEMS]


def problems(schema: Mapping[str, Any], content: Mapping[str, Any]) -> list[str]:
    """Return what is wrong with the content of a form that a peer asks for; see `Form.problems`.

    Args:
        schema: the ``requestedSchema``, by wire names; what cannot be used of it is a problem as well.
        content: the fields by name.

    Raises:
        ModuleNotFoundError: the library that validates is not installed.
    """
    try:
        return Form(schema, is_trusted=False).problems(content)
    except UnusableSchema as error:
        return [f"the form cannot be checked: {error}"]


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


def _plain(field: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the schema of a field with its choices as plain values, so that what is none of them is told simply."""
    items, values = _object(field.get("items")), list(choices(field))
    if is_array(field.get("oneOf")):
        return {**{name: value for name, value in field.items() if name != "oneOf"}, "enum": values}
    if is_array(items.get("anyOf")):
        return {**field, "items": {"enum": values}}
    return field


def _pointer(name: str) -> str:
    return spell_pointer((clipped(name, 100),))


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


def _object(value: object) -> Mapping[str, Any]:
    return value if is_object(value) else {}
