"""The table of mechanisms in docs/decisions.md: each has one home, and no class of that kind is missing."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = {"mcp_runtime": ROOT / "runtime" / "mcp_runtime", "mcp_bindgen": ROOT / "codegen" / "mcp_bindgen"}
HEAD = re.compile(r"^\| mechanism \| home in `(\w+)` \|", re.MULTILINE)
ROW = re.compile(r"^\| [^|]*\| `([\w/]+\.py)` \| ([^|]+) \|$", re.MULTILINE)


def listed(package: str) -> set[tuple[str, str]]:
    """Return what the table of a package lists, each with its file."""
    _, *tables = HEAD.split((ROOT / "docs" / "decisions.md").read_text("utf-8"))
    rows: list[tuple[str, str]] = ROW.findall(tables[tables.index(package) + 1])
    assert len(rows) > 10
    return {(file, name) for file, names in rows for name in re.findall(r"`(\w+)`", names)}


def defined(package: str, *kinds: type[ast.AST]) -> set[tuple[str, str]]:
    """Return the public classes or functions of a package, each with its file."""
    return {
        (path.relative_to(PACKAGES[package]).as_posix(), node.name)
        for path in PACKAGES[package].rglob("*.py")
        for node in ast.parse(path.read_text("utf-8")).body
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and isinstance(node, kinds) and node.name[0] != "_"
    }


def kind(name: str) -> str:
    """Return the last word of a class name, which says what kind of thing it is."""
    words: list[str] = re.findall(r"[A-Z][a-z]*", name)
    return words[-1]


@pytest.mark.parametrize("package", PACKAGES)
def test_every_mechanism_is_where_the_table_says(package: str) -> None:
    assert listed(package) - defined(package, ast.ClassDef, ast.FunctionDef) == set()


@pytest.mark.parametrize("package", PACKAGES)
def test_no_mechanism_is_missing(package: str) -> None:
    classes = defined(package, ast.ClassDef)
    kinds = {kind(name) for _, name in listed(package) & classes}
    assert {(file, name) for file, name in classes if kind(name) in kinds} - listed(package) == set()
