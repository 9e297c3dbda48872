"""Hostile lines between real processes: the output is valid protocol, no process dies, and memory stays flat."""

import asyncio
import json
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from mcp_bindings import v2025_11_25 as v
from mcp_runtime.core.errors import McpError
from mcp_runtime.core.transports.stdio import connect_stdio
from soak.fire import blocks, census, honest, request, resident, silent, valid_ids, what_is_wrong
from soak.hostile import Hostile
from soak.scale import SEED, scaled
from soak.targets import client_options, make_handlers

pytestmark = [pytest.mark.soak, pytest.mark.timeout(scaled(120, 3600))]

HERE = Path(__file__).parent
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "0"}}
NAMES = ("echo", "print", "wait", "no such tool")


class Process:
    """A server, accessed through its pipes only."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.process = process
        self._stdin, self._stdout = process.stdin, process.stdout

    async def send(self, lines: Sequence[bytes]) -> dict[str, int]:
        """Send lines and a ping; returns how often each id was answered until the ping was."""
        sending = asyncio.create_task(self._write([*lines, request("the last", "ping")]))
        answers: dict[str, int] = {}
        while "the last" not in answers:
            async with asyncio.timeout(60):
                line = await self._stdout.readline()
            assert line.endswith(b"\n"), "the server has ended"
            value: Any = json.loads(line)
            assert not what_is_wrong(value), f"{what_is_wrong(value)}: {line[:300]!r}"
            if "method" not in value and isinstance(id_ := value.get("id"), str):
                answers[id_] = answers.get(id_, 0) + 1
        await sending
        return answers

    async def _write(self, lines: Sequence[bytes]) -> None:
        for line in lines:
            self._stdin.write(line.replace(b"\n", b" ") + b"\n")
            await self._stdin.drain()

    async def end(self) -> int:
        self._stdin.close()
        async with asyncio.timeout(60):
            return await self.process.wait()


@asynccontextmanager
async def echo_server() -> AsyncGenerator[Process]:
    pipe = asyncio.subprocess.PIPE
    command = (sys.executable, str(HERE / "echo_server.py"))
    process = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, limit=1 << 24)
    try:
        yield Process(process)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


def _valid(id_: str) -> bytes:
    name = NAMES[int(id_.rpartition("-")[2]) % len(NAMES)]
    return request(id_, "tools/call", {"name": name, "arguments": {"text": "x", "seconds": 0.0}})


async def test_a_server_process() -> None:
    hostile = Hostile(SEED, honest("2025-11-25", "tools/", "ping", "logging/", "notifications/"))
    async with echo_server() as server:
        await server.send(
            [request("hello", "initialize", HELLO), b'{"jsonrpc":"2.0","method":"notifications/initialized"}']
        )
        early = 0
        for number, lines in enumerate(blocks(hostile, _valid, scaled(10, 300))):
            answers = await server.send(lines)
            async with asyncio.timeout(60):  # responses that arrived after the ping's
                while {i for line in lines for i in valid_ids(line)} - answers.keys():
                    for id_, count in (await server.send([])).items():
                        answers[id_] = answers.get(id_, 0) + count
            twice = {id_ for id_, count in answers.items() if count > 1 and id_.startswith("valid-")}
            assert not twice, f"MCP_SOAK_SEED={SEED}, block {number}: {twice}"
            if number == 3:
                early = resident(server.process.pid)
        assert resident(server.process.pid) - early < 8_000, f"MCP_SOAK_SEED={SEED}: memory grew"
        assert await server.end() == 0


async def test_a_client_of_a_hostile_process() -> None:
    calls, lines = scaled(20, 500), 200
    with silent():
        command = (sys.executable, str(HERE / "hostile_server.py"), str(SEED), str(lines))
        async with connect_stdio(*command) as peer:
            client = await v.Client.open(peer, handlers=make_handlers("2025-11-25"), options=client_options())
            client.connection.on_error(_ignore)
            for _ in range(60):  # hostile responses use ids up to 40
                await client.ping()
            early: Any = None
            for number in range(calls):
                result = await client.call_tool(name="anything")
                assert isinstance(result.content[0], v.TextContent), f"MCP_SOAK_SEED={SEED}, call {number}"
                await client.ping()
                if number == 4:
                    early = census(), resident()
            async with asyncio.timeout(60):
                while client.connection.open_requests:
                    await asyncio.sleep(0.01)
            grown = {name: more for name, more in (census() - early[0]).items() if more > 10}
            assert not grown, f"MCP_SOAK_SEED={SEED}: objects are left: {grown}"
            assert resident() - early[1] < 8_000, f"MCP_SOAK_SEED={SEED}: memory grew"


def _ignore(error: McpError) -> None:
    """Record nothing, since each line is a violation."""
