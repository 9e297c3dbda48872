"""`mcp-bindgen new` and `dev`: a project that passes its own tests, and the inspector."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.command import Cli

FILES = ["Dockerfile", "README.md", "my_notes.py", "pyproject.toml", "test_my_notes.py"]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.slow
def test_a_new_project_passes_its_tests_and_can_be_inspected(here: Path, cli: Cli) -> None:
    told = cli("new", "My-notes").err
    assert told.startswith("wrote My-notes (my_notes.py, ") and "mcp-bindgen dev my_notes.py" in told
    folder = here / "My-notes"
    assert sorted(path.name for path in folder.iterdir()) == FILES
    assert not any("do not edit" in path.read_text("utf-8") for path in folder.iterdir())
    tests = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(tests, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "1 passed" in done.stdout, done.stdout
    assert "add_note  title: string, text: string" in cli("inspect", folder / "my_notes.py").out
    styled = [sys.executable, "-m", "black", "-q", "--check", str(folder)]
    assert subprocess.run(styled, check=False, capture_output=True).returncode == 0


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        *((name, "must be letters, digits, - and _") for name in ("3x", "a.b", "a b", "class", "", "é")),
        *((name, "is the name of another module") for name in ("json", "pytest", "mcp", "mcp-bindings", "Asyncio")),
    ],
)
def test_a_name_that_no_module_can_have_is_refused(name: str, reason: str, here: Path, cli: Cli) -> None:
    assert reason in cli("new", name, expect=2).err
    assert not any(here.iterdir())


def test_a_folder_with_files_is_left_alone(here: Path, cli: Cli) -> None:
    (here / "notes").mkdir()
    cli("new", "notes")
    (here / "notes" / "notes.py").write_text("mine")
    assert "notes: exists already" in cli("new", "notes", expect=2).err
    assert (here / "notes" / "notes.py").read_text() == "mine"
    (here / "file").write_text("")
    assert "file: exists already" in cli("new", "file", expect=2).err


def test_dev_starts_the_inspector_with_a_server_that_reloads(
    here: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    (here / "server.py").write_text("from mcp_bindings import App\napp = App('x')\n")
    npx = here / "npx"
    npx.write_text('#!/bin/sh\necho "$@" > called\nexit 3\n')
    npx.chmod(0o755)
    monkeypatch.setenv("PATH", f"{here}:/usr/bin:/bin")
    cli("dev", "server.py", expect=3)
    called = (here / "called").read_text()
    assert called.startswith("--yes @modelcontextprotocol/inspector ") and called.endswith(" run server.py --reload\n")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "words", "line"),
    [
        ("", (), "npx is not installed, so there is no inspector; serving over HTTP with reload\n"),
        (".", ("--port", "0"), "serving at http://127.0.0.1:"),
    ],
)
def test_dev_serves_over_http_with_a_port_or_without_npx(
    path: str, words: tuple[str, ...], line: str, here: Path
) -> None:
    (here / "server.py").write_text("from mcp_bindings import App\napp = App('x')\n")
    (here / "npx").write_text("#!/bin/sh\nexit 3\n")
    (here / "npx").chmod(0o755)
    command = [sys.executable, "-m", "mcp_bindgen", "dev", "server.py", *words]
    environment = {**os.environ, "PATH": path}
    with subprocess.Popen(command, cwd=here, stderr=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stderr is not None and process.stderr.readline().startswith(line)
        process.terminate()


def test_dev_explains_what_it_cannot_serve(here: Path, cli: Cli) -> None:
    assert "nothing.py: no such file" in cli("dev", "nothing.py", expect=2).err
    (here / "other.py").write_text("import fastmcp\n")
    assert "docs/porting.md" in cli("dev", "other.py", expect=2).err
