"""Elicitation in forms (client/elicitation): a server asks the user, and both sides validate the answer."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import StrEnum
from typing import Any, Final, cast
from urllib.parse import urlsplit

from pydantic import BaseModel

from mcp_runtime.core.errors import RemoteProtocolError, clipped
from mcp_runtime.core.handlers import Stub
from mcp_runtime.core.json.values import is_array, is_object, spell_pointer
from mcp_runtime.core.method import RequestMethod
from mcp_runtime.core.options import CallOptions
from mcp_runtime.core.protocol.names import ELICITATION_CREATE
from mcp_runtime.json_schema.check import Check, UnusableSchema

__all__ = ["Action", "Form", "FormAnswer", "UnusableSchema", "ask_form", "choices", "defaults", "problems"]

MAX_PROBLEMS: Final = 20
"""How many problems are reported for a form."""


class Form:
    """The compiled schema of a form.

    Args:
        schema: the ``requestedSchema``, keyed by wire names.
        is_trusted: whether the schema is your own; a schema from a peer must not be able to freeze the program.

    Raises:
        UnusableSchema: the schema of a field cannot be used.
        ModuleNotFoundError: the validation library is not installed.
    """

    def __init__(self, schema: Mapping[str, Any], *, is_trusted: bool) -> None:
        required: object = schema.get("required")
        self._required = [name for name in required if isinstance(name, str)] if is_array(required) else []
        fields = {name: _object(field) for name, field in _object(schema.get("properties")).items()}
        self._formats = {name: str(field.get("format", "")) for name, field in fields.items()}
        self._check = Check(
            {"properties": {name: _plain(field) for name, field in fields.items()}}, is_trusted=is_trusted
        )

    def problems(self, content: Mapping[str, Any]) -> list[str]:
        """Return the problems of the form's content, as ``/field: reason``; empty if it is valid.

        As in JSON Schema, fields that the schema does not declare are ignored.

        Args:
            content: the fields by name.

        Raises:
            UnusableSchema: a reference in the schema cannot be resolved, or the schema is too expensive to evaluate.
        """
        found = [f"{_pointer(name)}: is required" for name in self._required if name not in content]
        self._check.restart()
        for name, schema in self._check.schema["properties"].items():
            if name not in content:
                continue
            mismatch, format_ = self._check.find_in(schema, content[name]), self._formats[name]
            if mismatch is not None:
                found.append(f"{_pointer(name)}{mismatch.pointer}: {mismatch.reason}")
            elif format_ in _FORMATS and isinstance(content[name], str) and not _FORMATS[format_](content[name]):
                found.append(f"{_pointer(name)}: is not a valid {format_}")
        return found[:MAX_PROBLEMS]


def problems(schema: Mapping[str, Any], content: Mapping[str, Any]) -> list[str]:
    """Return the problems of the content of a form that a peer sent; see `Form.problems`.

    Args:
        schema: the ``requestedSchema``, keyed by wire names; if it cannot be used, that is reported as a problem.
        content: the fields by name.

    Raises:
        ModuleNotFoundError: the validation library is not installed.
    """
    try:
        return Form(schema, is_trusted=False).problems(content)
    except UnusableSchema as error:
        return [f"the form cannot be checked: {error}"]


def defaults(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the initial values of the fields of a form, as far as its schema has defaults.

    Args:
        schema: the ``requestedSchema``, keyed by wire names.
    """
    fields = {name: _object(field) for name, field in _object(schema.get("properties")).items()}
    return {name: field["default"] for name, field in fields.items() if field.get("default") is not None}


def choices(field: Mapping[str, Any]) -> dict[str, str]:
    """Return the values that a field allows, each with its label; empty if it is not a choice.

    Args:
        field: the schema of the field, keyed by wire names.
    """
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
    """Return the schema of a field with its choices as plain values, for simpler error messages."""
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
    # Python reads six digits of a second, RFC 3339 allows any number.
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
"""The formats that a form may require; others are ignored, as JSON Schema specifies."""


def _object(value: object) -> Mapping[str, Any]:
    return value if is_object(value) else {}


class Action(StrEnum):
    """How a user responded: accepted, declined or cancelled."""

    ACCEPT = "accept"
    DECLINE = "decline"
    CANCEL = "cancel"


@dataclass(frozen=True, slots=True, kw_only=True)
class FormAnswer:
    """The outcome of a form.

    Args:
        action: how the user responded.
        content: the fields by name if the form was accepted, otherwise empty.
    """

    action: Action
    content: Mapping[str, Any] = field(default_factory=dict[str, Any])


async def ask_form(
    client: Stub, message: str, schema: BaseModel | Mapping[str, Any], *, options: CallOptions | None = None
) -> FormAnswer:
    """Ask the user of a client to fill in a form; raises like `Connection.request` as well.

    Never ask for secrets in a form: the client sees them, and so may the model. Use a web page for that
    (`mcp_runtime.client_features.UrlElicitations`).

    Args:
        client: the client (``ctx.client``), of 2025-06-18 or later.
        message: tells the user what is needed, and why.
        schema: the fields: the revision's ``requestedSchema``, or a mapping keyed by wire names.
        options: timeouts; allow for the time that people need.

    Raises:
        RemoteProtocolError: the user accepted, but the answer does not match the schema.
        MissingCapability: the client does not support forms.
        UnusableSchema: answers cannot be checked against the schema.
        ModuleNotFoundError: the validation library is not installed (``mcp-bindings[validation]``).
    """
    spelled: Mapping[str, Any] = schema.model_dump(mode="json") if isinstance(schema, BaseModel) else schema
    form = Form(spelled, is_trusted=True)  # before the user is asked for nothing
    result = await create(client, {"message": message, "requestedSchema": spelled}, options)
    action = Action(result.action)
    if action is not Action.ACCEPT:
        return FormAnswer(action=action)
    content: Mapping[str, Any] = result.model_dump(mode="json").get("content") or {}
    wrong = form.problems(content)
    if wrong:
        where, _, reason = wrong[0].partition(": ")
        more = f"; and {len(wrong) - 1} more" if len(wrong) > 1 else ""
        revision = client.__binding__.revision
        raise RemoteProtocolError(
            revision=revision, method=ELICITATION_CREATE, pointer=f"/content{where}", reason=f"{reason}{more}"
        )
    return FormAnswer(action=action, content=content)


async def create(client: Stub, params: Mapping[str, Any], options: CallOptions | None) -> Any:
    """Send ``elicitation/create`` with params keyed by wire names; return its result."""
    method = cast("RequestMethod[Any, Any]", client.__binding__.methods[ELICITATION_CREATE])
    assert method.params is not None
    return await client.__caller__.request(method, method.params.build(params), options)
