"""The code of every page runs, prints what the page says, and has no type errors."""

import json
import os
import re
import subprocess
import sys
import tomllib
from dataclasses import fields
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from mcp_runtime.core import errors
from mcp_runtime.core.options import Limits
from mcp_runtime.core.transports.stdio_client import DEFAULT_MAX_MESSAGE_BYTES
from support.documents import ROOT, Program, pages, programs, session
from support.programs import quick_commands, run_program
from support.sessions import Played, play
from support.shared import computed_once, shared_folder

PROGRAMS = [pytest.param(program, id=f"{page}: {program.title}") for page in pages() for program in programs(page)]
SESSIONS = [page for page in pages() if session(page)]
DATED = {
    "README.md": "it shows the packages of released revisions",
    "docs/app.md": "resources/subscribe ended with 2025-11-25",
    "docs/clients.md": "resources/subscribe and ping ended with 2025-11-25",
    "docs/cookbook.md": "a recipe tests a server with clients of several revisions",
    "docs/http.md": "HTTP with SSE belongs to 2024-11-05",
    "docs/logging.md": "logging/setLevel ended with 2025-11-25",
    "docs/questions.md": "requests of servers to clients ended with 2025-11-25",
    "docs/revisions.md": "it is about revisions",
    "docs/servers.md": "resources/subscribe ended with 2025-11-25",
    "docs/start/compile.md": "it moves a program to the next revision",
    "docs/tasks.md": "tasks of 2025-11-25",
    "docs/transports.md": "ping ended with 2025-11-25",
}
"""Why a page imports the package of one revision; all others import the newest one's names from mcp_bindings."""
DATED_EXAMPLES = {
    "audit": "it prints the requests of a handshake, which ended with 2025-11-25",
    "bridged": "it shows bridges between revisions",
    "elicitation": "notifications/elicitation/complete ended with 2025-11-25",
    "eras": "it shows both eras",
    "gateway": "it shows a gateway between revisions",
    "log_file": "resources/subscribe ended with 2025-11-25",
    "logging": "it shows logging in both eras",
    "project": "it also runs in the newest revision; tests replace the import",
    "revisions": "it shows servers of several revisions",
    "roots": "roots are deprecated in 2026-07-28",
    "sampling": "sampling is deprecated in 2026-07-28",
    "tasks": "records of methods belong to one revision",
    "trace": "it prints the messages of a handshake, which ended with 2025-11-25",
}
"""Why an example does, by the first part of its name."""
PATH = os.pathsep.join([str(Path(sys.executable).parent), os.defpath])
"""The environment of the tests, whose packages are the checkout's, and the programs of the system."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of all sessions, with one for each page; the workers of xdist share it."""
    return shared_folder(tmp_path_factory, "sessions")


def _folder_of(page: str, folder: Path) -> Path:
    return folder / page.removesuffix(".md").replace("/", "-")


def played(page: str, folder: Path) -> list[Played]:
    """Play a page in its own folder; once in all workers, since the types are checked where it was played."""
    place = _folder_of(page, folder)

    def play_it() -> list[Played]:
        with TemporaryDirectory() as programs:
            path = os.pathsep.join([quick_commands(Path(programs)), PATH])
            return play(session(page), place, path, environment_is_made=True)

    return computed_once(place.with_suffix(".played"), play_it)


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_prints_what_the_page_says(program: Program, tmp_path: Path) -> None:
    program.write(tmp_path)
    done = run_program(tmp_path / program.entry, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == program.output
    assert done.stderr == ""


@pytest.mark.slow
@pytest.mark.parametrize("page", SESSIONS)
def test_commands_print_what_the_page_says(page: str, folder: Path) -> None:
    commands = played(page, folder)
    assert commands
    wrong = [command for command in commands if not command.is_as_shown]
    if os.environ.get("UPDATE_GOLDEN"):
        for command in wrong:
            paste(page, command)
    assert [(each.command.line, each.status, each.printed) for each in wrong] == [], "UPDATE_GOLDEN=1 updates the page"


def paste(page: str, command: Played) -> None:
    """Put what a command printed into the page, unless the page leaves some of it out."""
    path, line, shown = ROOT / page, command.command.line, command.command.output
    if "..." not in shown.splitlines():
        text = path.read_text("utf-8")
        path.write_text(text.replace(f"$ {line}\n{shown}", f"$ {line}\n{command.printed}"), "utf-8")


@pytest.mark.slow
@pytest.mark.timeout(600)  # it may have to play the sessions of all pages first
def test_the_code_has_no_type_errors(folder: Path) -> None:
    places: set[Path] = set()
    for page in pages():
        for number, program in enumerate(programs(page)):
            # Beside what the session of its page has written, such as generated modules, if there is one.
            is_played = bool(session(page))
            program.files = {f"program{number}.py": program.files[program.entry]} if is_played else program.files
            place = _folder_of(page, folder) / ("" if is_played else f"program{number}")
            program.write(place)
            places.add(place)
        if session(page):
            played(page, folder)
            places.add(_folder_of(page, folder))
    roots = [str(ROOT / root) for root in ("runtime", "generated")]
    # Functions and variables in a page may be there to be read only, and imports for a section further down.
    rules = ("reportUnusedVariable", "reportUnusedClass", "reportUnusedFunction", "reportUnusedImport")
    settings = {
        "typeCheckingMode": "strict",
        "pythonVersion": "3.11",
        "executionEnvironments": [{"root": str(place), "extraPaths": roots} for place in sorted(places)],
        **dict.fromkeys(rules, "none"),
    }
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    command = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, "--project", str(folder)]
    environment = {**os.environ, "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stdout


def test_the_readme_lists_the_extras_for_users() -> None:
    project = tomllib.loads((ROOT / "runtime" / "pyproject.toml").read_text("utf-8"))["project"]
    table = (ROOT / "README.md").read_text("utf-8").partition("| extra |")[2].partition("\n\n")[0]
    listed = re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)
    assert sorted(listed) == sorted(project["optional-dependencies"])


def test_the_page_on_limits_has_the_defaults_of_all_settings() -> None:
    page = (ROOT / "docs" / "errors.md").read_text("utf-8").partition("| option |")[2]
    rows = re.findall(r"^\| (`\w+`(?:, `\w+`)*) \| ([^|]+) \|", page, re.MULTILINE)
    documented = {
        name.strip("`"): value.strip("`").replace(",", "")
        for names, values in rows
        for name, value in zip(names.split(", "), values.split(", "), strict=True)
    }
    defaults = {
        setting.name: f"{setting.default:g}" if isinstance(setting.default, float) else str(setting.default)
        for setting in fields(Limits)
        if setting.name != "trace"
    }
    size = DEFAULT_MAX_MESSAGE_BYTES // 1024**2
    assert documented == {**defaults, "max_message_bytes": f"{size} MiB"}


def test_the_page_on_errors_has_all_that_a_conversation_raises() -> None:
    page = (ROOT / "docs" / "errors.md").read_text("utf-8")
    # Nothing raises the bases, and bindings of another format are refused before any conversation.
    left_out = {errors.McpError, errors.ProtocolViolation, errors.BindingFormatError}
    found = {value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, errors.McpError)}
    raised = {error.__name__ for error in found - left_out}
    assert len(raised) > 5 and raised <= set(re.findall(r"`([A-Z]\w+)", page))


def test_decision_records_are_few_and_short() -> None:
    records = sorted((ROOT / "docs" / "decisions").glob("*.md"))
    assert 15 < len(records) <= 25, "a record that no longer holds is deleted, not amended"
    assert [path.name for path in records if len(path.read_text("utf-8").splitlines()) > 45] == []


def test_the_cookbook_has_at_least_fifteen_recipes_that_print_something() -> None:
    recipes = [program for program in programs("docs/cookbook.md") if program.output]
    assert len({program.title for program in recipes}) >= 15


def test_pages_import_a_dated_package_only_for_a_reason() -> None:
    dated = re.compile(r"^\s*(?:from mcp_bindings(?:\.v2| import .*\bv2\d)|import mcp_bindings\.v2)", re.MULTILINE)
    assert {page for page in pages() if dated.search((ROOT / page).read_text("utf-8"))} == DATED.keys()
    examples = [path for path in (ROOT / "examples").rglob("*.py") if dated.search(path.read_text("utf-8"))]
    assert {re.split("_(?:client|server|proxy)", path.stem)[0] for path in examples} == DATED_EXAMPLES.keys()
