"""The context of a server's handler or decorated function: it asks the client, logs, and reads the server's resources.

The bindings import it with every server, so what it needs is imported when it is used.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, overload

from mcp_runtime.awaiting import Noting, noted
from mcp_runtime.core.handlers import Context, PeerT, ServerContext, StateT
from mcp_runtime.core.protocol.names import RESOURCES_READ

if TYPE_CHECKING:
    from mcp_runtime.app.elicitation import Accepted, Cancelled, Declined, ModelT, ScalarT
    from mcp_runtime.core.options import CallOptions


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
        from mcp_runtime.app.elicitation import elicited

        return await elicited(self, message, form, options)

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
