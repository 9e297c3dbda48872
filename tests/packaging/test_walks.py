"""Pages from nothing to the first success, typed in an empty environment; and all code of pages with the wheel.

The pages are the scripts: the test types their commands, in order, in one shell. `mcp-bindgen` beside it is the
unpacked sdist, like an archive of the repository.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support import forks
from support.distributions import UV, Environment, Release
from support.documents import Command, Program, pages, programs, session
from support.sessions import SETS_UP, play

pytestmark = [pytest.mark.packaging, pytest.mark.timeout(600)]

IMPORTED = (
    *(
        "argparse",
        "asyncio",
        "mcp_runtime.testing",
        "mcp_runtime.core.transports.http",
        "mcp_runtime.core.transports.stdio",
    ),
    *(f"mcp_bindings.v{revision}.app" for revision in ("2025_11_25", "2026_07_28")),
)
"""Modules of the wheel and of Python that many programs import."""

MAX_COMMANDS = 5
"""The most commands until the first success that a user sees."""


def commands(page: str) -> list[Command]:
    return [step for step in session(page) if isinstance(step, Command)]


WALKS = [page for page in pages() if any(SETS_UP.match(command.line) for command in commands(page))]
PROGRAMS = [pytest.param(program, id=f"{page}: {program.title}") for page in pages() for program in programs(page)]


@pytest.mark.parametrize("page", WALKS)
def test_a_page_that_installs_works_from_nothing(page: str, release: Release, tmp_path: Path) -> None:
    shutil.unpack_archive(release.bindgen.sdist, tmp_path)
    (unpacked,) = tmp_path.iterdir()
    unpacked.rename(tmp_path / "mcp-bindgen")
    path = os.pathsep.join([str(Path(sys.base_prefix) / "bin"), os.defpath])
    # The installation of the README is that of the other pages, which differ in their extras only.
    uv, by_pip = UV if UV.is_file() else None, page == "README.md"
    played = play(session(page), tmp_path, path, environment_is_made=False, uv=uv, begins_with_pip=by_pip)
    assert [each.command for each in played] == commands(page)
    for each in played:
        assert each.is_as_shown, f"{each.command.line} ended with {each.status} and said\n{each.printed}"


@pytest.mark.parametrize("page", WALKS)
def test_the_first_success_takes_few_commands(page: str) -> None:
    first = next(number for number, command in enumerate(commands(page), 1) if command.output)
    assert first <= MAX_COMMANDS


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_of_a_page_runs_with_the_wheel(program: Program, complete: Environment, tmp_path: Path) -> None:
    program.write(tmp_path)
    command = [forks.command(str(complete.python), *IMPORTED), program.entry]
    # Nothing from the tests' environment is visible to it.
    variables = {"PATH": os.defpath, "HOME": str(tmp_path)}
    done = subprocess.run(
        command, cwd=tmp_path, env=variables, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == program.output
