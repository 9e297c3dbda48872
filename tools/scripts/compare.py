"""Compare a small server in three frameworks, each in its own environment: ``python tools/scripts/compare.py FOLDER``.

It prints a table for docs/compare.md. Times are CPU times of the server process, so other programs disturb them little;
memory is the maximum resident set.
"""

import json
import os
import platform
import statistics
import subprocess
import sys
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
RUNS = 5
CALLS = 1000
RELEASED: list[dict[str, str]] = json.loads((ROOT / "schema" / "revisions.json").read_text("utf-8"))
LEGACY = [each["revision"] for each in RELEASED if each["era"] == "legacy"]
MODERN = next(each["revision"] for each in reversed(RELEASED) if each["era"] != "legacy")
CLIENT: dict[str, Any] = {"name": "compare", "version": "1"}
COUNT = """
import importlib.metadata as metadata, json
found = [each for each in metadata.distributions() if each.name not in ("pip", "setuptools")]
files = [each.locate_file(file) for each in found for file in each.files or ()]
size = sum(path.stat().st_size for path in files if path.is_file())
print(json.dumps([len(found), size]))
"""
BODY = '''
@app.tool()
def forecast(city: str, days: int = 1) -> str:
    """Tomorrow's weather."""
    if city == "nowhere":
        raise RuntimeError("the password is hunter2")
    return f"{city}: rain"


if __name__ == "__main__":
'''


@dataclass(frozen=True, kw_only=True, slots=True)
class Framework:
    """A framework: what pip installs, and the lines in which its server differs."""

    package: str
    requirement: str
    head: str
    run: str


FRAMEWORKS = (
    Framework(
        package="mcp-bindings",
        requirement=str(ROOT / "runtime"),
        head='from mcp_bindings import App\n\napp = App("weather", version="1.0")\n',
        run="app.run()",
    ),
    Framework(
        package="mcp",
        requirement="mcp==2.3.0",
        head='from mcp.server.mcpserver import MCPServer\n\napp = MCPServer("weather")\n',
        run="app.run()",
    ),
    Framework(
        package="fastmcp",
        requirement="fastmcp==4.2.3",
        head='from fastmcp import FastMCP\n\napp = FastMCP("weather")\n',
        run="app.run(show_banner=False)",
    ),
)


@dataclass(kw_only=True, slots=True)
class Talk:
    """What a server answered to some requests, by id, and what it cost."""

    answers: dict[int, dict[str, Any]]
    cpu: float
    memory: int


def main(folder: Path) -> None:
    """Print the table."""
    servers = [install(framework, folder / framework.package) for framework in FRAMEWORKS]
    versions = [version_of(command[0], each.package) for each, command in zip(FRAMEWORKS, servers, strict=True)]
    print(
        "| | " + " | ".join(f"{each.package} {found}" for each, found in zip(FRAMEWORKS, versions, strict=True)) + " |"
    )
    print("|---|" + "---|" * len(servers))
    for name, measure in ROWS:
        print(f"| {name} | " + " | ".join(measure(server) for server in servers) + " |", flush=True)
    print(f"\nPython {platform.python_version()}, {platform.system()} on {platform.machine()}, median of {RUNS} runs.")


def install(framework: Framework, folder: Path) -> Sequence[str]:
    """Install a framework into an environment of its own, write its server, and return the command that starts it."""
    python = folder / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "-qq", framework.requirement], check=True)
    server = folder / "weather.py"
    server.write_text(framework.head + "\n" + BODY + textwrap.indent(framework.run, "    ") + "\n")
    return (str(python), str(server))


def version_of(python: str, package: str) -> str:
    """Return the version of an installed package."""
    code = f"import importlib.metadata; print(importlib.metadata.version({package!r}))"
    return subprocess.run([python, "-c", code], check=True, capture_output=True, text=True).stdout.strip()


def installed(server: Sequence[str]) -> tuple[int, int]:
    """Return the number of packages in the environment of a server, and their size in bytes."""
    done = subprocess.run([server[0], "-c", COUNT], check=True, capture_output=True, text=True)
    packages, size = json.loads(done.stdout)
    return packages, size


def started(server: Sequence[str]) -> float:
    """Return the seconds until a server has answered its first request."""
    return statistics.median(talk(server, [hello(LEGACY[-1])]).cpu for _ in range(RUNS))


def called(server: Sequence[str]) -> float:
    """Return the seconds that a server takes for one tool call of many."""
    calls = [call(number, {"city": "Oslo"}) for number in range(1, CALLS + 1)]
    return (
        statistics.median(talk(server, [hello(LEGACY[-1]), *calls]).cpu for _ in range(RUNS)) - started(server)
    ) / CALLS


def revisions(server: Sequence[str]) -> list[str]:
    """Return the revisions in which a client can call the tool."""
    found = [each for each in LEGACY if opened_in(server, each)]
    answer = talk(server, [modern(call(0, {"city": "Oslo"}))]).answers[0]
    return [*found, MODERN] if "result" in answer else found


def opened_in(server: Sequence[str], revision: str) -> bool:
    """Whether a server agrees on a revision, and answers a call in it."""
    answers = talk(server, [hello(revision), call(1, {"city": "Oslo"})]).answers
    return answers[0].get("result", {}).get("protocolVersion") == revision and "result" in answers[1]


def judged(server: Sequence[str], arguments: dict[str, Any]) -> str:
    """Say whether arguments are accepted."""
    answer = talk(server, [hello(LEGACY[-1]), call(1, arguments)]).answers[1]
    return "refused" if "error" in answer or answer["result"].get("isError") else "accepted"


def leaked(server: Sequence[str]) -> str:
    """Say whether a client learns the text of an exception."""
    answer = talk(server, [hello(LEGACY[-1]), call(1, {"city": "nowhere"})]).answers[1]
    return "sent to the client" if "hunter2" in json.dumps(answer) else "kept on the server"


def hello(revision: str) -> dict[str, Any]:
    """Return the request that opens a session of a legacy revision."""
    params = {"protocolVersion": revision, "capabilities": {}, "clientInfo": CLIENT}
    return {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}


def call(number: int, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return a call of the tool."""
    params = {"name": "forecast", "arguments": arguments}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


def modern(request: dict[str, Any]) -> dict[str, Any]:
    """Return a request as the newest revision wants it."""
    keys = {"protocolVersion": MODERN, "clientInfo": CLIENT, "clientCapabilities": {}}
    meta = {f"io.modelcontextprotocol/{key}": value for key, value in keys.items()}
    return {**request, "params": {**request["params"], "_meta": meta}}


def talk(server: Sequence[str], requests: Sequence[dict[str, Any]]) -> Talk:
    """Start a server, send requests one by one, and end it."""
    process = subprocess.Popen(server, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert process.stdin and process.stdout
    answers: dict[int, dict[str, Any]] = {}
    for request in requests:
        process.stdin.write(json.dumps(request).encode() + b"\n")
        process.stdin.flush()
        while request["id"] not in answers:
            line = process.stdout.readline()
            if not line:
                raise RuntimeError(f"{server} ended before it answered {request}")
            message = json.loads(line)
            if "id" in message and "method" not in message:
                answers[message["id"]] = message
        if request["method"] == "initialize":
            process.stdin.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
            process.stdin.flush()
    process.stdin.close()
    _, _, usage = os.wait4(process.pid, 0)
    process.returncode = 0
    process.stdout.close()
    return Talk(answers=answers, cpu=usage.ru_utime + usage.ru_stime, memory=usage.ru_maxrss * 1024)


ROWS: tuple[tuple[str, Callable[[Sequence[str]], str]], ...] = (
    ("packages installed", lambda server: str(installed(server)[0])),
    ("size installed, MiB", lambda server: f"{installed(server)[1] / 2**20:.0f}"),
    ("start and first answer, ms of CPU time", lambda server: f"{started(server) * 1000:.0f}"),
    ("one tool call, ms of CPU time", lambda server: f"{called(server) * 1000:.2f}"),
    ("memory, MiB", lambda server: f"{talk(server, [hello(LEGACY[-1])]).memory / 2**20:.0f}"),
    ("revisions served", lambda server: f"{len(revisions(server))} of {len(LEGACY) + 1}"),
    ('`"2"` for an integer', lambda server: judged(server, {"city": "Oslo", "days": "2"})),
    ("an unknown argument", lambda server: judged(server, {"city": "Oslo", "dayz": 2})),
    ("the text of an exception", leaked),
)

if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
