"""Runs the commands of a documentation page in one shell, and compares their output with the page."""

import os
import re
import secrets
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from support.documents import PORT, Command, File, write_file
from support.ports import free_port

# Commands that create the environment for the others.
SETS_UP = re.compile(r"git clone |tar |cd |python3? -m venv |\. \S+/activate$|pip install |uv |make setup$")
# pip reads options that start with "no" like this: it compiles no module that no program imports.
NO_BYTECODE = {"PIP_NO_COMPILE": "0"}
WITH_UV = """\
export UV_CACHE_DIR=$({uv} cache dir) UV_SYSTEM_CERTS=1 UV_NATIVE_TLS=1
python3() {{ case "$*" in "-m venv .venv") {uv} venv --quiet .venv ;; *) command python3 "$@" ;; esac; }}
pip() {{ {uv} pip "$@"; }}
"""
# The same, but venv makes the environment, and pip the first installation.
THEN_UV = """\
export UV_CACHE_DIR=$({uv} cache dir) UV_SYSTEM_CERTS=1 UV_NATIVE_TLS=1
pip() {{ command pip "$@" && pip() {{ {uv} pip "$@"; }}; }}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """A command that was run.

    Attributes:
        command: the command, and its output on the page.
        printed: what it printed.
        status: its exit status; 0 for one that runs in the background.
    """

    command: Command
    printed: str
    status: int

    @property
    def is_as_shown(self) -> bool:
        """Whether it printed what the page shows; a command without output on the page only has to succeed."""
        if not self.command.output:
            return self.status == 0
        lines = (r"(?:.*\n)*?" if line == "..." else re.escape(line.rstrip()) + r"\n" for line in _lines(self.command))
        printed = "".join(f"{line.rstrip()}\n" for line in self.printed.rstrip().splitlines())
        return re.fullmatch("".join(lines), printed) is not None


def play(
    steps: Sequence[File | Command],
    folder: Path,
    path: str,
    *,
    environment_is_made: bool,
    uv: Path | None = None,
    begins_with_pip: bool = False,
) -> list[Played]:
    """Write the files and run the commands in a new environment: an empty home, and programs from `path` only.

    Args:
        steps: the files to write and the commands to run.
        folder: the working directory, which is the home as well.
        path: the folders with programs, as in PATH.
        environment_is_made: whether to leave out the commands that make a virtual environment and install packages.
        uv: makes the environment and installs the packages in place of venv and pip, in a third of the time.
        begins_with_pip: whether uv takes over only after venv and pip have done so once.
    """
    folder.mkdir(parents=True, exist_ok=True)
    port = str(free_port())
    variables = {"PATH": path, "HOME": str(folder), "LC_ALL": "C.UTF-8", **NO_BYTECODE, **_of_packages()}
    reading, writing = os.pipe()
    with (
        subprocess.Popen(
            ["bash", "--noprofile", "--norc", f"/dev/fd/{reading}"],
            cwd=folder,
            env=variables,
            pass_fds=[reading],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        ) as shell,
        os.fdopen(writing, "w") as script,
    ):
        os.close(reading)
        assert shell.stdout is not None
        # Background commands end with the shell.
        script.write("trap 'kill $(jobs -p) 2>/dev/null' EXIT\n")
        if uv is not None:
            script.write((THEN_UV if begins_with_pip else WITH_UV).format(uv=uv))
        played: list[Played] = []
        for step in steps:
            if isinstance(step, File):
                write_file(folder / step.name, step.text.replace(PORT, port))
            elif not (environment_is_made and SETS_UP.match(step.line)):
                played.append(_run(step, script, shell.stdout, port))
        script.close()
        shell.stdout.read()
    return played


def _run(command: Command, script: IO[str], output: IO[str], port: str) -> Played:
    """Run a command to its end, or a background command until it has printed what the page shows."""
    end = secrets.token_hex(16)
    script.write(f"{command.line.replace(PORT, port)}\necho {end} $?\n")
    script.flush()
    waits_for = len(_lines(command)) if command.line.endswith("&") else 0
    lines: list[str] = []
    status = None
    while status is None or len(lines) < waits_for:
        line = output.readline()
        if not line:
            raise EOFError(f"the shell ended in {command.line}: {''.join(lines)}")
        text, found, number = line.partition(end)
        status = int(number) if found else status
        lines += [text] if text else []
    return Played(command=command, printed="".join(lines).replace(port, PORT), status=status)


def _lines(command: Command) -> list[str]:
    return command.output.rstrip().splitlines()


def _of_packages() -> dict[str, str]:
    """Return the environment variables that name this machine's package indexes."""
    return {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "UV_"))}
