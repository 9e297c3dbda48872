"""Probes of pages with one or two: cancellation, lifecycle, pagination, prompts, subscriptions and tasks."""

import asyncio
import json
from typing import Final

from mcp_bindgen.check.client import PAUSE, NotJudged, code_of, told
from mcp_bindgen.check.probe import INVALID_PARAMS, LISTS, Context, Found, probe, wrong_answer
from mcp_bindgen.check.requirements import LEGACY
from mcp_bindgen.ir.json_values import as_list, as_object

UNKNOWN: Final = "1999-12-31"
"""A revision that nobody speaks."""


@probe("cancellation.races", answered=True)
@probe("alone.cancel-races", answered=True)
async def cancel_late(context: Context) -> str | None:
    """Cancel a request that was answered; the next one is answered too."""
    peer = context.peer
    request = peer.request(peer.always)
    await peer.send(request)
    await peer.answer_to(request["id"])
    if peer.cancels:
        await peer.send(peer.request("notifications/cancelled", {"requestId": request["id"]}), is_valid=False)
    return wrong_answer(f"{peer.always} after a late cancellation", await peer.ask(peer.always), "result")


@probe("lifecycle.version-other", also=("lifecycle.version-other-latest",))
async def version_other(context: Context) -> str | None:
    """Ask for a revision that nobody speaks, in a new conversation."""
    if context.spoken[0] != context.peer.revision:
        return None  # once is enough
    async with context.other() as peer:
        answer = await peer.ask("initialize", {**peer.hello, "protocolVersion": UNKNOWN})
    chosen = as_object(answer.get("result")).get("protocolVersion")
    if "result" not in answer:
        raise NotJudged("a server may also refuse an unknown revision by an error")
    if chosen == UNKNOWN:
        return f"a request for {UNKNOWN} is accepted"
    if isinstance(chosen, str) and chosen in LEGACY and chosen < context.spoken[0]:
        reason = f"a request for {UNKNOWN} is answered with {chosen}, and the server speaks {context.spoken[0]}"
        context.find(Found("lifecycle.version-other-latest", reason))
    return None


@probe("modern.initialize-refused")
async def initialize_refused(context: Context) -> str | None:
    """Send the handshake of the legacy era to a server that has none."""
    if context.has("legacy"):
        return None
    async with context.other() as peer:
        peer.revision = LEGACY[-1]
        answer = await peer.ask("initialize", peer.hello)
    if any(revision in json.dumps(answer) for revision in context.spoken):
        return None
    return "the answer to `initialize` does not name a revision that the server speaks"


@probe("pagination.invalid", also=("tasks.unknown-cursor",))
async def invalid_cursor(context: Context) -> str | None:
    """A server without pages may ignore cursors; one that gave a cursor must know which are its own."""
    for name in (*LISTS, "tasks"):
        method = f"{name}/list"
        if not context.has("tasks.list" if name == "tasks" else name):
            continue
        if "nextCursor" not in as_object((await context.peer.ask(method)).get("result")):
            continue
        answer = await context.peer.ask(method, {"cursor": "not a cursor of this server"}, is_valid=False)
        if reason := wrong_answer(f"{method} with an invalid cursor", answer, f"error {INVALID_PARAMS}"):
            context.find(Found("tasks.unknown-cursor" if name == "tasks" else "pagination.invalid", reason))
    return None


@probe("prompts.missing-arguments")
async def missing_arguments(context: Context) -> str | None:
    """Get a prompt without an argument that it requires."""
    for prompt in await context.listed("prompts"):
        if any(as_object(each).get("required") is True for each in as_list(prompt.get("arguments"))):
            answer = await context.peer.ask("prompts/get", {"name": prompt.get("name")}, is_valid=False)
            if code_of(answer) != INVALID_PARAMS and not as_object(answer.get("result")).get("inputRequests"):
                return f"{prompt.get('name')} without its arguments is answered by {told(answer)}"
            return None
    return None


@probe("listening.acknowledged", is_last=True)
async def listen(context: Context) -> str | None:
    """Subscribe to changes, and end the subscription."""
    peer = context.peer
    flags = {f"{name}ListChanged": True for name in LISTS if context.has(f"{name}.listChanged")}
    if not flags:
        return None
    request = peer.request("subscriptions/listen", {"notifications": flags})
    await peer.send(request)
    deadline = asyncio.get_running_loop().time() + PAUSE * 3
    while True:
        message = await peer.next(deadline)
        if message.get("id") == request["id"]:
            raise NotJudged(f"subscriptions/listen is answered by {told(message)}")
        if message.get("method") == "notifications/subscriptions/acknowledged":
            await peer.settle(PAUSE / 3)
            if peer.cancels:
                await peer.send(peer.request("notifications/cancelled", {"requestId": request["id"]}))
            return None


@probe("tasks.tool-required-refused")
async def task_required(context: Context) -> str | None:
    """Call a tool that must be a task without one: it is refused."""
    for tool in await context.listed("tools") if context.has("tasks.requests.tools.call") else ():
        if as_object(tool.get("execution")).get("taskSupport") != "required" or not context.options.wants(tool):
            continue
        arguments = context.options.arguments(tool).smallest or {}
        context.options.calls += 1
        answer = await context.peer.ask("tools/call", {"name": tool.get("name"), "arguments": arguments})
        if code_of(answer) not in (-32601, -32600):  # one page demands the first, another allows the second
            return f"{tool.get('name')} must be a task, and a call without one is answered by {told(answer)}"
    return None
