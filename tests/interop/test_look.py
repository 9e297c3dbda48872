"""`mcp-bindgen inspect` shows what other clients get, and `proxy` does not change the traffic of other peers."""

import json
import os
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from interop.peers import offer
from interop.processes import (
    OURS,
    PEERS,
    SDK1,
    SDK2,
    TESTS,
    TYPESCRIPT,
    Side,
    bindgen,
    interpreter,
    node_server,
    outcomes,
    python_server,
)

pytestmark = pytest.mark.interop

SIDES = (SDK1, SDK2)
PAIRS = ((SDK1, SDK1), (SDK1, SDK2), (SDK2, SDK1), (SDK2, SDK2), (TYPESCRIPT, SDK1), (OURS, OURS))


def run(command: Sequence[str]) -> str:
    """Run a command in the tests folder; return its output."""
    env = {**os.environ, "MEMORY_FILE_PATH": "/dev/null"}
    done = subprocess.run(command, cwd=TESTS, capture_output=True, text=True, env=env, timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


SERVERS: dict[str, Callable[[Path], tuple[str, ...]]] = {
    "mcp 1.30.0": lambda _: SDK1.server_command(),
    "mcp 2.3.0": lambda _: SDK2.server_command(),
    "ours": lambda _: OURS.server_command(),
    "everything": lambda _: node_server("everything"),
    "filesystem": lambda folder: node_server("filesystem", str(folder)),
    "memory": lambda _: node_server("memory"),
    "sequential-thinking": lambda _: node_server("sequential-thinking"),
    "time": lambda _: python_server("mcp_server_time"),
    "git": lambda _: python_server("mcp_server_git"),
}


@pytest.mark.parametrize("client", SIDES, ids=lambda side: side.name)
@pytest.mark.parametrize("server", SERVERS)
def test_inspect_sees_what_their_clients_see(client: Side, server: str, tmp_path: Path) -> None:
    command = SERVERS[server](tmp_path)
    revision = "2025-11-25"
    theirs = json.loads(run((interpreter(client.runs), str(PEERS / "sdk_listing.py"), revision, *command)))
    ours = json.loads(
        run((*bindgen(), "inspect", "--no-mask", "--format", "json", "--revision", revision, "--", *command))
    )
    assert {name: ours[name] for name in theirs} == theirs
    assert ours["revision"] == revision and not ours["notes"]


def proxied(log: Path, *command: str) -> tuple[str, ...]:
    """Return the command line of a server behind the proxy."""
    return (*bindgen(), "proxy", "--fail", "--format", "json", "--log", str(log), "--", *command)


def tee(folder: Path, name: str, *command: str) -> tuple[str, ...]:
    """Return a command line that records the traffic in files."""
    files = (str(folder / f"{name}.client"), str(folder / f"{name}.server"))
    return (interpreter(OURS.runs), str(TESTS / "interop" / "tee.py"), *files, *command)


@pytest.mark.parametrize("revision", offer.LEGACY)
@pytest.mark.parametrize(("client", "server"), PAIRS, ids=lambda side: side.name)
def test_proxy_changes_no_byte_and_finds_nothing(client: Side, server: Side, revision: str, tmp_path: Path) -> None:
    log = tmp_path / "report"
    inner = proxied(log, *tee(tmp_path, "inner", *server.server_command()))
    printed = run((*client.client_command(revision), *tee(tmp_path, "outer", *inner)))
    seen = {line["scenario"]: line.get("saw") for line in map(json.loads, filter(None, printed.split("\n")))}
    assert seen == outcomes(client, server, revision)
    assert log.read_text("utf-8") == ""
    for side in ("client", "server"):
        outer, inner_bytes = ((tmp_path / f"{place}.{side}").read_bytes() for place in ("outer", "inner"))
        assert outer == inner_bytes and outer.count(b"\n") > 50


def test_both_speak_the_modern_era(tmp_path: Path) -> None:
    log = tmp_path / "report"
    server = (interpreter(SDK2.runs), str(PEERS / "sdk_modern_server.py"))
    client = (interpreter(SDK2.runs), str(PEERS / "sdk_modern_client.py"))
    found: dict[str, Any] = json.loads(run((*client, *proxied(log, *server))))
    assert found["revision"] == "2026-07-28"
    # Their server sends log messages without declaring the capability: the only violation.
    (report,) = map(json.loads, log.read_text("utf-8").splitlines())
    assert report["findings"] == [
        {
            "pointer": "/method",
            "reason": "needs the capability server.logging, which was not declared",
            "warning": False,
        }
    ]
    seen = json.loads(run((*bindgen(), "inspect", "--format", "json", "--", *server)))
    assert (seen["revision"], [tool["name"] for tool in seen["tools"]]) == (found["revision"], found["tools"])
