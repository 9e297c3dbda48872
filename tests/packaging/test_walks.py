"""Pages from nothing to the first success, typed in an empty environment; and all code of pages with the wheel.

The pages are the scripts: the test types their commands, in order, in one shell. `mcp-bindgen` beside it is the
unpacked sdist, like an archive of the repository.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from support import forks
from support.distributions import UV, Environment, Release, empty_environment
from support.documents import ROOT, Command, Program, blocks, pages, programs, session
from support.ports import free_port
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
PROGRAMS = [
    pytest.param(page, program, id=f"{page}: {program.title}") for page in pages() for program in programs(page)
]
EXTRAS = re.compile(r"(?:mcp-bindings|/runtime)\[([a-z,]+)\]")
"""The extras that a page names in its text or its commands."""


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


def extras_of(text: str) -> frozenset[str]:
    """Return the extras that a text names, without those that come with the command."""
    return frozenset(extra for found in EXTRAS.findall(text) for extra in found.split(",")) - {"http", "validation"}


@pytest.mark.parametrize(("page", "program"), PROGRAMS)
def test_a_program_runs_with_what_its_page_installs(
    page: str, program: Program, installed: Callable[[frozenset[str]], Environment], tmp_path: Path
) -> None:
    program.write(tmp_path)
    environment = installed(extras_of((ROOT / page).read_text("utf-8")))
    command = [forks.command(str(environment.python), *IMPORTED), program.entry]
    # Nothing from the tests' environment is visible to it.
    variables = {"PATH": os.defpath, "HOME": str(tmp_path)}
    done = subprocess.run(
        command, cwd=tmp_path, env=variables, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == program.output


@pytest.mark.parametrize("source", ["docs/deployment.md", "new"])
def test_the_container_serves_with_what_it_installs(
    source: str, release: Release, installed: Callable[[frozenset[str]], Environment], tmp_path: Path
) -> None:
    environment = empty_environment(tmp_path)
    if source == "new":
        makes = installed(frozenset())
        makes.run("mcp-bindgen", "new", tmp_path / "notes")
        tested = [str(makes.python), "-m", "pytest", "-q"]
        assert subprocess.run(tested, cwd=tmp_path / "notes", capture_output=True, check=False).returncode == 0
        folder, file = tmp_path / "notes", (tmp_path / "notes" / "Dockerfile").read_text("utf-8")
    else:
        (file,) = (block.text for block in blocks(source) if block.language == "dockerfile")
        folder = tmp_path
        next(programs(source)).write(folder)
    steps = dict(line.split(" ", 1) for line in file.splitlines() if not line.startswith("#"))
    (extra,) = EXTRAS.findall(steps["RUN"])
    environment.install(release.bindings.requirement(extra))
    port = str(free_port())
    serve, check = (
        json.loads(steps[step].removeprefix("CMD ").replace("8000", port)) for step in ("CMD", "HEALTHCHECK")
    )
    with subprocess.Popen([environment.python, *serve[1:]], cwd=folder, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None and server.stderr.readline() == f"serving at http://0.0.0.0:{port}/mcp\n"
        checked = subprocess.run([environment.python, *check[1:]], capture_output=True, text=True, check=False)
        server.terminate()
    assert (checked.returncode, server.returncode) == (0, 0), checked.stderr
