"""Starts the programs of the interop tests and reads their output."""

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

from interop.peers import offer
from support import forks

TESTS = Path(__file__).parents[1]
PEERS = TESTS / "interop" / "peers"
SECONDS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """A client and a server that use the same implementation of the protocol.

    Args:
        name: its name in the tests.
        runs: the environment variable that names the interpreter of its programs; empty for our own Python.
        client: the program that runs the scenarios, as arguments of the interpreter.
        server: the program that offers everything, as arguments of the interpreter; may be empty.
        tasks: whether both support the tasks of 2025-11-25.
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
SDK_OLD = Side(name="mcp-1.12.4", runs="MCP_PEER_OLD", client=(str(PEERS / "sdk_any_client.py"),))


TYPESCRIPT = Side(name="typescript-1.32.2", runs="MCP_PEER_NODE", client=(str(PEERS / "ts_client.mjs"),), tasks=True)


_SDK = (
    *("anyio._backends._asyncio", "argparse", "sdk", "starlette.responses", "uvicorn"),
    *(f"mcp.client.{name}" for name in ("sse", "stdio", "streamable_http")),
    *(f"mcp.server.{name}" for name in ("lowlevel", "sse", "stdio", "streamable_http_manager")),
)
FORKED = {
    "": (
        *(f"interop.{name}" for name in ("our_client", "our_server", "bridged_client", "bridged_server")),
        *(f"interop.{name}" for name in ("modern_server", "our_bakery")),
        *(f"mcp_bindings.v{each.replace('-', '_')}.messages" for each in offer.LEGACY),
        *(f"mcp_bindgen.{name}" for name in ("__main__", "cli.app", "live.report")),
        *(f"mcp_bindgen.live.{name}" for name in ("inspecting.inspected", "relaying.proxy")),
        *("mcp_runtime.observe", "pydantic.type_adapter", "uvloop", "interop.warm"),
    ),
    "MCP_AGENTS": ("agents", "langchain_core.tools", "pydantic_ai"),
    "MCP_PEER_OLD": ("argparse", "mcp.client.stdio"),
    "MCP_PEER_1": _SDK,
    "MCP_PEER_2": (*_SDK, "mcp.client", "mcp.server.mcpserver"),
    "MCP_PEER_TASKS": ("fastmcp", "fastmcp_tasks"),
}
"""What many programs of an interpreter import, by the variable that names the interpreter."""


def interpreter(variable: str) -> str:
    """Return the interpreter for the programs of a side, one that forks where it can; the test fails without one."""
    if not variable:
        return forks.command(sys.executable, *FORKED[variable], path=(TESTS,))
    if variable == TYPESCRIPT.runs:
        node_package("@modelcontextprotocol/sdk")
        return "node"
    path = os.environ.get(variable, "")
    if not Path(path).is_file():
        pytest.fail(f"no peer: {variable}={path!r} names no file; run `make interop`", pytrace=False)
    return forks.command(path, *FORKED[variable], path=(PEERS,)) if variable in FORKED else path


def bindgen(*arguments: str) -> tuple[str, ...]:
    """Return the command line of a command of ours."""
    return (interpreter(OURS.runs), "-m", "mcp_bindgen", *arguments)


def node_package(name: str) -> Path:
    """Return the folder of a package for Node; the test fails if `make interop` did not install it."""
    modules = os.environ.get(TYPESCRIPT.runs, "")
    package = Path(modules) / name
    if not package.is_dir():
        pytest.fail(f"no peer: {TYPESCRIPT.runs}={modules!r} does not hold {name}; run `make interop`", pytrace=False)
    return package


def outcomes(
    client: Side, server: Side, revision: str, *, asks: tuple[str, ...] = (), serves: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Run a client's scenarios against a server; the result is cached for the whole test run.

    Args:
        client: whose client it is.
        server: whose server it is.
        revision: the revision that both are expected to speak.
        asks: options of the client.
        serves: options of the server.

    Returns:
        What it observed, by scenario; for a failed scenario the text of the failure, starting with "failed: ".
    """
    command = (*client.client_command(*asks, revision), *server.server_command(*serves))
    printed, problem = _run(command)
    assert not problem, f"{problem}\n{printed}"
    return _seen(printed)


def _seen(printed: str) -> dict[str, Any]:
    # Not splitlines(): it would split at U+2028, which JSON may contain.
    lines = [json.loads(line) for line in printed.split("\n") if line]
    return {line["scenario"]: line.get("saw", f"failed: {line.get('failed')}") for line in lines}


def outcomes_over_http(client: Side, server: Side, revision: str, transport: str = "http") -> dict[str, Any]:
    """Run a client's scenarios against a server over HTTP; returns the same as `outcomes`.

    Args:
        client: whose client it is.
        server: whose server it is.
        revision: the revision that both are expected to speak.
        transport: "http" for Streamable HTTP, "sse" for HTTP+SSE.
    """
    return _over_http(client.client_command(revision), server.server_command(f"--{transport}"))


@contextmanager
def serving(server: tuple[str, ...]) -> Generator[str]:
    """Run a server over HTTP; yields its URL."""
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
    """Run a program once per test run; return its output, and a description of what went wrong."""
    try:
        done = subprocess.run(command, cwd=TESTS, capture_output=True, encoding="utf-8", timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return "", f"no end within {SECONDS} s"
    return done.stdout, f"exit {done.returncode}: {done.stderr[-3000:]}" if done.returncode else ""


def node_server(name: str, *arguments: str) -> tuple[str, ...]:
    """Return the command line of a reference server for Node, which `make interop` installs."""
    return ("node", str(node_package(f"@modelcontextprotocol/server-{name}") / "dist" / "index.js"), *arguments)


def python_server(module: str, *arguments: str) -> tuple[str, ...]:
    """Return the command line of a reference server for Python, which `make interop` installs beside mcp 2.3.0."""
    return (interpreter(SDK2.runs), "-m", module, *arguments)
