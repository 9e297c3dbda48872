"""The generated source is accepted by strict type checkers, black and Python, whatever the schemas are."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import black
import pytest

from functional.test_hostile import HOSTILE
from tools.schemas import corpus
from tools.talking import check_types, objects, text_of, tool

pytestmark = pytest.mark.slow

NAMES = (
    "list dict str int float bool Any Literal annotated ToolResult tool tool_model optional Field options self None"
    " print type object call check_drift property super"
).split()


def everything() -> list[Any]:
    listed = [tool(name, schema, schema if isinstance(schema, dict) else None) for name, schema in corpus()]
    for number, text in enumerate(text for text in HOSTILE.values() if len(text) < 1000):
        member = {"type": "string", "default": text, "description": text}
        schema = objects({text: member, "e": {"enum": [text, "q"], "default": text}}, text)
        listed.append(tool(f"hostile{number}", schema, description=text))
    lists = objects({"a": {"type": "array", "items": {"type": "string"}}, "b": {"type": "object"}})
    return [*listed, *(tool(name, lists, objects({"x": {"type": "integer"}}, "x")) for name in NAMES)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("typing")
    (found / "made.py").write_text(text_of(everything(), is_formatted=True), "utf-8")
    return found


def test_type_checkers_accept_it(folder: Path) -> None:
    assert check_types(folder, "made.py") == ""


def test_it_is_formatted_and_has_no_suppressions(folder: Path) -> None:
    text = (folder / "made.py").read_text("utf-8")
    assert black.format_str(text, mode=black.Mode(line_length=120)) == text
    assert "type: ignore" not in text and "# pyright" not in text and "noqa" not in text


def test_it_imports_without_warnings(folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", "import made"], cwd=folder, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
