"""Decorated functions: their cost compared with handlers of the same server, per call and at import.

The server and its client are in one process; the floor is the same tool as a handler of a generated `Server`.
"""

import asyncio
import sys
from collections.abc import Iterator
from contextlib import AsyncExitStack
from functools import partial
from statistics import median
from time import process_time

from measure import Row, Samples, at_most, clean_environment, in_turn, less, ratio, run_python

from mcp_bindings import v2025_11_25 as v
from mcp_runtime.memory import connect_memory

IMPORT = "from mcp_bindings.v2025_11_25 import METHODS, Client, Server"
ONE_TOOL = """
from mcp_bindings.v2025_11_25 import App

app = App("echo")

@app.tool()
async def echo(text: str) -> str:
    "Echo a text."
    return text
"""

app = v.App("echo")


@app.tool()
async def echo(text: str) -> str:
    return text


class Handlers(v.Server):
    async def list_tools(self, params: v.PaginatedRequestParams | None, ctx: v.Context) -> v.ListToolsResult:
        return v.ListToolsResult(tools=[])

    async def call_tool(self, params: v.CallToolRequestParams, ctx: v.Context) -> v.CallToolResult:
        text = str((params.arguments or {})["text"])
        return v.CallToolResult(content=[v.TextContent(text=text)], structured_content={"result": text})


def measure(quick: bool) -> Iterator[Row]:
    """Iterate over the rows."""
    calls = _calls(5 if quick else 15, 200 if quick else 2000)
    yield Row(
        what="tools/call of a decorated tool, in memory",
        unit="us",
        ours=median(calls["ours"]),
        floor=median(calls["floor"]),
        judged=((ratio(calls["ours"], calls["floor"]), at_most(1.5, "x handler")),),
    )
    with clean_environment() as environment:

        def run(code: str) -> float:
            return run_python(["-c", code], environment, sys.executable).cpu * 1000

        programs = {"bare": "pass", "floor": IMPORT, "ours": ONE_TOOL}
        samples = in_turn({name: partial(run, code) for name, code in programs.items()}, 5 if quick else 21)
    ours, floor = less(samples["ours"], samples["bare"]), less(samples["floor"], samples["bare"])
    yield Row(
        what="import of an App with one tool; floor: the bindings",
        unit="ms",
        ours=median(ours),
        floor=median(floor),
        judged=((ratio(ours, floor), at_most(1.6, "x bindings")),),
    )


def _calls(rounds: int, number: int) -> Samples:
    with asyncio.Runner() as runner:
        stack = AsyncExitStack()

        async def opened(server: v.Server) -> v.Client:
            return await v.Client.open(await stack.enter_async_context(connect_memory(server)))

        async def timed(client: v.Client) -> float:
            start = process_time()
            for _ in range(number):
                await client.call_tool(name="echo", arguments={"text": "hello"})
            return (process_time() - start) / number * 1e6

        clients = {name: runner.run(opened(server)) for name, server in (("ours", app), ("floor", Handlers()))}

        def run(name: str) -> float:
            return runner.run(timed(clients[name]))

        samples = in_turn({name: partial(run, name) for name in clients}, rounds)
        runner.run(stack.aclose())
    return samples
