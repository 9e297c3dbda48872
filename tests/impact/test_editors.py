"""What editors show with the stubs of `impact --stubs`: code that changes is struck through, with the rule on hover."""

import json
import os
import subprocess
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from support.command import Cli

SERVERS = {"ty": ("ty", "server"), "pyright": ("pyright-langserver", "--stdio")}
DEPRECATED = 2
"""The tag that the Language Server Protocol gives to code that an editor strikes through."""
APP = """from mcp_bindings.v2025_11_25 import Client, Task, Tool, ToolInputSchema


async def refresh(client: Client, tool: Tool, latest: Task) -> None:
    await client.ping()
    print(tool.execution, tool.name)
    Tool(name="x", input_schema=ToolInputSchema())
    print(latest)
"""
STRUCK = {0: "Task", 3: "Task", 4: "ping", 5: "execution"}
"""What is struck through, by line from 0."""

HOVERS = {
    3: ("Task", "definition-removed: Task", "Remove imports of it."),
    4: ("ping", "request-method-removed: PingRequest: ping", "Stop sending it to peers of the new revision."),
    5: ("execution", "property-removed-optional: Tool.execution: ToolExecution", "Do not rely on it."),
}
"""What is shown on hover by line: a word, its rule and the advice."""


class Editor:
    """Speaks to a language server as an editor does."""

    def __init__(self, server: "subprocess.Popen[bytes]") -> None:
        assert server.stdin and server.stdout
        self._input, self._output = server.stdin, server.stdout
        self._last = 0

    def notify(self, method: str, params: Any, **more: Any) -> None:
        data = json.dumps({"jsonrpc": "2.0", "method": method, "params": params, **more}).encode()
        self._write(data)

    def ask(self, method: str, params: Any) -> Any:
        """Send a request, and return its result."""
        self._last += 1
        self.notify(method, params, id=self._last)
        return next(each["result"] for each in self.messages() if each.get("id") == self._last and "result" in each)

    def messages(self) -> Iterator[Any]:
        """Iterate over what the server sends, and answer what it asks: there are no settings."""
        while True:
            length = 0
            while line := self._output.readline().strip():
                name, _, value = line.partition(b":")
                length = int(value) if name.lower() == b"content-length" else length
            assert length, "the server ended"
            message = json.loads(self._output.read(length))
            if "method" in message and "id" in message:
                items = message["params"].get("items", ()) if message["params"] else ()
                result = [{"pythonPath": sys.executable} for _ in items] if items else None
                self._write(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode())
            yield message

    def _write(self, data: bytes) -> None:
        self._input.write(b"Content-Length: %d\r\n\r\n" % len(data) + data)
        self._input.flush()


@contextmanager
def opened(name: str, project: Path) -> Generator[Editor]:
    """Start a language server in a project, and open app.py."""
    program, *arguments = SERVERS[name]
    command = [str(Path(sys.executable).with_name(program)), *arguments]
    environment = {**os.environ, "VIRTUAL_ENV": sys.prefix}
    server = subprocess.Popen(
        command,
        cwd=project,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    try:
        editor = Editor(server)
        folder = {"uri": project.as_uri(), "name": "project"}
        published = {"publishDiagnostics": {"tagSupport": {"valueSet": [1, DEPRECATED]}}}
        hover = {"hover": {"contentFormat": ["plaintext"]}}
        capabilities = {"textDocument": {**published, **hover}, "workspace": {"configuration": True}}
        asked = {
            "processId": None,
            "rootUri": folder["uri"],
            "workspaceFolders": [folder],
            "capabilities": capabilities,
        }
        editor.ask("initialize", asked)
        editor.notify("initialized", {})
        document = {"uri": (project / "app.py").as_uri(), "languageId": "python", "version": 1, "text": APP}
        editor.notify("textDocument/didOpen", {"textDocument": document})
        yield editor
    finally:
        server.kill()
        server.communicate()


@pytest.fixture
def project(tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write the stubs, and the settings of docs/impact.md."""
    monkeypatch.chdir(tmp_path)
    cli("impact", "--stubs", "typings", "--from", "2025-11-25", "--to", "2026-07-28")
    (tmp_path / "pyproject.toml").write_text('[tool.ty.environment]\nextra-paths = ["./typings"]\n')
    (tmp_path / "app.py").write_text(APP)
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("server", SERVERS)
def test_code_that_changes_is_struck_through_with_the_rule_on_hover(server: str, project: Path) -> None:
    with opened(server, project) as editor:
        published = (each["params"] for each in editor.messages() if "publishDiagnostics" in each.get("method", ""))
        found = next(each["diagnostics"] for each in published if each["diagnostics"])
        lines = APP.splitlines()
        struck: dict[int, str] = {}
        for each in found:
            if DEPRECATED in each.get("tags", ()):
                start, end = each["range"]["start"], each["range"]["end"]
                struck[start["line"]] = lines[start["line"]][start["character"] : end["character"]]
        assert struck == STRUCK
        for number, (word, rule, advice) in HOVERS.items():
            place = {"line": number, "character": lines[number].index(word) + 1}
            document = {"textDocument": {"uri": (project / "app.py").as_uri()}, "position": place}
            hover = json.dumps(editor.ask("textDocument/hover", document)["contents"])
            assert rule in hover and advice in hover
