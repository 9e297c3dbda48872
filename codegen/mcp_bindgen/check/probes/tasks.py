"""Probes of the page "tasks"."""

from collections.abc import Mapping
from typing import Any

from mcp_bindgen.check.client import code_of, told
from mcp_bindgen.check.probe import Context, pages, probe
from mcp_bindgen.json_values import as_object


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
