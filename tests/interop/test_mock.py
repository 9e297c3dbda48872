"""`mcp-bindgen mock` stands in for servers by others, and clients by others cannot tell the difference."""

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from interop.processes import OURS, PEERS, SDK1, SDK2, SDK_OLD, Side, bindgen, interpreter, node_server, python_server
from interop.test_run import SERVER

pytestmark = pytest.mark.interop


def run(command: Sequence[str], folder: Path) -> str:
    env = {**os.environ, "MEMORY_FILE_PATH": "/dev/null"}
    done = subprocess.run(command, cwd=folder, capture_output=True, encoding="utf-8", env=env, timeout=100, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.mark.parametrize("client", [SDK_OLD, SDK1, SDK2], ids=lambda side: side.name)
def test_a_recorded_session_answers_their_client_as_the_server_did(client: Side, tmp_path: Path) -> None:
    (tmp_path / "server.py").write_text(SERVER.replace("PACKAGE", "mcp_bindings"), "utf-8")
    asks = (interpreter(client.runs), str(PEERS / "sdk_any_client.py"), *bindgen())
    before = run((*asks, "proxy", "--record", "session.jsonl", "--", interpreter(OURS.runs), "server.py"), tmp_path)
    assert run((*asks, "mock", "--session", "session.jsonl"), tmp_path) == before


@pytest.mark.parametrize("client", [SDK1, SDK2], ids=lambda side: side.name)
@pytest.mark.parametrize("name", ["everything", "mcp_server_time"])
def test_a_lock_lists_the_tools_of_their_server_to_their_client(client: Side, name: str, tmp_path: Path) -> None:
    command = python_server(name) if name == "mcp_server_time" else node_server(name)
    asks = (interpreter(client.runs), str(PEERS / "sdk_listing.py"), "2025-11-25")
    run((*bindgen(), "tools", "generate", "--out", "tools.py", "--", *command), tmp_path)
    lock = tmp_path / "tools.lock.json"
    mocked, real = (
        json.loads(run((*asks, *words), tmp_path))["tools"]
        for words in ((*bindgen(), "mock", "--lock", str(lock)), command)
    )
    assert [(tool["name"], tool["inputSchema"]) for tool in mocked] == [
        (tool["name"], tool["inputSchema"]) for tool in sorted(real, key=lambda tool: str(tool["name"]))
    ]
