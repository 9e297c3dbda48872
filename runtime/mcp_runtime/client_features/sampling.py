"""Sampling (client/sampling): human review of requests and results, and the order of messages."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, TypeVar

from pydantic import BaseModel

from mcp_runtime.core.errors import PeerError
from mcp_runtime.core.protocol.jsonrpc import INVALID_PARAMS
from mcp_runtime.core.protocol.rules import unbalanced

__all__ = ["REJECTED", "Denied", "MessagesOutOfOrder", "SamplingRejected", "check_messages", "reviewed"]

P = TypeVar("P", bound=BaseModel)
R = TypeVar("R", bound=BaseModel)

REJECTED: Final = -1
"""The error code of a request that the user rejected (client/sampling, "Error Handling")."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Denied:
    """The user refused.

    Attributes:
        reason: a reason for the server; empty for none.
    """

    reason: str = ""


Before: TypeAlias = Callable[[P], Awaitable[P | Denied]]
"""Reviews the request before the model sees it; returns it, an edited one, or a denial."""
After: TypeAlias = Callable[[P, R], Awaitable[R | Denied]]
"""Reviews the result, given the request that the model received; returns it, an edited one, or a denial."""


class SamplingRejected(PeerError):
    """The user rejected a sampling request or its result. Unless a handler catches it, the client answers with -1."""


class MessagesOutOfOrder(PeerError):
    """Tool uses and tool results do not match. Unless a handler catches it, the answer is -32602."""


def reviewed(
    model: Callable[[P], Awaitable[R]],
    *,
    before: Before[P] | None = None,
    after: After[P, R] | None = None,
) -> Callable[[P], Awaitable[R]]:
    """Wrap a model so that the user reviews requests before they reach it, and results before they are sent.

    The messages of the request are checked first, and again after editing: see `check_messages`. Use it in a handler,
    as in ``return await reviewed(my_model, before=show, after=show_result)(params)``.

    Args:
        model: returns a ``CreateMessageResult`` for ``CreateMessageRequestParams``, of any revision.
        before: called before the model; None to accept every request.
        after: called before the result is sent; None to accept every result.

    Raises:
        SamplingRejected: a hook denied; raised by the returned function.
        MessagesOutOfOrder: the messages are not in order; raised by the returned function.
    """

    async def ask(params: P) -> R:
        check_messages(_messages(params))
        if before is not None:
            agreed = await before(params)
            if isinstance(agreed, Denied):
                raise _rejected("the user rejected the sampling request", agreed)
            # The reviewer may have edited it in place.
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
    """Check that tool uses and tool results match (2025-11-25, client/sampling).

    A message with tool results contains nothing else and comes from the user. A message that uses tools comes from the
    assistant, and the next one has exactly one result for each use.

    Args:
        messages: ``SamplingMessage`` objects of any revision, before a server sends them or as a client received them;
            revisions before 2025-11-25 have no tools here.

    Raises:
        MessagesOutOfOrder: they do not match; its data locates the message by a JSON pointer.
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
