"""Imports inside the generator point one way: between its folders, and between the files of its front half.

Every import counts, including lazy imports and those for type checkers.
"""

import ast
from collections.abc import Iterator, Mapping
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "codegen" / "mcp_bindgen"
FRONT: Mapping[str, frozenset[str]] = {
    "ingest": frozenset(),
    "ir": frozenset(),
    "merge": frozenset({"ingest", "ir"}),
}
"""The front half of the pipeline: which folders each one may import. None of them imports a later stage."""


def files() -> list[Path]:
    return [path for path in sorted(PACKAGE.rglob("*.py")) if "__pycache__" not in path.parts]


def module(path: Path) -> str:
    inner = path.relative_to(PACKAGE.parent).with_suffix("")
    return ".".join(inner.parts).removesuffix(".__init__")


def imports(path: Path) -> Iterator[str]:
    """Iterate over the modules of the package that a file imports."""
    modules = {module(other) for other in files()}
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: import by the full name"
            inner = [f"{node.module}.{alias.name}" for alias in node.names]
            names = [name if name in modules else str(node.module) for name in inner]
        yield from (name for name in names if name in modules)


def folder(name: str) -> str:
    """Return the folder that a module is in; a module beside the folders is its own folder."""
    return name.split(".")[1] if "." in name else name


def graph() -> dict[str, set[str]]:
    return {module(path): set(imports(path)) - {module(path)} for path in files()}


def folders() -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for name, targets in graph().items():
        found.setdefault(folder(name), set()).update(folder(target) for target in targets)
    return {name: targets - {name} for name, targets in found.items()}


@pytest.mark.parametrize("name", FRONT)
def test_the_files_of_a_folder_form_no_import_cycle(name: str) -> None:
    TopologicalSorter({file: targets for file, targets in graph().items() if folder(file) == name}).prepare()


def test_folders_form_no_import_cycle() -> None:
    found = folders()
    assert {path.parent.name for path in PACKAGE.glob("*/__init__.py")} <= found.keys()
    TopologicalSorter(found).prepare()


@pytest.mark.parametrize("name", FRONT)
def test_the_front_half_does_not_import_later_stages(name: str) -> None:
    found = folders()
    inner = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert found[name] & inner <= FRONT[name]
    for beside in found[name] - inner:
        assert not found[beside] & inner, f"{name} imports {beside}, which leads to {found[beside] & inner}"
