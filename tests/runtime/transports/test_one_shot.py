"""A client that writes all its requests, closes its end, and reads the responses: ``server < requests > answers``."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SERVER = """
import asyncio
from mcp_bindings import v2025_11_25 as v
from mcp_runtime.core.settings import ServerOptions
from mcp_runtime.core.transports.stdio import serve_stdio

class Sleepy(v.Server):
    options = ServerOptions(linger=LINGER)

    async def call_tool(self, params, ctx):
        await asyncio.sleep(float(params.name))
        return v.CallToolResult(content=[])

serve_stdio(Sleepy())
"""


def run(folder: Path, *seconds: float, linger: float = 1.0) -> list[Any]:
    """Send requests that take some seconds each, all at once; return the responses."""
    info = {"name": "shell", "version": "1"}
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info}
    lines: list[dict[str, Any]] = [
        {"id": 0, "method": "initialize", "params": hello},
        {"method": "notifications/initialized"},
        *({"id": n, "method": "tools/call", "params": {"name": str(time)}} for n, time in enumerate(seconds, 1)),
    ]
    requests = folder / "requests"
    requests.write_text("".join(json.dumps({"jsonrpc": "2.0", **line}) + "\n" for line in lines), "utf-8")
    program = [sys.executable, "-c", SERVER.replace("LINGER", str(linger))]
    with requests.open("rb") as source:
        done = subprocess.run(program, stdin=source, capture_output=True, check=True, timeout=60)
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_every_request_is_answered(tmp_path: Path) -> None:
    answers = run(tmp_path, 0.5, 0, linger=30)
    assert sorted(answer["id"] for answer in answers) == [0, 1, 2]


@pytest.mark.slow
def test_the_server_ends_without_the_response_that_takes_too_long(tmp_path: Path) -> None:
    answers = run(tmp_path, 0, 3600, linger=6)
    assert [answer["id"] for answer in answers] == [0, 1]
