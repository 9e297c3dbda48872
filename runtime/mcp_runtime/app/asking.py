"""Ask the client from within a tool: its user, with a form given as a pydantic model, or its language model."""

from enum import Enum
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar

from mcp_runtime.core.handlers import Context

if TYPE_CHECKING:
    from pydantic import BaseModel

    from mcp_runtime.core.options import CallOptions

ModelT = TypeVar("ModelT", bound="BaseModel")

_LABELS: Final = "2025-11-25"
"""The first revision in which each choice has its label beside it; in 2025-06-18 they are a list of their own."""


class Refusal(Enum):
    """Why a user did not fill in a form. Both are false, so ``if not answer`` covers them."""

    DECLINED = "decline"
    """The user said no."""
    CANCELLED = "cancel"
    """The user dismissed the form without a choice."""

    def __bool__(self) -> Literal[False]:
        return False


async def ask(
    ctx: Context[Any], message: str, form: type[ModelT], *, options: "CallOptions | None" = None
) -> ModelT | Refusal:
    """Ask the user of a client to fill in a form; return a `Refusal` if they decline or dismiss it.

    Never ask for secrets in a form: the client sees them, and so may the model.

    Args:
        ctx: the context of the tool, resource or prompt, of 2025-06-18 or later.
        message: tells the user what is needed, and why.
        form: a model whose fields are strings, numbers, booleans, choices and, from 2025-11-25 on, lists of choices. A
            choice is a `Literal` or an `Enum`; with labels it is a union of annotated literals:
            ``Annotated[Literal["s"], Field(title="Small")] | ...``.
        options: timeouts; allow for the time that people need. Its `key` names the question (2026-07-28).

    Raises:
        TypeError: the model has fields that forms do not support.
        RemoteProtocolError: the user accepted, but the answer does not match the form.
        MissingCapability: the client does not support forms.
    """
    from pydantic import ValidationError
    from pydantic_core import to_json

    from mcp_runtime.app.mistakes import mistakes
    from mcp_runtime.app.shapes import MISFIT, Shape
    from mcp_runtime.client_features.forms import create
    from mcp_runtime.core.errors import RemoteProtocolError
    from mcp_runtime.core.protocol.names import ELICITATION_CREATE

    schema = form.model_json_schema()
    definitions, labelled = (
        schema.get("$defs", {}),
        ("oneOf" if ctx.peer.__binding__.revision >= _LABELS else "enumNames"),
    )
    fields = {name: _field(stated, definitions, labelled) for name, stated in schema["properties"].items()}
    wanted = {"type": "object", "properties": fields, "required": schema.get("required", [])}
    try:
        result = await create(ctx.peer, {"message": message, "requestedSchema": wanted}, options)
    except ValidationError as error:
        raise TypeError(
            f"{form.__name__} is not a form: fields must be strings, numbers, booleans or choices"
        ) from error
    if result.action != "accept":
        return Refusal(result.action)
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


async def sample(
    ctx: Context[Any],
    prompt: str,
    *,
    max_tokens: int = 1000,
    system_prompt: str | None = None,
    options: "CallOptions | None" = None,
) -> str:
    """Let the client's model generate text, and return it; empty if the model returned something else.

    ``ctx.client.create_message`` offers everything that the protocol has.

    Args:
        ctx: the context of the tool, resource or prompt.
        prompt: the text sent to the model.
        max_tokens: the maximum length of the answer in tokens.
        system_prompt: a system prompt, if any.
        options: timeouts; users may review the request first.

    Raises:
        PeerError: the user refused.
        MissingCapability: the client does not offer a model.
    """
    from mcp_runtime.core.protocol.jsonrpc import is_array
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
