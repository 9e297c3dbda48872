"""Typed clients for tools of third-party servers: generated, type-checked, called, and checked again."""

import importlib.util
import json
import os
import subprocess
import sys
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from interop.processes import bindgen, node_server, python_server
from mcp_bindings.v2025_11_25 import Client
from mcp_runtime.core.handshake.client import Peer
from mcp_runtime.core.settings import ClientOptions
from mcp_runtime.core.transports.stdio import connect_stdio
from mcp_runtime.tools import Tool, ToolArgumentError, ToolError
from tools.talking import validator
from tools.test_differential import accepts, instances

pytestmark = [pytest.mark.interop, pytest.mark.xdist_group("tools")]

BIN = Path(sys.executable).parent


def run(*command: str | Path, folder: Path, **environment: str) -> str:
    """Run a program in a folder, and check that it succeeds; returns what it prints."""
    env = {**os.environ, **environment}
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


class Made:
    """A module generated from a live server's tools, in its own folder."""

    def __init__(self, folder: Path, command: tuple[str, ...], **environment: str) -> None:
        self.folder, self.command, self.environment = folder, command, environment
        folder.mkdir()
        self.file = f"made_{folder.name}.py"
        self.bindgen("generate", "--out", self.file, "--class", "Made")
        spec = importlib.util.spec_from_file_location(self.file.removesuffix(".py"), folder / self.file)
        assert spec and spec.loader
        self.module: Any = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = self.module
        spec.loader.exec_module(self.module)

    def bindgen(self, *arguments: str) -> str:
        """Run a command of ``mcp-bindgen tools`` on the server, and check that it succeeds."""
        return run(*bindgen("tools", *arguments, "--", *self.command), folder=self.folder, **self.environment)

    def verify(self) -> None:
        """Check that the module accepts what the schemas accept, and that the server still matches its contract."""
        self.compare()
        assert "The contract is kept." in self.bindgen("check")
        assert self.bindgen("generate", "--out", self.file, "--class", "Made", "--check") == "up to date\n"

    def compare(self) -> None:
        """Check that the module accepts the arguments that jsonschema accepts."""
        for listed in json.loads((self.folder / "tools.lock.json").read_text("utf-8"))["tools"]:
            schema = listed["inputSchema"]
            judge = validator(schema)
            known = self.module.Made.__tools__[listed["name"]]
            for arguments in instances(schema):
                assert accepts(known, arguments) == judge.is_valid(arguments), (listed["name"], arguments)

    def connect(self) -> AbstractAsyncContextManager[Peer]:
        """Start the server."""
        return connect_stdio(*self.command, env=self.environment, stderr=lambda line: None)


@pytest.fixture(scope="module")
def clients(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Made]:
    """The clients of all servers."""
    folder = tmp_path_factory.mktemp("clients")
    repository, root = folder / "repository", folder / "root"
    root.mkdir()
    subprocess.run(["git", "init", "--quiet", str(repository)], check=True)
    for name, value in (("user.name", "Ada"), ("user.email", "ada@example.com")):
        subprocess.run(["git", "-C", str(repository), "config", name, value], check=True)
    return {
        "time": Made(folder / "time", python_server("mcp_server_time")),
        "git": Made(folder / "git", python_server("mcp_server_git", "--repository", str(repository))),
        "filesystem": Made(folder / "filesystem", node_server("filesystem", str(root))),
        "memory": Made(folder / "memory", node_server("memory"), MEMORY_FILE_PATH=str(folder / "memory.json")),
    }


def test_strict_type_checkers_accept_every_module(clients: dict[str, Made]) -> None:
    files = [made.folder / made.file for made in clients.values()]
    folder = files[0].parents[1]
    settings = {"typeCheckingMode": "strict", "include": [str(file.relative_to(folder)) for file in files]}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    run(BIN / "pyright", "--pythonpath", sys.executable, "-p", folder, folder=folder)
    run(BIN / "mypy", "--strict", *files, folder=folder)


async def test_time(clients: dict[str, Made]) -> None:
    made = clients["time"]
    made.verify()
    async with made.connect() as peer:
        tools = made.module.Made(await Client.open(peer))
        now = await tools.get_current_time(timezone="Europe/Oslo")
        assert "Europe/Oslo" in now.text
        converted = await tools.convert_time(source_timezone="Europe/Oslo", time="12:00", target_timezone="Asia/Tokyo")
        assert "Asia/Tokyo" in converted.text
        with pytest.raises(ToolError, match="timezone"):
            await tools.get_current_time(timezone="Middle/Earth")
        with pytest.raises(ToolArgumentError, match="/timezone"):
            await tools.get_current_time(timezone=1)
        assert not await tools.check_drift()


async def test_git(clients: dict[str, Made]) -> None:
    made = clients["git"]
    repository = made.folder.with_name("repository")
    (repository / "new.txt").write_text("new", "utf-8")
    made.verify()
    async with made.connect() as peer:
        tools = made.module.Made(await Client.open(peer))
        path = str(repository)
        assert "new.txt" in (await tools.git_status(repo_path=path)).text
        await tools.git_add(repo_path=path, files=["new.txt"])
        await tools.git_commit(repo_path=path, message="first")
        assert "first" in (await tools.git_log(repo_path=path, max_count=1)).text
        with pytest.raises(ToolArgumentError, match="/files"):
            await tools.git_add(repo_path=path, files=[])
        assert tools.__tools__["git_status"].read_only and tools.__tools__["git_reset"].destructive


def _allow(tool: Tool[Any]) -> bool:
    return tool.name != "move_file"


async def test_filesystem(clients: dict[str, Made]) -> None:
    made = clients["filesystem"]
    root = made.folder.with_name("root")
    made.verify()
    async with made.connect() as peer:
        client = await Client.open(peer, options=ClientOptions(roots=[root.as_uri()]))
        tools = made.module.Made(client, allow=_allow)
        file = str(root / "hello.txt")
        await tools.write_file(path=file, content="Grüße")
        assert (await tools.read_text_file(path=file)).data.content == "Grüße"
        edit = made.module.EditFileInputEditsItem(oldText="Grüße", newText="Hallo")
        await tools.edit_file(path=file, edits=[edit])
        assert (root / "hello.txt").read_text("utf-8") == "Hallo"
        assert "hello.txt" in (await tools.list_directory(path=str(root))).data.content
        with pytest.raises(ToolError):
            await tools.read_text_file(path="/etc/passwd")


async def test_memory(clients: dict[str, Made]) -> None:
    made = clients["memory"]
    made.verify()
    async with made.connect() as peer:
        tools, module = made.module.Made(await Client.open(peer)), made.module
        ada = module.CreateEntitiesInputEntitiesItem(name="Ada", entityType="person", observations=["writes programs"])
        engine = module.CreateEntitiesInputEntitiesItem(name="Engine", entityType="machine", observations=[])
        created = await tools.create_entities(entities=[ada, engine])
        assert created.data.entities[0].name == "Ada"
        relation = module.CreateRelationsInputRelationsItem.model_validate_json(
            json.dumps({"from": "Ada", "to": "Engine", "relationType": "programs"})
        )
        await tools.create_relations(relations=[relation])
        graph = (await tools.read_graph()).data
        assert [(r.from_, r.to) for r in graph.relations] == [("Ada", "Engine")]
        assert (await tools.search_nodes(query="Ada")).data.entities[0].observations == ["writes programs"]
