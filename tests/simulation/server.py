"""The program of simulated servers: one tool that does what the arguments of a call say."""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from mcp_runtime.core.changes.subscriptions import list_changed, resource_updated
from mcp_runtime.core.errors import PeerError
from mcp_runtime.core.options import CallOptions
from mcp_runtime.core.settings import ServerOptions
from mcp_runtime.extensions.tasks import MemoryTaskStore, Tasks, defer
from mcp_runtime.sealed import InputState, MemorySpentStates, SpentStates
from simulation.client import World
from simulation.duties import MODERN, is_away
from simulation.net import History
from support.talk import bindings

LEVELS: Final = ("debug", "info", "warning", "error")


async def perform(steps: list[Any], tag: str, ctx: Any, note: Callable[[str, Any], None], do: Any) -> str:
    """Do what the steps of a call say; return the text of the result."""
    text = tag
    for number, (name, *given) in enumerate(steps):
        match name, given:
            case "wait", [seconds]:
                await asyncio.sleep(seconds)
            case "report", [progress, total, times]:
                for part in range(times):
                    reached = progress + (0, 0, 0.2, 0.1, 0.3)[part]
                    note("reports", {"tag": tag, "progress": reached, "total": total})
                    await ctx.report_progress(reached, total)
            case "log", [level, line, times]:
                write = partial(_log, ctx, note, tag, level)
                lines = [f"{tag} {line}.{number}.{part}" for part in range(times)]
                if times > 8:
                    await asyncio.gather(*map(write, lines))  # none waits until the one before it has left
                else:
                    for each in lines:
                        await write(each)
            case "ask", [float() | int() as seconds]:
                await do["ask"](note, f"{tag}|{number}|{seconds}")
            case "ask", _:
                async with asyncio.TaskGroup() as group:
                    for part, (wait, seconds) in enumerate(given):
                        group.create_task(do["ask"](note, f"{tag}|{number}.{part}|{seconds}", wait))
            case "defer", _:
                note("defers", {"tag": tag})
                await defer(ctx)
            case "change", [uri]:
                note("changes", {"tag": tag, "uri": uri})
                await do["change"](uri)
            case "fail", [code]:
                raise PeerError(code, f"{tag} fails", {"tag": tag})
            case "crash", _:
                raise RuntimeError(tag)
            case "big", [size]:
                text += "x" * size
            case "stubborn", [seconds]:
                try:
                    await asyncio.sleep(seconds)
                except asyncio.CancelledError:
                    note("resists", {"tag": tag})
                    await asyncio.sleep(seconds)
            case _:
                raise ValueError(name)
    return text


async def _log(ctx: Any, note: Any, tag: str, level: str, text: str) -> None:
    as_level: Any = LEVELS[7 * int(text.rpartition(".")[2]) % len(LEVELS)] if level == "mixed" else level
    note("logs", {"tag": tag, "level": as_level, "line": text})
    await ctx.log(as_level, text)


async def _ask(v: Any, client: Any, note: Any, text: str, wait: float = 0) -> None:
    """Ask a client for a text, after some seconds."""
    await asyncio.sleep(wait)
    tag = text.partition("|")[0]
    note("asks", {"tag": tag, "text": text})
    asked = v.SamplingMessage(role="user", content=v.TextContent(text=text))
    options = CallOptions(timeout=2000, max_time=5000)
    answer = (await client.create_message(messages=[asked], max_tokens=9, options=options)).content.text
    note("hears", {"tag": tag, "asked": text, "text": answer})


async def _change(server: Any, uri: str | None) -> None:
    """Report that a resource or the list of tools has changed."""
    await (list_changed(server, "tools") if uri is None else resource_updated(server, uri))


class Spent(MemorySpentStates):
    """Knows which states were used, and fails for some seconds."""

    def __init__(self, history: History, away: list[float] | None) -> None:
        super().__init__()
        self._now, self._away = history.loop.time, away

    async def spend(self, state: str, until: float, peer: str | None = None) -> bool:
        if is_away(self._away, self._now()):
            raise OSError("away")
        return await super().spend(state, until, peer)


def make_server(world: World, history: History, spent: SpentStates | None = None) -> Any:
    """Return the server of a world: its tool does what the arguments say."""
    v = bindings(world["server"])
    is_session_with_tasks = "tasks" in world and world["server"] != MODERN

    async def call_tool(self: Any, params: Any, ctx: Any) -> Any:
        tag, steps = params.arguments["tag"], params.arguments["steps"]
        history.note("handler", "begins", {"tag": tag})
        try:
            note = partial(history.note, "handler")
            do = {"ask": partial(_ask, v, ctx.client), "change": partial(_change, self)}
            text = await perform(steps, tag, ctx, note, do)
        except asyncio.CancelledError:
            history.note("handler", "is cancelled", {"tag": tag, "told": ctx.is_cancelled})
            raise
        except Exception as error:
            history.note("handler", "fails", {"tag": tag, "code": getattr(error, "code", None)})
            raise
        history.note("handler", "ends", {"tag": tag, "told": ctx.is_cancelled})
        return v.CallToolResult(content=[v.TextContent(text=text)])

    more: dict[str, Any] = {"execution": v.ToolExecution(task_support="optional")} if is_session_with_tasks else {}
    results: dict[str, Any] = {
        "list_tools": v.ListToolsResult(tools=[v.Tool(name="run", input_schema={"type": "object"}, **more)]),
        "list_prompts": v.ListPromptsResult(prompts=[]),
        "get_prompt": v.GetPromptResult(messages=[]),
    }
    more = {}
    if "watches" in world:
        results |= {"list_resources": v.ListResourcesResult(resources=[])}
        if world["server"] != MODERN:
            results |= {"subscribe": v.EmptyResult(), "unsubscribe": v.EmptyResult()}
        more = {"list_changed": True, "resource_updates": True}
    if "tasks" in world:
        more = {"extensions": [Tasks(MemoryTaskStore(ttl=190, poll_interval=world["tasks"]["poll"]))]}
    if "web" in world:
        more = {"inputs": InputState(keys=[bytes(32)], spent=spent)}
    options = ServerOptions(name="world", revisions=world["speaks"], **world["limits"], **more)
    known = {name: _always(result) for name, result in results.items()}
    return type("Worlds", (v.Server,), {"call_tool": call_tool, **known, "options": options})()


def _always(result: Any) -> Any:
    """Return a handler that returns this."""

    async def handler(self: Any, params: Any, ctx: Any) -> Any:
        return result

    return handler
