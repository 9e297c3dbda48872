"""Probes of the page "basic": batches, statelessness, schemas, and all kinds of messages."""

import asyncio
from collections.abc import Iterator, Mapping
from typing import Any, Final

from mcp_bindgen.check.client import PAUSE, Ended, NotJudged, Silent, told
from mcp_bindgen.check.probe import LISTS, Context, Found, pages, probe, wrong_answer
from mcp_bindgen.ir.diagnostics import clip
from mcp_bindgen.ir.json_values import as_list, as_object

MAX_USED: Final = 3
"""The number of prompts and resources that are used."""
PATIENCE: Final = 2.0
"""Seconds to wait for the answer to a use of a feature, which may take any time."""
MAX_STEPS: Final = 150_000
"""The maximum number of steps of looking at one schema."""
MAX_SLOW: Final = 2
"""After how many features without an answer no more tools are called."""


@probe("messages.base-protocol", answered=True)
async def use(context: Context) -> str | None:
    """Use what the server offers, so that each kind of message is looked at; what is slow or fails is not judged."""
    peer, timeout, slow = context.peer, context.peer.timeout, list[str]()
    for name in LISTS:
        await context.listed(name)
    if "resources" in peer.offered:
        await pages(peer, "resources/templates/list", "resourceTemplates")
    peer.timeout = min(timeout, PATIENCE)
    for what, asked in (*_uses(context), *_calls(context)):
        is_call = isinstance(asked, str)
        if is_call and (len(slow) >= MAX_SLOW or not context.options.wants(what)):
            continue
        try:
            await (_call(context, what) if is_call else peer.ask(what, asked))
        except Ended as ended:
            raise Ended(f"{f'a call of {asked}' if is_call else f'{what}, which it declares'}: {ended}") from None
        except Silent:
            slow.append(asked if is_call else what)
            context.options.slow |= {asked} if is_call else set()
    peer.timeout = timeout
    await peer.settle(PAUSE / 3)
    if slow:
        raise NotJudged(f"no answer within {PATIENCE:g} s: {', '.join(slow)}")
    return None


def _calls(context: Context) -> Iterator[tuple[Any, Any]]:
    """Yield the tools, each with its name."""
    yield from ((tool, str(tool.get("name"))) for tool in ([] if context.is_repeated else context.lists["tools"]))


def _uses(context: Context) -> Iterator[tuple[Any, Any]]:
    """Yield requests for what the server has listed, beside calls of tools."""
    offered = context.peer.offered
    for prompt in context.lists["prompts"][:MAX_USED]:
        arguments = {str(as_object(each).get("name")): "a" for each in as_list(prompt.get("arguments"))}
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
    peer = context.peer
    if (arguments := context.options.arguments(tool).smallest) is None:
        return
    params: dict[str, Any] = {"name": tool.get("name"), "arguments": arguments}
    context.options.calls += 1
    if as_object(tool.get("execution")).get("taskSupport") != "required":
        meta = {"progressToken": f"check-{context.options.calls}"}
        await peer.ask("tools/call", {**params, "_meta": meta if peer.is_legacy else {**peer.meta(), **meta}})
    await call_as_task(context, tool, params)


@probe("batches.received")
async def batch(context: Context) -> str | None:
    """Send two pings in a batch."""
    peer = context.peer
    calls = [peer.request("ping"), peer.request("ping")]
    await peer.send(calls)
    deadline = asyncio.get_running_loop().time() + PAUSE * 10
    missing = {each["id"] for each in calls}
    try:
        while missing:
            message = await peer.next(deadline)
            if "error" in message and message.get("id") is None:
                return f"a batch of two pings is answered by {told(message)}"
            missing -= {as_object(each).get("id") for each in message.get("batch", [message])}
    except Silent as silent:
        if not isinstance(silent, Ended):
            await peer.ask("ping")
        return f"a batch of two pings: {len(missing)} not answered ({silent}), and a ping after it is"
    return None


@probe("modern.stateless", also=("modern.lists-do-not-vary",))
async def stateless(context: Context) -> str | None:
    """Ask for the lists in a new conversation, first thing; in between, they are asked for here, and again after it."""
    names = {name: key for name, key in LISTS.items() if name in context.peer.offered}
    if not names:
        return None
    first = f"{next(iter(names))}/list"
    if "error" in (usual := await context.peer.ask(first)):
        raise NotJudged(f"{first} is answered by {told(usual)}")
    async with context.other() as peer:
        answer = await peer.ask(first)
        for name, key in names.items():
            lists = [
                {str(each.get(key)) for each in await pages(asked, f"{name}/list", name)}
                for asked in (context.peer, peer, context.peer)
            ]
            if lists[0] == lists[2] != lists[1]:  # what changes in between may differ
                reason = f"{name}/list differs between connections: {', '.join(sorted(lists[0] ^ lists[1]))}"
                context.find(Found("modern.lists-do-not-vary", reason))
    return wrong_answer(f"{first} as the first request", answer, "result")


@probe("modern.server-info")
async def server_info(context: Context) -> str | None:
    """Look at the result of `server/discover`."""
    result = as_object((await context.peer.ask("server/discover")).get("result"))
    return None if context.peer.server or not result else "the result of server/discover does not name the server"


@probe("messages.schema-valid")
async def schemas(context: Context) -> str | None:
    """Look at the schemas of tools that name no dialect, or 2020-12."""
    from jsonschema import Draft202012Validator

    from mcp_runtime.json_schema.check import Check, UnusableSchema

    dialect = Check(Draft202012Validator.META_SCHEMA, max_steps=MAX_STEPS)
    for tool in await context.listed("tools"):
        for key in ("inputSchema", "outputSchema"):
            schema, place = as_object(tool.get(key)), f"{tool.get('name')}.{key}"
            if not schema or "2020-12" not in str(schema.get("$schema", "2020-12")):
                continue
            try:
                dialect.restart()
                if (wrong := dialect.find_in(dialect.schema, schema)) is not None:
                    context.find(Found("messages.schema-valid", f"{place}: {clip(wrong.reason, 200)}", place))
            except UnusableSchema as error:
                raise NotJudged(f"{place}: {error}") from None
    return None


async def call_as_task(context: Context, tool: Mapping[str, Any], params: Mapping[str, Any]) -> None:
    """Call a tool as a task twice, if it can be one, and ask for the second task in every way."""
    peer, support = context.peer, as_object(tool.get("execution")).get("taskSupport")
    if not context.has("tasks.requests.tools.call") or support not in ("optional", "required"):
        return
    context.options.calls += 2
    answers = [await peer.ask("tools/call", {**params, "task": {"ttl": 60_000}}) for _ in range(2)]
    task = as_object(as_object(answers[1].get("result")).get("task")).get("taskId")
    if isinstance(task, str):
        await peer.ask("tasks/get", {"taskId": task})
        if context.has("tasks.list"):
            await pages(peer, "tasks/list", "tasks")
        await peer.ask("tasks/result", {"taskId": task})
        if context.has("tasks.cancel"):
            await peer.ask("tasks/cancel", {"taskId": task})
