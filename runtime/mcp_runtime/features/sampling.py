"""Sampling (client/sampling): a person reviews what the model is asked and what it says, and messages are in order."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, TypeVar

from pydantic import BaseModel

from mcp_runtime.errors import PeerError
from mcp_runtime.protocol.jsonrpc import INVALID_PARAMS
from mcp_runtime.protocol.tool_uses import unbalanced

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
    found = unbalanced([message.model_dump(mode="json") for message in messages])
    if found is not None:
        number, reason = found
        raise MessagesOutOfOrder(INVALID_PARAMS, reason, {"pointer": f"/messages/{number}"})


def _messages(params: Any) -> Sequence[BaseModel]:
    messages: Sequence[BaseModel] = params.messages
    return messages


def _rejected(message: str, denied: Denied) -> SamplingRejected:
    return SamplingRejected(REJECTED, message, {"reason": denied.reason} if denied.reason else None)
