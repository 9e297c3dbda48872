"""A server that is a program of its own: its pages, and how it ends."""

import asyncio
import sys
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest

from mcp_bindings import v2025_11_25 as mcp
from mcp_runtime.transports.http import connect_http, serve_http

TESTS = Path(__file__).parents[3]


@asynccontextmanager
async def program(*arguments: str) -> AsyncGenerator[tuple[Process, str]]:
    """Start the server; yields it and its URL."""
    command = (sys.executable, "-m", "support.http_program", *arguments)
    process = await asyncio.create_subprocess_exec(*command, cwd=TESTS, stdout=PIPE, stderr=PIPE)
    assert process.stdout is not None
    url = (await asyncio.wait_for(process.stdout.readline(), 30)).decode().strip()
    try:
        yield process, url
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


@pytest.mark.requirement("http.localhost")
async def test_the_pages_of_a_server() -> None:
    async with program() as (_, url), httpx2.AsyncClient(base_url=url) as http:
        assert url.startswith("http://127.0.0.1:")
        health = await http.get("/health")
        assert (health.status_code, health.json()) == (200, {"status": "ok", "sessions": 0})
        assert (await http.head("/health")).status_code == 200
        assert (await http.post("/health")).status_code == 405
        assert (await http.get("/")).status_code == 404
        assert "server" not in health.headers
        async with connect_http(f"{url}/mcp") as peer:
            await mcp.Client.open(peer)
            assert (await http.get("/health")).json()["sessions"] == 1


async def test_calls_finish_before_the_end() -> None:
    async with program() as (process, url), connect_http(f"{url}/mcp") as peer:
        client = await mcp.Client.open(peer)
        calls = [
            asyncio.create_task(client.call_tool(name="echo", arguments={"text": "done", "delay": delay}))
            for delay in (0.5, 1.5)
        ]
        await asyncio.sleep(0.3)
        process.terminate()
        results = await asyncio.gather(*calls)
        assert [result.content for result in results] == [[mcp.TextContent(text="done")]] * 2
        _, stderr = await asyncio.wait_for(process.communicate(), 10)
        assert (process.returncode, stderr) == (0, b"")


async def test_the_end_does_not_wait_for_ever() -> None:
    async with program("1") as (process, url), connect_http(f"{url}/mcp", close_timeout=1) as peer:
        client = await mcp.Client.open(peer)
        waiting = asyncio.create_task(client.call_tool(name="wait"))
        await asyncio.sleep(1.5)
        begun = time.monotonic()
        process.terminate()
        await asyncio.wait_for(process.wait(), 10)
        assert time.monotonic() - begun < 6
        waiting.cancel()


def test_what_cannot_be_served() -> None:
    server = mcp.Server()
    with pytest.raises(ValueError, match=r"reached from elsewhere: name its hosts"):
        serve_http(server, host="0.0.0.0")
    with pytest.raises(ValueError, match="begins with /"):
        serve_http(server, path="mcp")
    with pytest.raises(ValueError, match="cannot both be at"):
        serve_http(server, path="/health")
