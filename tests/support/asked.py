"""A handler that asks its client: by requests in the legacy era, by its result in the modern one."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from support.roles import build, make_server
from support.talk import MODERN, raw


@dataclass(slots=True)
class Asked:
    """The outcome of a handler that asked its client.

    Attributes:
        questions: what reached the client, each with ``method`` and perhaps ``params``.
        outcome: what asking returned, or the exception that it raised.
    """

    questions: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    outcome: Any = None


async def asked_in_a_call(
    revision: str, ask: Callable[[Any], Awaitable[Any]], answer: Any = None, **capabilities: Any
) -> Asked:
    """Let a handler of tools/call ask a client that declared some capabilities, and answers with one result.

    Args:
        revision: the revision that both speak.
        ask: called with the handler's context; asks the client.
        answer: the client's result for every question.
        capabilities: what the client declares.
    """
    found = Asked()

    async def call_tool(self: Any, params: Any, ctx: Any) -> Any:
        try:
            found.outcome = await ask(ctx)
        except Exception as error:
            found.outcome = error
        return build(revision, "CallToolResult", content=[])

    async with raw(make_server(revision, call_tool=call_tool)) as line:
        await line.shake_hands(revision, **capabilities)
        line.got.clear()
        line.tell(id=0, method="tools/call", params={"name": "x"})
        for id_ in range(1, 20):
            message = await line.arrived()
            if "method" in message:
                found.questions.append(without_id(message))
                line.tell(id=message["id"], result=answer)
            elif revision == MODERN and message["result"]["resultType"] == "input_required":
                requests = message["result"]["inputRequests"]
                found.questions += requests.values()
                more = {
                    "inputResponses": dict.fromkeys(requests, answer),
                    "requestState": message["result"]["requestState"],
                }
                line.tell(id=id_, method="tools/call", params={"name": "x", **more})
            else:
                assert "result" in message, message
                break
    return found


def without_id(request: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in request.items() if name not in ("id", "jsonrpc")}
