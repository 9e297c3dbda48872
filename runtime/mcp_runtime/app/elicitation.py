"""Asks the user of a client to fill in a form, and has the classes of the answers.

It is imported when a form is sent, or an answer is named, and not with every server.
"""

import inspect
from collections.abc import Collection
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, Generic, Literal, TypeAlias, TypeVar

from pydantic import BaseModel, PydanticUserError, ValidationError, create_model
from pydantic_core import SchemaError, to_json

from mcp_runtime.app.errors import for_author
from mcp_runtime.app.mistakes import mistakes
from mcp_runtime.app.shapes import MISFIT, Shape
from mcp_runtime.client_features.forms import create
from mcp_runtime.core.errors import RemoteProtocolError
from mcp_runtime.core.handlers import Context
from mcp_runtime.core.options import CallOptions
from mcp_runtime.core.protocol.names import ELICITATION_CREATE

Scalar: TypeAlias = str | int | float | bool | Enum | list[Any]
ModelT = TypeVar("ModelT", bound=BaseModel)
ScalarT = TypeVar("ScalarT", bound=Scalar)
T = TypeVar("T")

_LABELS: Final = "2025-11-25"
"""The first revision in which each choice has its label beside it; in 2025-06-18 they are a list of their own."""


@dataclass(frozen=True, slots=True)
class Accepted(Generic[T]):
    """The answer of a user to a question for one value. It is always true, so that 0 and False are answers too.

    Attributes:
        value: the value.
    """

    value: T


@dataclass(frozen=True, slots=True)
class Refusal:
    """A user's answer that is none. It is false, so ``if not answer`` covers both kinds.

    Attributes:
        reason: what the user did.
    """

    reason: str

    def __bool__(self) -> Literal[False]:
        return False


@dataclass(frozen=True, slots=True)
class Declined(Refusal):
    """The user said no.

    Attributes:
        reason: what the user did.
    """

    reason: str = "the user declined"


@dataclass(frozen=True, slots=True)
class Cancelled(Refusal):
    """The user dismissed the form without a choice.

    Attributes:
        reason: what the user did.
    """

    reason: str = "the user dismissed the form"


async def elicited(ctx: Context[Any], message: str, form: Any, options: CallOptions | None) -> Any:
    """Ask the user to fill in a form; see `AskingContext.elicit`."""
    is_model = inspect.isclass(form) and issubclass(form, BaseModel)
    name = str(getattr(form, "__name__", form))
    try:
        model: Any = form if is_model else create_model("Answer", value=(form, ...))
        schema = model.model_json_schema()
    except (PydanticUserError, SchemaError, NameError):
        raise _no_form(name) from None
    if "properties" not in schema:
        raise _no_form(name)
    try:
        answer: Any = await _filled(ctx, message, model, schema, options)
    except _WrongFields as error:
        raise _no_form(name, error.args if is_model else ()) from None
    return Accepted(answer.value) if answer and not is_model else answer


class _WrongFields(Exception):
    """Fields that forms do not support, by name."""


def _no_form(name: str, wrong: Collection[str] = ()) -> Exception:
    """Return the error for a form that cannot be sent, with the names of its wrong fields."""
    fields = ", ".join(wrong) or "it"
    return for_author(TypeError(f"{name} is not a form: {fields} must be a string, a number, a boolean or a choice"))


async def _filled(
    ctx: Context[Any],
    message: str,
    form: type[BaseModel],
    schema: dict[str, Any],
    options: CallOptions | None,
) -> BaseModel | Declined | Cancelled:
    definitions = schema.get("$defs", {})
    labelled = "oneOf" if ctx.peer.__binding__.revision >= _LABELS else "enumNames"
    fields = {name: _field(stated, definitions, labelled) for name, stated in schema["properties"].items()}
    wanted = {"type": "object", "properties": fields, "required": schema.get("required", [])}
    try:
        result = await create(ctx.peer, {"message": message, "requestedSchema": wanted}, options)
    except ValidationError as error:
        steps = [found["loc"] for found in error.errors(include_url=False, include_input=False)]
        wrong = {str(loc[loc.index("properties") + 1]) for loc in steps if "properties" in loc}
        raise _WrongFields(*sorted(wrong)) from None
    if result.action != "accept":
        return Declined() if result.action == "decline" else Cancelled()
    content: dict[str, Any] = result.model_dump(mode="json").get("content") or {}
    whole = Shape(schema).read(content)
    try:
        return form.model_validate_json(to_json(content if whole is MISFIT else whole), strict=True)
    except ValidationError as error:
        raise RemoteProtocolError(
            revision=ctx.requester.revision,
            method=ELICITATION_CREATE,
            pointer="/content",
            reason=mistakes(error, content, list(form.model_fields)),
        ) from None


def _field(stated: dict[str, Any], definitions: dict[str, Any], labelled: str) -> dict[str, Any]:
    """Return the schema of a field as forms spell it: without references and null.

    Args:
        stated: the schema as pydantic writes it.
        definitions: what it refers to.
        labelled: the keyword for choices with labels.
    """
    if reference := stated.get("$ref"):
        stated = {**definitions[reference.rpartition("/")[2]], **stated}
        del stated["$ref"]
    if "items" in stated:
        return {**stated, "items": _field(stated["items"], definitions, "anyOf")}
    choices = [choice for choice in stated.get("anyOf", ()) if choice.get("type") != "null"]
    if not choices:
        return stated
    rest = {name: value for name, value in stated.items() if name != "anyOf" and value is not None}
    if len(choices) == 1:
        return _field({**choices[0], **rest}, definitions, labelled)
    values = [choice.get("const") for choice in choices]
    titles = [choice.get("title", choice.get("const")) for choice in choices]
    if labelled == "enumNames":
        return {"type": "string", **rest, "enum": values, labelled: titles}
    labels = [{"const": value, "title": title} for value, title in zip(values, titles, strict=True)]
    return {"type": "string", **rest, labelled: labels} if labelled == "oneOf" else {labelled: labels}
