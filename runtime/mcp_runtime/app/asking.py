"""What a tool asks of its client: the person behind it, by a form that is a pydantic model, and its language model."""

from typing import TYPE_CHECKING, Any, TypeVar

from mcp_runtime.handlers import Context

if TYPE_CHECKING:
    from pydantic import BaseModel

    from mcp_runtime.caller import CallOptions

ModelT = TypeVar("ModelT", bound="BaseModel")


async def ask(
    ctx: Context[Any], message: str, form: type[ModelT], *, options: "CallOptions | None" = None
) -> ModelT | None:
    """Ask the person behind a client to fill in a form; returns None if they decline, or go away.

    Never ask for secrets in a form: the client sees them, and the model may.

    Args:
        ctx: the context of the tool, resource or prompt, of 2025-06-18 or later.
        message: tells what is wanted, and what for.
        form: a model whose fields are texts, numbers, booleans and choices.
        options: limits; people take their time.

    Raises:
        TypeError: the model has fields that no form has.
        RemoteProtocolError: the person agreed, but what came does not fit the form.
        MissingCapability: the client has no forms.
    """
    from pydantic import ValidationError
    from pydantic_core import to_json

    from mcp_runtime.app.mistakes import mistakes
    from mcp_runtime.app.schemas import with_whole_numbers
    from mcp_runtime.errors import RemoteProtocolError
    from mcp_runtime.features.elicitation.form import create
    from mcp_runtime.protocol.names import ELICITATION_CREATE

    schema = form.model_json_schema()
    wanted = {name: schema[name] for name in ("type", "properties", "required") if name in schema}
    try:
        result = await create(ctx.peer, {"message": message, "requestedSchema": wanted}, options)
    except ValidationError as error:
        raise TypeError(
            f"{form.__name__} is not a form: its fields are texts, numbers, booleans and choices"
        ) from error
    if result.action != "accept":
        return None
    content: dict[str, Any] = with_whole_numbers(result.model_dump(mode="json").get("content") or {})
    try:
        return form.model_validate_json(to_json(content), strict=True)
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
    """Let the model of the client write a text; returns it, empty if the model wrote something else.

    ``ctx.client.create_message`` is the same with all that the protocol has.

    Args:
        ctx: the context of the tool, resource or prompt.
        prompt: what the model is asked.
        max_tokens: how much it may write.
        system_prompt: instructions to put before the prompt.
        options: limits; people may review what is asked.

    Raises:
        PeerError: the user does not want that.
        MissingCapability: the client has no model.
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
