"""The worker process of `session.Sides`: one side's conversations, measured in the interpreter that runs it.

The protocol is lines: every `case number` is answered with the figures of that many calls, as JSON.
"""

import asyncio
import gc
import json
import os
import sys
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from importlib import import_module
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, Protocol

AT_ONCE = 64


class Echo(Protocol):
    """A client whose server echoes a text; `usage` is the CPU seconds and peak KB of that server.

    The server also lists 100 tools and has a long text; both return their size.
    """

    async def echo(self, text: str) -> str: ...
    async def tools(self) -> int: ...
    async def text(self) -> int: ...
    async def usage(self) -> tuple[float, int]: ...


def usage() -> tuple[float, int]:
    """Return the CPU seconds of this process and its peak memory in KB, and reset the peak."""
    status = Path("/proc/self/status").read_text("utf-8")
    peak = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))
    Path("/proc/self/clear_refs").write_text("5", "utf-8")
    return process_time(), peak


def resident() -> int:
    """Return the memory of this process in KB."""
    return int(Path("/proc/self/statm").read_text("utf-8").split()[1]) * os.sysconf("SC_PAGE_SIZE") // 1024


async def sequential(client: Echo, number: int) -> None:
    for _ in range(number):
        await client.echo("hello")


async def concurrent(client: Echo, number: int) -> None:
    await asyncio.gather(*(sequential(client, number // AT_ONCE) for _ in range(AT_ONCE)))


async def queued(client: Echo, number: int) -> None:
    await asyncio.gather(*(client.echo("hello") for _ in range(number)))


async def tools(client: Echo, number: int) -> None:
    for _ in range(number):
        assert await client.tools() == 100


async def text(client: Echo, number: int) -> None:
    for _ in range(number):
        assert await client.text() > 900_000


async def large(client: Echo, number: int) -> None:
    text = "x" * number
    assert len(await client.echo(text)) == number


async def measure(client: Echo, work: Callable[[Echo, int], Awaitable[None]], number: int) -> dict[str, float]:
    """Return seconds of CPU on both sides and of the wall clock, and by how many KB the memory of each grew."""
    gc.collect()
    before = await client.usage()
    own = usage()
    base = resident()
    start = perf_counter()
    await work(client, number)
    wall = perf_counter() - start
    mine, theirs = usage(), await client.usage()
    same = theirs[0] == 0  # one process holds both
    cpu = mine[0] - own[0] + (0 if same else theirs[0] - before[0])
    server = theirs[0] - before[0]
    return {"cpu": cpu, "server": server, "wall": wall, "rise": mine[1] - base, "server_rise": theirs[1] - before[1]}


async def idle(open_one: Callable[[AsyncExitStack], Awaitable[object]], number: int) -> dict[str, float]:
    """Open sessions and leave them open; return what each took."""
    async with AsyncExitStack() as first:
        await open_one(first)
    gc.collect()
    async with AsyncExitStack() as stack:
        base, tasks, start = resident(), len(asyncio.all_tasks()), process_time()
        for _ in range(number):
            await open_one(stack)
        cpu = process_time() - start
        gc.collect()
        grown, running = resident() - base, len(asyncio.all_tasks()) - tasks
    return {"cpu": cpu, "rise": grown, "tasks": running / number}


WORK = {
    "sequential": sequential,
    "concurrent": concurrent,
    "queued": queued,
    "tools": tools,
    "text": text,
    "large": large,
}


async def main() -> None:
    # A side is a module next to this one: `OPEN` opens a client by the name of its transport.
    side: Any = import_module(sys.argv[1])
    async with AsyncExitStack() as stack:
        clients: dict[str, Any] = {name: await open_one(stack) for name, open_one in side.OPEN.items()}
        print(*clients, flush=True)
        for line in sys.stdin:
            case, number = line.split()
            name, _, what = case.partition(":")
            if what == "idle":
                figures = await idle(side.OPEN[name], int(number))
            else:
                figures = await measure(clients[name], WORK[what], int(number))
            print(json.dumps(figures), flush=True)


if __name__ == "__main__":
    asyncio.run(main())
