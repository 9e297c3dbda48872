"""Laws of probes: each is a row, or a short function in the module of its page."""

import ast
from pathlib import Path

import pytest

from mcp_bindgen.check import probes as modules
from mcp_bindgen.check.probe import FUNCTIONS
from mcp_bindgen.check.requirements import row_of
from mcp_bindgen.check.selection import probes

MAX_LINES = 25
FILES = sorted(Path(modules.__path__[0]).glob("*.py"))
RENAMED = {"streamable-http": "transports"}
"""Pages of the modern era that took over an older one."""
OTHERS = "features"
"""The module of pages with one or two functions."""


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_each_function_is_short(file: Path) -> None:
    tree = ast.parse(file.read_text("utf-8"))
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    long = {node.name: size for node in functions if (size := (node.end_lineno or 0) - node.lineno + 1) > MAX_LINES}
    assert long == {}


def test_each_function_is_in_the_module_of_its_page() -> None:
    assert len(probes()) > 60 and FUNCTIONS
    for probe in FUNCTIONS:
        row = row_of(probe.requirement)
        name = row.page_in(max(row.revisions)).rpartition("/")[2] if row.page else "tools"
        own = RENAMED.get(name, name)
        home = own if own in {file.stem for file in FILES} else OTHERS
        assert probe.run.__module__ == f"{modules.__name__}.{home}", probe.requirement


def test_no_module_is_without_a_probe() -> None:
    used = {probe.run.__module__.rpartition(".")[2] for probe in FUNCTIONS}
    assert {file.stem for file in FILES} - {"__init__"} == used


def test_each_row_of_http_says_which_status_is_right() -> None:
    for row in (row for probe in probes() for row in row_of(probe.requirement).probes):
        assert ("status" in row) is (row.get("over") == "http"), row
        assert {"expect", "status"} & row.keys() and {"send", "http"} & row.keys(), row
