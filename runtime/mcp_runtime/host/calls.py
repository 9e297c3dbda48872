"""Calls of a host to a tool, which runs as a task if it must (2025-11-25, basic/utilities/tasks)."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from mcp_runtime.core.errors import McpError, RequestTimeout, Unusable
from mcp_runtime.core.json.values import is_object
from mcp_runtime.core.options import CallOptions
from mcp_runtime.core.protocol import names


def callable_tools(
    client: Any, tools: Sequence[Mapping[str, Any]], unusable: list[Unusable]
) -> tuple[Sequence[Mapping[str, Any]], frozenset[str]]:
    """Return the tools that can be called, and the names of those that must run as tasks.

    Args:
        client: a client of their server.
        tools: the tools, as listed.
        unusable: takes those that must run as tasks where the server runs none.
    """
    spoken = client.connection.requester.spoken
    if spoken is None or names.TASKS_GET not in spoken.methods:
        return tools, frozenset()
    needing = frozenset(tool["name"] for tool in tools if _needs_task(tool))
    if client.has("tasks.requests.tools.call"):
        return tools, needing
    reason = "it must run as a task, but its server does not declare tasks for tools/call"
    unusable += [Unusable(pointer="/tools", name=name, reason=reason) for name in sorted(needing)]
    return [tool for tool in tools if tool["name"] not in needing], frozenset()


async def call_tool(
    client: Any,
    tool: str,
    arguments: dict[str, Any],
    options: CallOptions | None,
    *,
    as_task: bool,
    meta: Mapping[str, Any] | None = None,
) -> Any:
    """Call a tool, and return its result in the type of the client's revision.

    Args:
        client: a client of its server.
        tool: its name on the server.
        arguments: its arguments.
        options: timeouts and progress; progress extends the timeout in any case.
        as_task: whether it runs as a task.
        meta: what a call outside of tasks has in `_meta` beside what it must have.

    Raises:
        RequestTimeout: it did not end in time.
        McpError: the call failed.
    """
    given = options or CallOptions()
    given = replace(given, progress=given.progress or _ignore)  # servers report it only if they are asked to
    if not as_task:
        return await client.call_tool(name=tool, arguments=arguments, options=given, meta=meta)
    from mcp_runtime.extensions.tasks import run_as_task  # few tools need it

    method, params = client.__binding__.methods[names.TOOLS_CALL], {"name": tool, "arguments": arguments}
    longest = client.connection.limits.max_time if given.max_time is None else given.max_time
    try:
        async with asyncio.timeout(longest):
            return await run_as_task(client, method, params, options=given)
    except TimeoutError as error:
        if isinstance(error, McpError) or longest is None:
            raise
        raise RequestTimeout(names.TOOLS_CALL, longest) from None


def _needs_task(tool: Mapping[str, Any]) -> bool:
    execution = tool.get("execution")
    return is_object(execution) and execution.get("taskSupport") == "required"


def _ignore(progress: float, total: float | None, message: str | None) -> None:
    """Ignore a progress report, which extends the timeout of its call."""
