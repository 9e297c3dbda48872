"""Runs Python programs in processes of their own that start quickly: forks of one that has imported our packages.

Tests of what a program imports, or of how it starts, need a real process instead (`subprocess`).
"""

import atexit
import json
import os
import runpy
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import IO, NoReturn

from support import forks, times

TIMEOUT = 60
"""Seconds after which a program is killed."""

PRELOADED = (
    *(f"mcp_bindings.{package}.{module}" for package in ("v2025_11_25", "v2026_07_28") for module in ("app", "tools")),
    *(f"mcp_runtime.core.transports.{module}" for module in ("http", "stdio")),
    *("mcp_runtime.memory", "mcp_runtime.testing"),
    *("argparse", "asyncio"),
)
"""Modules that many programs import."""

GENERATING = ("black", "jinja2", "mcp_bindgen.cli.run", "mcp_bindgen.cli.generate")
"""Modules that many commands import."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """How a program ended, and what it printed."""

    returncode: int
    stdout: str
    stderr: str


def run_program(path: Path, *words: str | Path, folder: Path | None = None, **environment: str) -> Done:
    """Run a program without input until it ends.

    Args:
        path: its file.
        words: its arguments.
        folder: its current folder; that of the tests by default.
        environment: additional environment variables.
    """
    server = _server()
    assert server.stdin and server.stdout
    with tempfile.TemporaryFile("w+") as stdout, tempfile.TemporaryFile("w+") as stderr:
        files = [f"/proc/{os.getpid()}/fd/{file.fileno()}" for file in (stdout, stderr)]
        order = {
            "argv": [str(path), *map(str, words)],
            "folder": str(folder or Path.cwd()),
            "files": files,
            "environment": environment,
            "python": quick_python(),
        }
        server.stdin.write(f"{json.dumps(order)}\n")
        server.stdin.flush()
        status, seconds = json.loads(server.stdout.readline())
        times.spent_elsewhere += seconds
        texts = [_text(file) for file in (stdout, stderr)]
    return Done(returncode=status, stdout=texts[0], stderr=texts[1])


def _text(file: IO[str]) -> str:
    file.seek(0)
    return file.read()


def quick_python() -> str:
    """Return an executable that stands for the interpreter of the tests, and starts quickly, with our packages."""
    return forks.command(sys.executable, *PRELOADED, *GENERATING, starts_forks=True)


def quick_commands(folder: Path) -> str:
    """Return a folder, for PATH, with `mcp-bindgen` and `python` that start quickly."""
    for name, words in (("mcp-bindgen", " -m mcp_bindgen"), ("python", ""), ("python3", "")):
        path = folder / name
        path.write_text(f'#!/bin/sh\nexec {quick_python()}{words} "$@"\n', "utf-8")
        path.chmod(0o755)
    return str(folder)


@cache
def _server() -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", "from support.programs import serve; serve()"]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    server = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    atexit.register(_stop, server)
    assert server.stdout
    times.spent_on_all += json.loads(server.stdout.readline())
    return server


def _stop(server: "subprocess.Popen[str]") -> None:
    server.communicate()


def serve() -> None:
    """Fork a process for each line of the standard input; print its exit status and the CPU seconds that it took."""
    for module in PRELOADED:
        import_module(module)
    counted = times.cpu_seconds()
    print(counted, flush=True)
    for line in sys.stdin:
        order = json.loads(line)
        child = os.fork()
        if not child:
            sys.executable = order["python"]  # for what the program starts
            _run(order["argv"], order["folder"], order["files"], order["environment"])
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        spent = times.cpu_seconds()
        print(json.dumps([status, spent - counted]), flush=True)
        counted = spent


def _run(argv: list[str], folder: str, files: list[str], environment: Mapping[str, str]) -> NoReturn:
    signal.alarm(TIMEOUT)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for target, name in enumerate(files, 1):
        os.dup2(os.open(name, os.O_WRONLY | os.O_APPEND), target)
    os.chdir(folder)
    os.environ.update(environment)
    sys.argv, sys.path[0] = argv, str(Path(argv[0]).resolve().parent)
    status = 1
    try:
        runpy.run_path(argv[0], run_name="__main__")
        status = 0
    except SystemExit as error:
        status = error.code if isinstance(error.code, int) else int(bool(error.code))
        if isinstance(error.code, str):
            print(error.code, file=sys.stderr)
    except BaseException as error:
        sys.excepthook(type(error), error, error.__traceback__)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
