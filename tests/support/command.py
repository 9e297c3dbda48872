"""Runs the command line for tests, in this process or in a new one."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mcp_bindgen.cli.run import run
from support.programs import quick_python


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The exit status and output of a command."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class Cli:
    """Runs mcp-bindgen in this process.

    Attributes:
        python: replaces the interpreter of the tests in the arguments.
    """

    python: str = sys.executable

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        from support.once import work_once  # Only tests that run commands need black.

        self._capsys = capsys
        work_once()

    def __call__(self, *arguments: object, expect: int = 0) -> Outcome:
        """Run a command and check its exit status."""
        self._capsys.readouterr()
        status = run([self.python if each == sys.executable else str(each) for each in arguments])
        printed = self._capsys.readouterr()
        assert status == expect, f"exit {status}, not {expect}\n{printed.out}\n{printed.err}"
        return Outcome(status=status, out=printed.out, err=printed.err)


def start(*arguments: object, program: str = "", cwd: Path, python: str = "") -> "subprocess.Popen[str]":
    """Start mcp-bindgen in a new process.

    Args:
        arguments: its arguments.
        program: Python code that runs in the process first.
        cwd: its folder.
        python: the interpreter; by default a fork that has imported what commands need.
    """
    # Shells start background jobs with SIGINT ignored, and a process inherits that.
    interruptible = "import signal, sys\nsignal.signal(signal.SIGINT, signal.default_int_handler)"
    code = f"{interruptible}\n{program}\nfrom mcp_bindgen.cli.run import run\nsys.exit(run(sys.argv[1:]))\n"
    return subprocess.Popen(
        [python or quick_python(), "-c", code, *(str(argument) for argument in arguments)],
        cwd=cwd,
        env={**os.environ, "XDG_CACHE_HOME": str(cwd / ".cache")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def files_below(folder: Path) -> dict[str, bytes]:
    """Return the files below a folder, hidden ones included, by relative path."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()
    }
