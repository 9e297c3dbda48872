"""The context of a server's handler or decorated function: it asks the client, logs, and reads the server's resources.

The bindings import it with every server, so what it needs is imported when it is used.
"""

import inspect
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, TypeAlias, TypeVar, overload

from mcp_runtime.awaiting import Noting, noted
from mcp_runtime.core.handlers import Context, PeerT, ServerContext, StateT
from mcp_runtime.core.protocol.names import RESOURCES_READ

if TYPE_CHECKING:
    from pydantic import BaseModel

    from mcp_runtime.core.options import CallOptions

    ModelT = TypeVar("ModelT", bound=BaseModel)
Scalar: TypeAlias = str | int | float | bool | Enum | list[Any]
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


class AskingContext(ServerContext[PeerT, StateT], Noting):
    """The context of a message that a server answers."""

    if TYPE_CHECKING:

        @overload
        async def elicit(
            self, message: str, form: type[ModelT], *, options: CallOptions | None = None
        ) -> ModelT | Declined | Cancelled: ...
        @overload
        async def elicit(
            self, message: str, form: type[ScalarT], *, options: CallOptions | None = None
        ) -> Accepted[ScalarT] | Declined | Cancelled: ...
        @overload
        async def elicit(self, message: str, form: object, *, options: CallOptions | None = None) -> Any: ...

    async def elicit(self, message: str, form: Any, *, options: "CallOptions | None" = None) -> Any:
        """Ask the user of the client to fill in a form, or for one value; the answer may be `Declined` or `Cancelled`.

        Never ask for secrets in a form: the client sees them, and so may the model.

        Args:
            message: tells the user what is needed, and why.
            form: a model whose fields are strings, numbers, booleans, choices and, from 2025-11-25 on, lists of
                choices; or the type of one such field, whose value comes as `Accepted`. A choice is a `Literal` or an
                `Enum`; with labels it is a union of annotated literals:
                ``Annotated[Literal["s"], Field(title="Small")] | ...``.
            options: timeouts; allow for the time that people need. Its `key` names the question (2026-07-28).

        Raises:
            TypeError: forms do not support a field or the type; nothing was sent.
            RemoteProtocolError: the user accepted, but the answer does not match the form.
            MissingCapability: the client does not support forms.
        """
        return await _elicited(self, message, form, options)

    async def sample(
        self,
        prompt: str,
        *,
        max_tokens: int = 1000,
        system_prompt: str | None = None,
        options: "CallOptions | None" = None,
    ) -> str:
        """Let the client's model generate text, and return it; empty if the model returned something else.

        ``ctx.client.create_message`` offers everything that the protocol has.

        Args:
            prompt: the text sent to the model.
            max_tokens: the maximum length of the answer in tokens.
            system_prompt: a system prompt, if any.
            options: timeouts; users may review the request first.

        Raises:
            PeerError: the user refused.
            MissingCapability: the client does not offer a model.
        """
        return await _sampled(self, prompt, max_tokens, system_prompt, options)

    async def read_resource(self, uri: str) -> Sequence[Any]:
        """Return the contents of a resource of this server, with the rights of the request.

        Args:
            uri: its URI.

        Raises:
            RuntimeError: the server has no resources.
            NotFound: there is no such resource.
        """
        found = self.requester.answers.handlers.get(RESOURCES_READ)
        if found is None:
            raise RuntimeError("ctx.read_resource reads resources of this server, and it has none")
        params: Any = found[0].params
        result: Any = await found[1](params.load().model_construct(uri=uri), self)
        contents: Sequence[Any] = result.contents
        return contents

    async def debug(self, data: Any, *, logger: str | None = None) -> None:
        """Send a log message of the level ``debug``; see `log`.

        Args:
            data: any JSON value.
            logger: the name of the logger; None to send no name.
        """
        await self.log("debug", data, logger=logger)

    async def info(self, data: Any, *, logger: str | None = None) -> None:
        """Send a log message of the level ``info``; see `log`.

        Args:
            data: any JSON value.
            logger: the name of the logger; None to send no name.
        """
        await self.log("info", data, logger=logger)

    async def warning(self, data: Any, *, logger: str | None = None) -> None:
        """Send a log message of the level ``warning``; see `log`.

        Args:
            data: any JSON value.
            logger: the name of the logger; None to send no name.
        """
        await self.log("warning", data, logger=logger)

    async def error(self, data: Any, *, logger: str | None = None) -> None:
        """Send a log message of the level ``error``; see `log`.

        Args:
            data: any JSON value.
            logger: the name of the logger; None to send no name.
        """
        await self.log("error", data, logger=logger)


for _name in ("elicit", "sample", "read_resource", "debug", "info", "warning", "error", "log", "report_progress"):
    setattr(AskingContext, _name, noted(getattr(AskingContext, _name)))


async def _elicited(ctx: Context[Any], message: str, form: Any, options: "CallOptions | None") -> Any:
    """Ask the user to fill in a form; see `AskingContext.elicit`."""
    from pydantic import BaseModel, PydanticUserError, create_model
    from pydantic_core import SchemaError

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
    from mcp_runtime.app.errors import for_author

    fields = ", ".join(wrong) or "it"
    return for_author(TypeError(f"{name} is not a form: {fields} must be a string, a number, a boolean or a choice"))


async def _filled(
    ctx: Context[Any],
    message: str,
    form: "type[BaseModel]",
    schema: dict[str, Any],
    options: "CallOptions | None",
) -> "BaseModel | Declined | Cancelled":
    from pydantic import ValidationError
    from pydantic_core import to_json

    from mcp_runtime.app.mistakes import mistakes
    from mcp_runtime.app.shapes import MISFIT, Shape
    from mcp_runtime.client_features.forms import create
    from mcp_runtime.core.errors import RemoteProtocolError
    from mcp_runtime.core.protocol.names import ELICITATION_CREATE

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


async def _sampled(
    ctx: Context[Any], prompt: str, max_tokens: int, system_prompt: str | None, options: "CallOptions | None"
) -> str:
    """Let the client's model generate text; see `AskingContext.sample`."""
    from mcp_runtime.core.json.values import is_array
    from mcp_runtime.core.protocol.names import SAMPLING_CREATE_MESSAGE

    params: dict[str, Any] = {
        "messages": [{"role": "user", "content": {"type": "text", "text": prompt}}],
        "maxTokens": max_tokens,
    }
    if system_prompt is not None:
        params["systemPrompt"] = system_prompt
    method: Any = ctx.peer.__binding__.methods[SAMPLING_CREATE_MESSAGE]
    result: Any = await ctx.peer.__caller__.request(method, method.params.build(params), options)
    content: Any = result.content
    blocks = content if is_array(content) else [content]
    return "\n".join(block.text for block in blocks if block.type == "text")
