"""The commands of docs/inspect.md print what the page says."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "inspect.md"
BLOCK = re.compile(r"^    \$ (.+)\n((?:    (?!\$ ).*\n|\n(?=    (?!\$ )))*)", re.MULTILINE)
COMMANDS = BLOCK.findall(PAGE.read_text("utf-8"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("page")
    (folder / "sum_server.py").symlink_to(ROOT / "examples" / "sum_server.py")
    for command, printed in COMMANDS:
        if command.startswith("cat "):
            (folder / command.removeprefix("cat ")).write_text(_outdented(printed))
    return folder


@pytest.mark.parametrize(("command", "printed"), COMMANDS, ids=[command for command, _ in COMMANDS])
def test_it_prints_what_the_page_says(command: str, printed: str, folder: Path) -> None:
    python = shlex.quote(sys.executable)
    line = command.replace("mcp-bindgen", f"{python} -m mcp_bindgen").replace("-- python ", f"-- {python} ")
    done = subprocess.run(["/bin/sh", "-c", line], cwd=folder, capture_output=True, text=True, check=False, timeout=60)
    assert done.stdout + done.stderr == _outdented(printed)


def test_the_page_has_commands() -> None:
    assert len(COMMANDS) >= 6


def _outdented(text: str) -> str:
    return "".join(line[4:] if line.startswith("    ") else line for line in text.splitlines(keepends=True))
