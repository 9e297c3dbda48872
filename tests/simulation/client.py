"""The programs of simulated clients: they call, cancel, answer questions and watch."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from importlib import import_module
from typing import Any

from mcp_runtime.core.errors import McpError
from mcp_runtime.core.handshake.client import Peer
from mcp_runtime.core.options import CallOptions
from mcp_runtime.core.settings import ClientOptions
from mcp_runtime.extensions.tasks import Tasks, start_task
from simulation.duties import MODERN
from simulation.net import History, Stream, held
from support.talk import bindings

World = dict[str, Any]
"""What `world.make` returns, `world.run` plays and the oracle judges: JSON, so that it can be kept and made smaller."""


def make_handlers(world: World, history: History, who: str) -> Any:
    """Return the handlers of a client: they answer a question with its own text, after the seconds that it names."""
    v = bindings(world["client"])

    async def create_message(self: Any, params: Any, ctx: Any) -> Any:
        text = params.messages[0].content.text
        history.note(who, "is asked", {"text": text})
        try:
            await asyncio.sleep(float(text.rpartition("|")[2]))
        except asyncio.CancelledError:
            history.note(who, "is interrupted", {"text": text})
            raise
        history.note(who, "replies", {"text": text})
        return v.CreateMessageResult(role="assistant", content=v.TextContent(text=text), model="m")

    async def updated(self: Any, params: Any, ctx: Any) -> None:
        history.note(who, "hears of", {"tag": "", "uri": params.uri})

    async def changed(self: Any, params: Any, ctx: Any) -> None:
        history.note(who, "hears of", {"tag": "", "uri": None})

    known = {"create_message": create_message}
    if "watches" in world and world["client"] != MODERN:
        known |= {"on_resource_updated": updated, "on_tool_list_changed": changed}
    return type("Person", (v.ClientHandlers,), known)()


async def live(world: World, history: History, number: int, stream: Stream, opened: dict[int, Any]) -> None:
    """Be a client: open, make the calls, close."""
    who, loop = f"client {number}", history.loop
    client_class = bindings(world["client"]).Client
    peer = Peer(stream.client)
    options = ClientOptions(name=who, era=world["era"], **world["patience"])
    history.note(who, "opens")
    try:
        more = {"extensions": [Tasks()]} if "tasks" in world else {}
        client = await client_class.open(peer, options=options, handlers=make_handlers(world, history, who), **more)
    except McpError as error:
        history.note(who, "cannot open", {"error": type(error).__name__, "text": str(error)})
        history.note(who, "is closed", {"open": 0})
        return
    began = loop.time()
    history.note(who, "is open", {"revision": client.connection.requester.spoken.revision})
    history.note(who, "holds", held(client.connection, opened[number]))
    if world.get("pings") and client.__binding__.era == "legacy":
        with suppress(McpError):
            await client.ping()
    calls = [
        asyncio.ensure_future(_make(who, client, plan, history)) for plan in world["calls"] if plan["client"] == number
    ]
    mine = [plan for plan in world.get("watches", ()) if plan["client"] == number]
    watching = [asyncio.ensure_future(_watch(partial(history.note, who), client, plan)) for plan in mine]
    if world["close"] is not None:
        loop.call_later(world["close"], lambda: asyncio.ensure_future(_close(history, who, peer)))
    await asyncio.gather(*calls)
    await asyncio.sleep(max(0.0, began + 50 - loop.time()) if world["close"] else 200)
    await stream.rest()
    if client.connection.closed_because is None:
        ends = client.connection, opened[number]
        states = [end.state.value for end in ends]
        history.note(who, "is idle", {"open": [end.open_requests for end in ends], "state": states})
        history.note(who, "holds", held(*ends))
    await _close(history, who, peer)
    await asyncio.gather(*watching)
    history.note(who, "holds", held(client.connection))


async def _close(history: History, who: str, peer: Peer) -> None:
    history.note(who, "closes")
    await peer.aclose()
    history.note(who, "is closed", {"open": peer.connection.open_requests if peer.connection else 0})


async def _make(who: str, client: Any, plan: dict[str, Any], history: History) -> None:
    """Make one call, and record how it ends."""
    tag = plan["tag"]

    def progress(progress: float, total: float | None, message: str | None) -> None:
        history.note(who, "is told", {"tag": tag, "progress": progress, "total": total})

    await asyncio.sleep(plan["at"])
    options = CallOptions(
        timeout=plan["timeout"], max_time=plan["max_time"], progress=progress if plan["progress"] else None
    )
    history.note(who, "calls", {"tag": tag})
    given = {"tag": tag, "steps": plan["steps"], "pad": "x" * plan.get("pad", 0)}
    arguments: dict[str, Any] = {"name": "run", "arguments": given, "options": options}
    is_modern = client.connection.requester.is_modern and bindings(MODERN).Client is type(client)
    if is_modern and plan["log_level"] is not None:
        arguments["meta"] = {"io.modelcontextprotocol/logLevel": plan["log_level"]}
    is_task = "task" in plan
    task = asyncio.ensure_future(_run(client, arguments, plan) if is_task else client.call_tool(**arguments))
    if plan["cancel"] is not None and not is_task:
        history.loop.call_later(plan["cancel"], _cancel, task, who, tag, history)
    try:
        result = await task
    except asyncio.CancelledError:
        history.note(who, "ends", {"tag": tag, "how": "cancelled"})
    except Exception as error:
        how = {"tag": tag, "how": type(error).__name__, "code": getattr(error, "code", None)}
        history.note(who, "ends", how)
    else:
        history.note(who, "ends", {"tag": tag, "how": "result", "text": result.content[0].text})


async def _run(client: Any, arguments: dict[str, Any], plan: dict[str, Any]) -> Any:
    """Run a call as a task, and maybe cancel it."""
    methods = import_module(f"{bindings(client.__binding__.revision).__name__}.methods")
    given = {"name": "run", "arguments": arguments["arguments"]}
    handle = await start_task(client, methods.TOOLS_CALL, given, options=arguments["options"])
    cancelling = asyncio.ensure_future(_cancel_task(handle, plan["cancel"]))
    try:
        return await handle.result()
    finally:
        cancelling.cancel()


async def _cancel_task(handle: Any, after: float | None) -> None:
    if after is not None:
        await asyncio.sleep(after)
        with suppress(McpError):
            await handle.cancel()


async def _watch(note: Callable[[str, Any], None], client: Any, plan: dict[str, Any]) -> None:
    """Watch a resource for some time, in the way of the client's revision."""
    about = {"tag": plan["tag"]}
    await asyncio.sleep(plan["at"])
    note("watches", about)
    try:
        if client.__binding__.era == "legacy":
            await client.subscribe(uri=plan["uri"])
            note("agrees", {**about, "agreed": None})
            await asyncio.sleep(plan["seconds"])
            note("leaves", about)
            await client.unsubscribe(uri=plan["uri"])
            return
        async with await client.listen(tools=plan["tools"], resources=[plan["uri"]]) as subscription:
            note("agrees", {**about, "agreed": subscription.agreed})
            reading = asyncio.ensure_future(_read(note, subscription, about))
            if not (await asyncio.wait((reading,), timeout=plan["seconds"]))[0]:
                note("leaves", about)
        await reading
    except McpError as error:
        note("cannot watch", {**about, "how": repr(error)})


async def _read(note: Callable[[str, Any], None], subscription: Any, about: dict[str, Any]) -> None:
    how = "the end"
    try:
        async for change in subscription:
            note("hears of", {**about, "uri": change.uri})
    except McpError as error:
        how = type(error).__name__
    note("quits", {**about, "how": how})


def _cancel(task: asyncio.Task[Any], who: str, tag: str, history: History) -> None:
    if not task.done():
        history.note(who, "cancels", {"tag": tag})
        task.cancel("enough")
