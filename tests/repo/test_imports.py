"""Arrows between files and folders point one way."""

from pathlib import Path

import pytest

from support.imports import cycles, folder_graph, import_graph

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = (("runtime", "mcp_runtime"),)
"""Source root and package; their files import each other in one direction only."""


@pytest.mark.parametrize(("root", "package"), PACKAGES)
class TestPackages:
    def test_files_form_no_import_cycle(self, root: str, package: str) -> None:
        graph = import_graph(ROOT / root, package)
        assert len(graph) > 50
        assert cycles(graph) == []

    def test_folders_form_no_import_cycle(self, root: str, package: str) -> None:
        graph = import_graph(ROOT / root, package)
        deepest = max(name.count(".") for name in graph)
        assert deepest > 2
        for depth in range(1, deepest + 1):
            assert cycles(folder_graph(graph, depth)) == []


def test_json_schema_needs_only_json() -> None:
    """Of the core it imports the room for JSON, and how a peer's text is made safe to show."""
    graph = import_graph(ROOT / "runtime", "mcp_runtime")
    room = {name: graph[name] for name in graph if name.startswith("mcp_runtime.json_schema.")}
    found = {other for others in room.values() for other in others if other not in (*room, "mcp_runtime.json_schema")}
    assert len(room) > 2
    packages = {"mcp_runtime", "mcp_runtime.core"}
    beyond = {name for name in found - packages if not f"{name}.".startswith("mcp_runtime.core.json.")}
    assert beyond == {"mcp_runtime.core.errors"}
    for name in room:
        source = (ROOT / "runtime" / f"{name.replace('.', '/')}.py").read_text("utf-8")
        lines = [line for line in source.splitlines() if "core.errors" in line]
        assert set(lines) <= {"from mcp_runtime.core.errors import clipped"}


FILES = {
    "__init__.py": "",
    "low.py": "import json",
    "high.py": "from lib import low",
    "parts/__init__.py": "from lib.parts.one import ONE",
    "parts/one.py": "from lib.parts import two\nONE = 1",
    "parts/two.py": "from ..low import *",
}


@pytest.mark.parametrize(
    ("path", "line", "expected"),
    [
        ("low.py", "", []),
        ("low.py", "import lib.high", [["lib.high", "lib.low"]]),
        ("low.py", "def later():\n    from lib.high import x", [["lib.high", "lib.low"]]),
        ("low.py", "if TYPE_CHECKING:\n    from .high import X", [["lib.high", "lib.low"]]),
        ("parts/two.py", "from lib.parts.one import ONE", [["lib.parts.one", "lib.parts.two"]]),
        # Whatever imports a module of a package loads the package, and with it all that the package exports.
        ("low.py", "from lib.parts.two import x", [["lib.low", "lib.parts.one", "lib.parts.two"]]),
    ],
    ids=["none", "import", "lazy", "types", "inside", "package"],
)
def test_a_planted_cycle_is_found(tmp_path: Path, path: str, line: str, expected: list[list[str]]) -> None:
    for name, text in FILES.items():
        file = tmp_path / "lib" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{text}\n{line if name == path else ''}\n")
    found = cycles(import_graph(tmp_path, "lib"))
    without_package = [[name for name in group if name != "lib.parts"] for group in found]
    assert without_package == expected
