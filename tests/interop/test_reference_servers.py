"""Our client with the reference servers: programs in real use, written with both official SDKs."""

import json
import subprocess
from pathlib import Path

import pytest

from interop.processes import node_server, python_server
from mcp_bindings import v2024_11_05, v2025_11_25
from mcp_bindings.v2025_11_25 import CallToolResult, Client, TextContent
from mcp_runtime.core.errors import MissingCapability
from mcp_runtime.core.settings import ClientOptions
from mcp_runtime.core.transports.stdio import connect_stdio
from mcp_runtime.opening import open_any

pytestmark = pytest.mark.interop


def text(result: CallToolResult) -> str:
    """Return the text of a result that has one."""
    assert not result.is_error, result
    assert isinstance(result.content[0], TextContent)
    return result.content[0].text


def test_every_server_has_a_test_here() -> None:
    manifest = json.loads((Path(__file__).parent / "npm" / "package.json").read_text("utf-8"))
    tests = "\n".join(path.read_text("utf-8") for path in Path(__file__).parent.glob("test_*.py"))
    for package in (name for name in manifest["dependencies"] if "/server-" in name):
        assert f'node_server("{package.removeprefix("@modelcontextprotocol/server-")}"' in tests


async def test_filesystem_works_in_the_roots_of_the_client(tmp_path: Path) -> None:
    start, root = tmp_path / "start", tmp_path / "root"
    start.mkdir()
    root.mkdir()
    async with connect_stdio(*node_server("filesystem", str(start)), stderr=lambda line: None) as server:
        client = await Client.open(server, options=ClientOptions(roots=[root.as_uri()]))
        while str(root) not in (allowed := text(await client.call_tool(name="list_allowed_directories", arguments={}))):
            pass  # The server asks for the roots once it has received the initialized notification.
        assert str(start) not in allowed
        file = root / "hello.txt"
        await client.call_tool(name="write_file", arguments={"path": str(file), "content": "Grüße"})
        assert file.read_text("utf-8") == "Grüße"
        assert text(await client.call_tool(name="read_text_file", arguments={"path": str(file)})) == "Grüße"
        outside = await client.call_tool(name="read_text_file", arguments={"path": str(start / "x")})
        assert outside.is_error


async def test_memory(tmp_path: Path) -> None:
    environment = {"MEMORY_FILE_PATH": str(tmp_path / "memory.json")}
    async with connect_stdio(*node_server("memory"), env=environment, stderr=lambda line: None) as server:
        client = await Client.open(server)
        entity = {"name": "Ada", "entityType": "person", "observations": ["writes programs"]}
        await client.call_tool(name="create_entities", arguments={"entities": [entity]})
        graph = await client.call_tool(name="read_graph", arguments={})
        assert graph.structured_content is not None
        assert graph.structured_content["entities"][0]["name"] == "Ada"


async def test_sequential_thinking() -> None:
    async with connect_stdio(*node_server("sequential-thinking"), stderr=lambda line: None) as server:
        client = await Client.open(server)
        thought = {"thought": "First.", "nextThoughtNeeded": False, "thoughtNumber": 1, "totalThoughts": 1}
        answer = json.loads(text(await client.call_tool(name="sequentialthinking", arguments=thought)))
        assert answer["thoughtHistoryLength"] == 1


async def test_time() -> None:
    async with connect_stdio(*python_server("mcp_server_time")) as server:
        client = await open_any(server, v2024_11_05.Client, v2025_11_25.Client)
        assert isinstance(client, v2025_11_25.Client)
        arguments = {"source_timezone": "Europe/Oslo", "time": "12:00", "target_timezone": "Asia/Tokyo"}
        converted = json.loads(text(await client.call_tool(name="convert_time", arguments=arguments)))
        assert converted["time_difference"] in ("+7.0h", "+8.0h")


async def test_git(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    (tmp_path / "new.txt").write_text("new", "utf-8")
    async with connect_stdio(*python_server("mcp_server_git", "--repository", str(tmp_path))) as server:
        client = await Client.open(server)
        status = text(await client.call_tool(name="git_status", arguments={"repo_path": str(tmp_path)}))
        assert "new.txt" in status


async def test_a_missing_required_capability_is_an_error() -> None:
    async with connect_stdio(*node_server("sequential-thinking"), stderr=lambda line: None) as server:
        with pytest.raises(MissingCapability, match="prompts"):
            await Client.open(server, require=["tools", "prompts"])
