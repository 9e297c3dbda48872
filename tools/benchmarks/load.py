"""Rows of HTTP under load: wrk calls a decorated tool over eight connections, and the server has one core.

Each side is a process of its own (`load_server.py`, `load_server.mjs`). All are loaded in turn, and what counts is the
CPU time of the server for each call.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from statistics import median
from string import Template
from typing import Any

from measure import HERE, PEER_PYTHON, Row, at_most, faster, in_turn, ratio

CONNECTIONS = 8
NODE_MODULES = os.environ.get("MCP_BENCH_NODE")
"""The folder with the TypeScript SDK; `make bench` sets it, and without it there are no rows for that peer."""
_CLIENT = {"name": "wrk", "version": "1"}
_META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": _CLIENT,
    "io.modelcontextprotocol/clientCapabilities": {},
}
_SCRIPT = """
local number = 0
wrk.method = "POST"
wrk.headers = $headers
function request()
  number = number + 1
  return wrk.format(nil, nil, nil, $before .. number .. $after)
end
function done(summary)
  local errors = summary.errors
  io.write(string.format("counted %d %d\\n", summary.requests, errors.status + errors.read + errors.write))
end
"""


class LoadedServer:
    """A server on the last core, which wrk on the first one calls."""

    def __init__(self, stack: ExitStack, command: list[str]) -> None:
        cores = sorted(os.sched_getaffinity(0))
        self._wrk = ["taskset", "-c", str(cores[0]), "wrk", "-t1", f"-c{CONNECTIONS}"]
        command = ["taskset", "-c", str(cores[-1]), *command]
        self._process = stack.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=HERE))
        stack.callback(self._process.terminate)
        assert self._process.stdout is not None
        self._url = self._process.stdout.readline().strip()
        self._folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="mcp-bench-")))

    def prepare(self, tool: str, *, is_modern: bool) -> None:
        """Write the script that calls a tool; in the legacy era it does so in a session, if the server has any."""
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        meta: dict[str, Any] = {"progressToken": 1} if tool == "stream" else {}
        if is_modern:
            headers |= {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": tool}
            meta |= _META
        else:
            opening = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": _CLIENT}
            answer = self._post({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": opening}, headers)
            headers["MCP-Protocol-Version"] = "2025-11-25"
            if session := answer.get("mcp-session-id"):
                headers["Mcp-Session-Id"] = session
            self._post({"jsonrpc": "2.0", "method": "notifications/initialized"}, headers)
        params = {"name": tool, "arguments": {"text": "hello"}, **({"_meta": meta} if meta else {})}
        call = json.dumps({"jsonrpc": "2.0", "id": 0, "method": "tools/call", "params": params})
        before, _, after = call.partition('"id": 0')
        parts = {"before": json.dumps(f'{before}"id": '), "after": json.dumps(after)}
        table = "{" + ", ".join(f"[{json.dumps(name)}] = {json.dumps(text)}" for name, text in headers.items()) + "}"
        (self._folder / "call.lua").write_text(Template(_SCRIPT).substitute(headers=table, **parts), "utf-8")

    def _post(self, message: dict[str, Any], headers: Mapping[str, str]) -> Mapping[str, str]:
        request = urllib.request.Request(self._url, json.dumps(message).encode(), dict(headers))
        with urllib.request.urlopen(request) as response:
            response.read()
            return {name.lower(): value for name, value in response.headers.items()}

    def figure(self, seconds: int) -> float:
        """Return the microseconds of CPU time that a call costs the server.

        Raises:
            RuntimeError: some calls failed.
        """
        before = self._cpu()
        command = [*self._wrk, f"-d{seconds}s", "-s", str(self._folder / "call.lua"), self._url]
        output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        calls, failed = map(int, output.rpartition("counted ")[2].split())
        if failed or not calls:
            raise RuntimeError(f"{failed} of {calls} calls of {self._url} failed")
        return (self._cpu() - before) / calls * 1e6

    def _cpu(self) -> float:
        fields = Path(f"/proc/{self._process.pid}/stat").read_text("utf-8").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def missing() -> str:
    """Return what the rows need and this machine lacks; empty if nothing."""
    found = [name for name in ("wrk", "taskset") if shutil.which(name) is None]
    return f"the rows of http need {' and '.join(found)}: apt-get install wrk util-linux" if found else ""


def measure(quick: bool) -> Iterator[Row]:
    """Iterate over the rows.

    Raises:
        SystemExit: wrk is missing.
    """
    if reason := missing():
        raise SystemExit(reason)
    rounds, seconds = (3, 1) if quick else (9, 2)
    for tool, answer in (("echo", "JSON"), ("stream", "a stream")):
        with ExitStack() as stack:
            python = [sys.executable, "load_server.py"]
            commands = {"ours": [*python, "ours"], "floor": [*python, "floor"]}
            if PEER_PYTHON:
                form = ["json"] if tool == "echo" else []
                commands["peer"] = [str(Path(PEER_PYTHON).absolute()), "load_server.py", "peer", *form]
            if NODE_MODULES:
                commands["typescript"] = ["node", "load_server.mjs"]
            servers = {side: LoadedServer(stack, command) for side, command in commands.items()}
            for is_modern in (False, True):
                for server in servers.values():
                    server.prepare(tool, is_modern=is_modern)
                found = in_turn({side: partial(each.figure, seconds) for side, each in servers.items()}, rounds)
                middle = {side: median(figures) for side, figures in found.items()}
                what = f"tools/call over HTTP, {answer}{', modern' if is_modern else ''}, server"
                judged = [(ratio(found["ours"], found["floor"]), at_most(3, "x floor"))]
                if "peer" in found:
                    judged.append((ratio(found["peer"], found["ours"]), faster(2)))
                yield Row(
                    what=what,
                    unit="us",
                    ours=middle["ours"],
                    peer=middle.get("peer"),
                    floor=middle["floor"],
                    judged=tuple(judged),
                )
                if "typescript" in found:
                    yield Row(
                        what=f"the same; peer: TypeScript SDK on Node {_node()}",
                        unit="us",
                        ours=middle["ours"],
                        peer=middle["typescript"],
                        judged=((ratio(found["typescript"], found["ours"]), faster(2)),),
                    )


def _node() -> str:
    return subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout.strip("v\n")
