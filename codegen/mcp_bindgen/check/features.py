"""Probes of what a server offers: all of it is listed, and some of it is used, as a client would."""

from collections.abc import Iterator
from typing import Any, Final

from mcp_bindgen.check.client import PAUSE, Ended, Peer, Silent, list_of, object_of
from mcp_bindgen.check.posting import PostingPeer
from mcp_bindgen.check.probes import (
    INVALID_PARAMS,
    LISTS,
    Context,
    NotJudged,
    code_of,
    pages,
    probe,
    told,
    wrong_answer,
)

MAX_USED: Final = 3
"""The number of prompts and resources that are used."""
PATIENCE: Final = 2.0
"""Seconds to wait for the answer to a use of a feature, which may take any time."""
MAX_SLOW: Final = 2
"""After how many features without an answer no more tools are called."""


@probe("messages.base-protocol")
async def use(context: Context) -> str | None:
    """Use what the server offers, so that each kind of message is looked at; what is slow or fails is not judged."""
    peer, timeout, slow = context.peer, context.peer.timeout, list[str]()
    for name in LISTS:
        await context.listed(name)
    if "resources" in peer.offered:
        await pages(peer, "resources/templates/list", "resourceTemplates")
    peer.timeout = min(timeout, PATIENCE)
    for method, params in _uses(context):
        try:
            await peer.ask(method, params)
        except Ended:
            return f"the server ends at {method}, which it declares"
        except Silent:
            slow.append(method)
    for tool in context.lists["tools"] if not context.is_repeated else ():
        if len(slow) < MAX_SLOW and context.options.wants(tool):
            try:
                await _call(context, tool)
            except Ended:
                return f"the server ends at a call of {tool.get('name')}"
            except Silent:
                slow.append(str(tool.get("name")))
                context.options.slow.add(slow[-1])
    peer.timeout = timeout
    await peer.settle(PAUSE / 3)
    if slow:
        raise NotJudged(f"no answer within {PATIENCE:g} s: {', '.join(slow)}")
    return None


def _uses(context: Context) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield requests for what the server has listed, beside calls of tools."""
    offered = context.peer.offered
    for prompt in context.lists["prompts"][:MAX_USED]:
        arguments = {str(object_of(each).get("name")): "a" for each in list_of(prompt.get("arguments"))}
        yield "prompts/get", {"name": prompt.get("name"), "arguments": arguments}
        if "completions" in offered and arguments:
            reference = {"type": "ref/prompt", "name": prompt.get("name")}
            yield "completion/complete", {"ref": reference, "argument": {"name": next(iter(arguments)), "value": ""}}
    for resource in context.lists["resources"][:MAX_USED]:
        yield "resources/read", {"uri": resource.get("uri")}
        if context.peer.is_legacy and context.has("resources.subscribe"):
            yield "resources/subscribe", {"uri": resource.get("uri")}
            yield "resources/unsubscribe", {"uri": resource.get("uri")}
    if context.peer.is_legacy and "logging" in offered:
        yield "logging/setLevel", {"level": "debug"}


async def _call(context: Context, tool: dict[str, Any]) -> None:
    """Call a tool, with its progress; also as a task if it can be one."""
    peer, name = context.peer, str(tool.get("name"))
    arguments = context.options.arguments(tool).smallest
    if arguments is None:
        return
    params: dict[str, Any] = {"name": name, "arguments": arguments}
    support = object_of(tool.get("execution")).get("taskSupport")
    context.options.calls += 1
    if support != "required":
        meta = {"progressToken": f"check-{context.options.calls}"}
        await peer.ask("tools/call", {**params, "_meta": meta if peer.is_legacy else {**peer.meta(), **meta}})
    if not context.has("tasks.requests.tools.call") or support not in ("optional", "required"):
        return
    await peer.ask("tools/call", {**params, "task": {"ttl": 60_000}})
    answer = await peer.ask("tools/call", {**params, "task": {"ttl": 60_000}})
    task = object_of(object_of(answer.get("result")).get("task")).get("taskId")
    if isinstance(task, str):
        await peer.ask("tasks/get", {"taskId": task})
        if context.has("tasks.list"):
            await pages(peer, "tasks/list", "tasks")
        await peer.ask("tasks/result", {"taskId": task})
        if context.has("tasks.cancel"):
            await peer.ask("tasks/cancel", {"taskId": task})


@probe("tasks.tool-required-refused")
async def task_required(context: Context) -> str | None:
    """Call a tool that must be a task without one: it is refused."""
    for tool in await context.listed("tools") if context.has("tasks.requests.tools.call") else ():
        if object_of(tool.get("execution")).get("taskSupport") != "required" or not context.options.wants(tool):
            continue
        arguments = context.options.arguments(tool).smallest or {}
        answer = await context.peer.ask("tools/call", {"name": tool.get("name"), "arguments": arguments})
        if code_of(answer) not in (-32601, -32600):  # one page demands the first, another allows the second
            return f"{tool.get('name')} must be a task, and a call without one is answered by {told(answer)}"
    return None


@probe("pagination.invalid", also=("tasks.unknown-cursor",))
async def invalid_cursor(context: Context) -> str | None:
    """A server without pages may ignore cursors; one that gave a cursor must know which are its own."""
    peer, requirement = context.peer, {"tasks": "tasks.unknown-cursor"}
    for name in (*LISTS, "tasks"):
        method = f"{name}/list"
        if not context.has("tasks.list" if name == "tasks" else name):
            continue
        if "nextCursor" not in object_of((await peer.ask(method)).get("result")):
            continue
        answer = await peer.ask(method, {"cursor": "not a cursor of this server"}, is_valid=False)
        if reason := wrong_answer(f"{method} with an invalid cursor", answer, f"error {INVALID_PARAMS}"):
            context.find(requirement.get(name, "pagination.invalid"), "", reason)
    return None


def _declared(capability: str) -> Any:
    async def run(context: Context) -> str | None:
        if capability in context.peer.offered:
            return None
        answer = await context.peer.ask(f"{capability}/list", is_valid=False)
        if listed := list_of(object_of(answer.get("result")).get(capability)):
            return f"{capability}/list has {len(listed)}, and the capability {capability} is not declared"
        return None

    return run


for _capability in LISTS:
    probe(f"{_capability}.declared")(_declared(_capability))


@probe("prompts.missing-arguments")
async def missing_arguments(context: Context) -> str | None:
    """Get a prompt without an argument that it requires."""
    for prompt in await context.listed("prompts"):
        if any(object_of(each).get("required") is True for each in list_of(prompt.get("arguments"))):
            answer = await context.peer.ask("prompts/get", {"name": prompt.get("name")}, is_valid=False)
            if code_of(answer) != INVALID_PARAMS and not object_of(answer.get("result")).get("inputRequests"):
                return f"{prompt.get('name')} without its arguments is answered by {told(answer)}"
            return None
    return None


@probe("modern.server-info")
async def server_info(context: Context) -> str | None:
    """Look at the result of `server/discover`."""
    result = object_of((await context.peer.ask("server/discover")).get("result"))
    return None if context.peer.server or not result else "the result of server/discover does not name the server"


@probe("listening.acknowledged", is_last=True)
async def listen(context: Context) -> str | None:
    """Subscribe to changes, and end the subscription."""
    peer = context.peer
    flags = {f"{name}ListChanged": True for name in LISTS if context.has(f"{name}.listChanged")}
    if not flags:
        return None
    request = peer.request("subscriptions/listen", {"notifications": flags})
    await peer.send(request)
    for message in await peer.settle(PAUSE * 3):
        if message.get("id") == request["id"]:
            raise NotJudged(f"subscriptions/listen is answered by {told(message)}")
        if message.get("method") == "notifications/subscriptions/acknowledged":
            await _stop_listening(peer, request["id"])
            return None
    raise NotJudged("a subscription is not acknowledged soon")


async def _stop_listening(peer: Peer, id_: Any) -> None:
    if not isinstance(peer, PostingPeer):
        await peer.send(peer.request("notifications/cancelled", {"requestId": id_}))
