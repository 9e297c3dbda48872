"""`python server.py`, where the file ends in app.run(): clients of every revision and release use it."""

import importlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from interop.processes import OURS, PEERS, SDK1, SDK2, SDK_OLD, Side, interpreter
from mcp_runtime.core.settings import ClientOptions
from mcp_runtime.core.transports.stdio import connect_stdio

pytestmark = pytest.mark.interop

DATES = ("2024_11_05", "2025_03_26", "2025_06_18", "2025_11_25", "2026_07_28")
PACKAGES = ["mcp_bindings", *(f"mcp_bindings.v{date}" for date in DATES)]
SERVER = '''
from PACKAGE import App

app = App("sums")

@app.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b

@app.resource("note://today")
def today() -> str:
    return "rain"

@app.prompt()
def greet(name: str) -> str:
    return f"Greet {name}."

if __name__ == "__main__":
    app.run()
'''
NEWEST = {"mcp-1.12.4": "2025-06-18", "mcp-1.30.0": "2025-11-25", "mcp-2.3.0": "2026-07-28"}


@pytest.fixture(params=PACKAGES)
def server(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, str]:
    """Return the command line of a server: that of all revisions starts as users start it, the others as forks."""
    path = tmp_path / "server.py"
    path.write_text(SERVER.replace("PACKAGE", request.param), "utf-8")
    return sys.executable if request.param == PACKAGES[0] else interpreter(OURS.runs), str(path)


@pytest.mark.parametrize("client", [SDK_OLD, SDK1, SDK2], ids=lambda side: side.name)
def test_clients_of_the_official_sdk(client: Side, server: tuple[str, str]) -> None:
    command = [interpreter(client.runs), str(PEERS / "sdk_any_client.py"), *server]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=100, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert json.loads(done.stdout) == {
        "revision": NEWEST[client.name],
        "tools": ["add"],
        "sum": ["3"],
        "refused": True,
        "note": "rain",
        "prompt": "Greet Ada.",
    }


async def test_our_clients(server: tuple[str, str]) -> None:
    for package in PACKAGES[1:]:
        mcp: Any = importlib.import_module(package)
        async with connect_stdio(*server) as peer:
            client = await mcp.Client.open(peer, options=ClientOptions(revisions="own"))
            assert client.connection.revision == mcp.REVISION
            assert [tool.name async for tool in client.iter_tools()] == ["add"]
            added = await client.call_tool(name="add", arguments={"a": 1, "b": 2})
            assert [block.text for block in added.content] == ["3"]
            assert (await client.read_resource(uri="note://today")).contents[0].text == "rain"
            prompt = await client.get_prompt(name="greet", arguments={"name": "Ada"})
            assert prompt.messages[0].content.text == "Greet Ada."
