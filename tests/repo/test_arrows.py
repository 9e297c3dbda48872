"""Imports inside the generator point one way: between its folders, and between the files of its front half.

Every import counts, including lazy imports and those for type checkers.
"""

from collections.abc import Mapping
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from support.imports import folder_graph, import_graph

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "codegen" / "mcp_bindgen"
FRONT: Mapping[str, frozenset[str]] = {
    "ingest": frozenset({"ir"}),
    "ir": frozenset(),
    "merge": frozenset({"ingest", "ir"}),
}
"""The front half of the pipeline: which folders each one may import. None of them imports a later stage."""


def graph() -> Mapping[str, frozenset[str]]:
    return import_graph(ROOT / "codegen", PACKAGE.name)


def folders() -> dict[str, set[str]]:
    """Return what each folder imports; the package itself is left out, since whatever is in it loads it."""
    found = {_inner(name): {_inner(other) for other in others} for name, others in folder_graph(graph()).items()}
    return {name: others - {PACKAGE.name} for name, others in found.items() if name != PACKAGE.name}


def _inner(module: str) -> str:
    return module.rpartition(".")[2]


@pytest.mark.parametrize("name", FRONT)
def test_the_files_of_a_folder_form_no_import_cycle(name: str) -> None:
    files = {file: targets for file, targets in graph().items() if f"{file}.".startswith(f"{PACKAGE.name}.{name}.")}
    assert len(files) > 1
    TopologicalSorter(files).prepare()


def test_folders_form_no_import_cycle() -> None:
    found = folders()
    assert graph()[PACKAGE.name] == frozenset()
    assert {path.parent.name for path in PACKAGE.glob("*/__init__.py")} <= found.keys()
    TopologicalSorter(found).prepare()


@pytest.mark.parametrize("name", FRONT)
def test_the_front_half_does_not_import_later_stages(name: str) -> None:
    found = folders()
    inner = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert found[name] & inner <= FRONT[name]
    for beside in found[name] - inner:
        assert not found[beside] & inner, f"{name} imports {beside}, which leads to {found[beside] & inner}"
