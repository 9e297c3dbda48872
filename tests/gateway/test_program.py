"""`mcp-bindgen gateway`: real servers behind one process, which some of them survive."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from host.serving import program
from mcp_bindings import v2025_11_25 as legacy
from mcp_bindings import v2026_07_28 as mcp
from mcp_runtime.core.errors import PeerError
from mcp_runtime.core.transports.http import connect_http
from mcp_runtime.core.transports.stdio import connect_stdio
from mcp_runtime.host import Host, allow_all
from support.apps import text_of
from support.command import Cli
from support.programs import quick_python

DESK = """
import asyncio, sys
from pydantic import BaseModel
from mcp_bindings.{package} import App, Context
from mcp_runtime.core.settings import ServerOptions

class Name(BaseModel):
    name: str

app = App("desk", options=ServerOptions(revisions="own"))

@app.tool()
async def ask(caller: str, ctx: Context) -> str:
    "Ask who calls."
    await ctx.log("info", caller)
    await asyncio.sleep(0.02)
    answer = await ctx.elicit(caller + "?", Name)
    return answer.name

app.run()
"""


@pytest.fixture
def configuration(tmp_path: Path) -> Path:
    (tmp_path / "old.py").write_text(DESK.format(package="v2025_11_25"))
    (tmp_path / "new.py").write_text(DESK.format(package="v2026_07_28"))
    servers = {
        "one": program("good", "one"),
        "two": program("good", "two"),
        "dead": program("dead", "dead"),
        "old": {"command": quick_python(), "args": [str(tmp_path / "old.py")]},
        "new": {"command": quick_python(), "args": [str(tmp_path / "new.py")]},
    }
    file = tmp_path / "mcp.json"
    file.write_text(json.dumps({"mcpServers": servers}))
    return file


async def test_a_server_that_dies_takes_only_its_own_calls_along(configuration: Path) -> None:
    command = (quick_python(), "-m", "mcp_bindgen", "gateway", str(configuration), "--policy", "allow-all")
    async with connect_stdio(*command) as peer:
        client = await mcp.Client.open(peer)
        names = {tool.name async for tool in client.iter_tools()}
        assert {"one__add", "two__add", "old__ask", "new__ask"} <= names
        assert not any(name.startswith("dead") for name in names)
        with pytest.raises(PeerError):
            await client.call_tool(name="one__die")
        assert text_of(await client.call_tool(name="two__add", arguments={"a": 1})) == "3"
        async with asyncio.timeout(20):
            while True:
                try:
                    assert text_of(await client.call_tool(name="one__add", arguments={"a": 1})) == "3"
                    break
                except PeerError as error:
                    assert "one" in error.message
                    await asyncio.sleep(0.05)


@asynccontextmanager
async def served(configuration: Path) -> AsyncGenerator[str]:
    """Run the gateway over HTTP; yield its URL."""
    process = await asyncio.create_subprocess_exec(
        *(quick_python(), "-m", "mcp_bindgen", "gateway", str(configuration)),
        *("--policy", "allow-all", "--http", "--port", "0"),
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stderr is not None
    try:
        async with asyncio.timeout(30):
            while b"serving at" not in (line := await process.stderr.readline()):
                assert line, "it ended"
        yield line.decode().split()[-1]
    finally:
        process.terminate()
        await process.communicate()


@pytest.mark.parametrize("upstream", ["old", "new"])
async def test_over_http_no_question_reaches_another_client(configuration: Path, upstream: str) -> None:
    """Clients of both eras ask at once; where it is not clear who is meant, the question is refused."""
    answered = list[str]()

    async def one(number: int, version: Any, url: str) -> None:
        me = f"client {number}"

        class Handlers(version.ClientHandlers):  # type: ignore[misc]
            async def elicit(self, params: Any, ctx: Any) -> Any:
                assert params.message == f"{upstream}: {me}?", "a question of another client"
                return version.ElicitResult(action="accept", content={"name": me})

        async with connect_http(url) as peer:
            client = await version.Client.open(peer, handlers=Handlers())
            for _ in range(3):
                result = await client.call_tool(name=f"{upstream}__ask", arguments={"caller": me})
                if not result.is_error:
                    assert text_of(result) == me
                    answered.append(me)

    async with served(configuration) as url:
        await asyncio.gather(*(one(number, (legacy, mcp)[number % 2], url) for number in range(8)))
        if upstream == "new":
            assert len(answered) == 24
        answered.clear()
        await one(9, mcp, url)
        assert answered == ["client 9"] * 3, "alone, it is clear"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["mcp.json"], "--policy"),
        (["mcp.json", "--policy", "everything"], "everything"),
        (["none.json", "--policy", "read-only"], "none.json"),
        (["broken.json", "--policy", "read-only"], "broken.json"),
        (["mcp.json", "--policy", "read-only", "--approvals", "none.json"], "none.json"),
        (["mcp.json", "--policy", "read-only", "--approvals", "list.json"], "not a JSON object"),
        (["mcp.json", "--polciy", "read-only"], "--policy"),
    ],
)
def test_bad_input_is_said_in_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli, arguments: list[str], words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mcp.json").write_text('{"mcpServers": {}}')
    Path("broken.json").write_text("{")
    Path("list.json").write_text("[]")
    error = cli("gateway", *arguments, expect=2).err
    assert words in error and "Traceback" not in error and len(error.splitlines()) <= 6


async def test_only_approved_servers_are_started(configuration: Path) -> None:
    one = next(server.entry for server in Host.from_file(configuration, mcp.Client, policy=allow_all).servers.values())
    approvals = configuration.with_name("approvals.json")
    approvals.write_text(json.dumps({one.digest: True}))
    command = (quick_python(), "-m", "mcp_bindgen", "gateway", str(configuration), "--policy", "allow-all")
    said = list[str]()
    async with connect_stdio(*command, "--approvals", str(approvals), stderr=said.append) as peer:
        client = await mcp.Client.open(peer)
        assert {tool.name.partition("__")[0] async for tool in client.iter_tools()} == {"one"}
    assert sum("not approved; to start" in line for line in said) == 4
