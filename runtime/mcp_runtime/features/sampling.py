"""Sampling (client/sampling): a person reviews what the model is asked and what it says, and messages are in order."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, TypeVar, cast

from pydantic import BaseModel

from mcp_runtime.errors import PeerError
from mcp_runtime.protocol.jsonrpc import INVALID_PARAMS, is_array, is_object

P = TypeVar("P", bound=BaseModel)
R = TypeVar("R", bound=BaseModel)

REJECTED: Final = -1
"""The error code of a request that a person rejected (client/sampling, "Error Handling")."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Denied:
    """A person does not want this.

    Attributes:
        reason: more on that for the server, in words; empty for none.
    """

    reason: str = ""


Before: TypeAlias = Callable[[P], Awaitable[P | Denied]]
"""Is shown the request before the model is; returns it, an edited one, or a denial."""
After: TypeAlias = Callable[[P, R], Awaitable[R | Denied]]
"""Is shown the request as the model got it, and the result; returns the result, an edited one, or a denial."""


class SamplingRejected(PeerError):
    """A person rejected a request for sampling, or its result; a handler that lets it pass answers with -1."""


class MessagesOutOfOrder(PeerError):
    """Uses of tools and their results do not belong together; a handler that lets it pass answers with -32602."""


def reviewed(
    model: Callable[[P], Awaitable[R]],
    *,
    before: Before[P] | None = None,
    after: After[P, R] | None = None,
) -> Callable[[P], Awaitable[R]]:
    """Return a model that is asked only what a person agrees to, and whose results leave only if one agrees.

    The messages of the request are checked first, and those that a person edited once more: see `check_messages`. A
    handler uses it as in ``return await reviewed(my_model, before=show, after=show_result)(params)``.

    Args:
        model: makes a ``CreateMessageResult`` from ``CreateMessageRequestParams``, of any revision.
        before: is asked before the model is; None to let every request pass.
        after: is asked before the result leaves; None to let every result pass.

    Raises:
        SamplingRejected: what is returned raises it if a hook denies.
        MessagesOutOfOrder: what is returned raises it if the messages are not in order.
    """

    async def ask(params: P) -> R:
        check_messages(_messages(params))
        if before is not None:
            agreed = await before(params)
            if isinstance(agreed, Denied):
                raise _rejected("the user rejected the sampling request", agreed)
            # A person may have edited it in place.
            check_messages(_messages(agreed))
            params = agreed
        result = await model(params)
        if after is None:
            return result
        shown = await after(params, result)
        if isinstance(shown, Denied):
            raise _rejected("the user rejected the result of the sampling request", shown)
        return shown

    return ask


def check_messages(messages: Sequence[BaseModel]) -> None:
    """Check that uses of tools and their results belong together (2025-11-25, client/sampling).

    A message with results of tools has nothing else in it, and comes from the user. A message that uses tools comes
    from the assistant, and the next one has exactly one result for each use.

    Args:
        messages: the ``SamplingMessage`` objects of any revision, as a server is about to send them, or as a client
            got them; revisions before 2025-11-25 know no tools here.

    Raises:
        MessagesOutOfOrder: they do not belong together; its data says which message, as a JSON pointer.
    """
    open_uses: Sequence[str] = ()
    for number, typed in enumerate(messages):
        message = typed.model_dump(mode="json")
        blocks = _blocks(message)
        results = [block for block in blocks if block.get("type") == "tool_result"]
        uses = [block for block in blocks if block.get("type") == "tool_use"]
        if results and (len(results) < len(blocks) or message.get("role") != "user"):
            raise _out_of_order(number, "results of tools come in a message of the user with nothing else in it")
        if uses and message.get("role") != "assistant":
            raise _out_of_order(number, "only the assistant uses tools")
        answered = [str(result.get("toolUseId")) for result in results]
        if sorted(answered) != sorted(open_uses):
            missing = "a use of a tool has no result in the next message"
            extra = "a result belongs to no use of a tool in the message before"
            raise _out_of_order(number, missing if set(open_uses) - set(answered) else extra)
        open_uses = [str(use.get("id")) for use in uses]
        if len(set(open_uses)) < len(open_uses):
            raise _out_of_order(number, "two uses of tools have the same id")
    if open_uses:
        raise _out_of_order(len(messages) - 1, "a use of a tool has no result in the next message")


def _messages(params: Any) -> Sequence[BaseModel]:
    messages: Sequence[BaseModel] = params.messages
    return messages


def _blocks(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    content: object = message.get("content")
    return cast("list[Mapping[str, Any]]", content) if is_array(content) else [content] if is_object(content) else []


def _rejected(message: str, denied: Denied) -> SamplingRejected:
    return SamplingRejected(REJECTED, message, {"reason": denied.reason} if denied.reason else None)


def _out_of_order(number: int, reason: str) -> MessagesOutOfOrder:
    return MessagesOutOfOrder(INVALID_PARAMS, reason, {"pointer": f"/messages/{number}"})
