"""Ask the client from within a tool: its user, with a form given as a pydantic model, or its language model."""

from typing import TYPE_CHECKING, Any, TypeVar

from mcp_runtime.handlers import Context

if TYPE_CHECKING:
    from pydantic import BaseModel

    from mcp_runtime.options import CallOptions

ModelT = TypeVar("ModelT", bound="BaseModel")


async def ask(
    ctx: Context[Any], message: str, form: type[ModelT], *, options: "CallOptions | None" = None
) -> ModelT | None:
    """Ask the user of a client to fill in a form; return None if they decline or dismiss it.

    Never ask for secrets in a form: the client sees them, and so may the model.

    Args:
        ctx: the context of the tool, resource or prompt, of 2025-06-18 or later.
        message: tells the user what is needed, and why.
        form: a model whose fields are strings, numbers, booleans and choices.
        options: timeouts; allow for the time that people need.

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
    from mcp_runtime.errors import RemoteProtocolError
    from mcp_runtime.protocol.names import ELICITATION_CREATE

    schema = form.model_json_schema()
    wanted = {name: schema[name] for name in ("type", "properties", "required") if name in schema}
    try:
        result = await create(ctx.peer, {"message": message, "requestedSchema": wanted}, options)
    except ValidationError as error:
        raise TypeError(
            f"{form.__name__} is not a form: fields must be strings, numbers, booleans or choices"
        ) from error
    if result.action != "accept":
        return None
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
    from mcp_runtime.protocol.jsonrpc import is_array
    from mcp_runtime.protocol.names import SAMPLING_CREATE_MESSAGE

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
