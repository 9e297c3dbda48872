"""Where the programs of the interop tests are, and what they print."""

import functools
import json
import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

TESTS = Path(__file__).parents[1]
PEERS = TESTS / "interop" / "peers"
SECONDS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """A client and a server that speak with one implementation of the protocol.

    Args:
        name: what the tests call it.
        runs: what its programs run in, as the name of the environment variable that says so; empty for our own Python.
        client: the program that goes through the scenarios, as arguments of what it runs in.
        server: the program that offers everything, likewise; empty if there is none.
        tasks: whether both can do the tasks of 2025-11-25.
    """

    name: str
    runs: str
    client: tuple[str, ...]
    server: tuple[str, ...] = ()
    tasks: bool = False

    def client_command(self, *arguments: str) -> tuple[str, ...]:
        """Return the command line that starts its client, in `TESTS`."""
        return (interpreter(self.runs), *self.client, *arguments)

    def server_command(self, *arguments: str) -> tuple[str, ...]:
        """Return the command line that starts its server, in `TESTS`."""
        return (interpreter(self.runs), *self.server, *arguments)


OURS = Side(name="ours", runs="", client=("-m", "interop.our_client"), server=("-m", "interop.our_server"), tasks=True)
SDK1 = Side(
    name="mcp-1.30.0",
    runs="MCP_PEER_1",
    client=(str(PEERS / "sdk_client.py"),),
    server=(str(PEERS / "sdk_server.py"),),
    tasks=True,
)
SDK2 = Side(
    name="mcp-2.3.0",
    runs="MCP_PEER_2",
    client=(str(PEERS / "sdk_client.py"),),
    server=(str(PEERS / "sdk_server.py"),),
)


TYPESCRIPT = Side(name="typescript-1.32.2", runs="MCP_PEER_NODE", client=(str(PEERS / "ts_client.mjs"),), tasks=True)


def interpreter(variable: str) -> str:
    """Return what runs the programs of a side; without it the test fails, for it would show nothing."""
    if not variable:
        return sys.executable
    if variable == TYPESCRIPT.runs:
        _node_package("sdk")
        return "node"
    path = os.environ.get(variable, "")
    if not Path(path).is_file():
        pytest.fail(f"no peer: {variable}={path!r} names no file; run `make interop`", pytrace=False)
    return path


def _node_package(name: str) -> Path:
    modules = os.environ.get(TYPESCRIPT.runs, "")
    package = Path(modules) / "@modelcontextprotocol" / name
    if not package.is_dir():
        pytest.fail(f"no peer: {TYPESCRIPT.runs}={modules!r} does not hold {name}; run `make interop`", pytrace=False)
    return package


def outcomes(
    client: Side, server: Side, revision: str, *, asks: tuple[str, ...] = (), serves: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Let a client go through its scenarios at a server, once per run of the tests however often it is asked for.

    Args:
        client: whose client it is.
        server: whose server it is.
        revision: the revision that both are expected to speak.
        asks: options of the client.
        serves: options of the server.

    Returns:
        What it saw, by scenario; for a scenario that failed the text of the failure, starting with "failed: ".
    """
    command = (*client.client_command(*asks, revision), *server.server_command(*serves))
    printed, problem = _run(command)
    assert not problem, f"{problem}\n{printed}"
    return _seen(printed)


def _seen(printed: str) -> dict[str, Any]:
    # Not splitlines(): JSON may hold U+2028, which that takes for the end of a line.
    lines = [json.loads(line) for line in printed.split("\n") if line]
    return {line["scenario"]: line.get("saw", f"failed: {line.get('failed')}") for line in lines}


def outcomes_over_http(client: Side, server: Side, revision: str, transport: str = "http") -> dict[str, Any]:
    """Let a client go through its scenarios at a server that is reached over HTTP; returns what `outcomes` does.

    Args:
        client: whose client it is.
        server: whose server it is.
        revision: the revision that both are expected to speak.
        transport: "http" for Streamable HTTP, "sse" for HTTP+SSE.
    """
    return _over_http(client.client_command(revision), server.server_command(f"--{transport}"))


@contextmanager
def serving(server: tuple[str, ...]) -> Generator[str]:
    """Run a server that is reached over HTTP; yields its URL."""
    with subprocess.Popen(server, cwd=TESTS, stdout=subprocess.PIPE, encoding="utf-8") as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


@functools.cache
def _over_http(client: tuple[str, ...], server: tuple[str, ...]) -> dict[str, Any]:
    with serving(server) as url:
        printed, problem = _run((*client, url))
    assert not problem, f"{problem}\n{printed}"
    return _seen(printed)


@functools.cache
def _run(command: tuple[str, ...]) -> tuple[str, str]:
    """Run a program once per run of the tests; return what it printed, and what went wrong."""
    try:
        done = subprocess.run(command, cwd=TESTS, capture_output=True, encoding="utf-8", timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return "", f"no end within {SECONDS} s"
    return done.stdout, f"exit {done.returncode}: {done.stderr[-3000:]}" if done.returncode else ""


def node_server(name: str, *arguments: str) -> tuple[str, ...]:
    """Return the command line of a reference server for Node, which `make interop` installs."""
    return ("node", str(_node_package(f"server-{name}") / "dist" / "index.js"), *arguments)


def python_server(module: str, *arguments: str) -> tuple[str, ...]:
    """Return the command line of a reference server for Python, which `make interop` installs beside mcp 2.3.0."""
    return (interpreter(SDK2.runs), "-m", module, *arguments)
