"""The table of mechanisms in docs/decisions.md: each has one home, and no class of that kind is missing."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "runtime" / "mcp_runtime"
ROW = re.compile(r"^\| [^|]*\| `([\w/]+\.py)` \| ([^|]+) \|$", re.MULTILINE)


def listed() -> set[tuple[str, str]]:
    """Return the classes in the table, each with its file."""
    rows: list[tuple[str, str]] = ROW.findall((ROOT / "docs" / "decisions.md").read_text("utf-8"))
    assert len(rows) > 20
    return {(file, name) for file, names in rows for name in re.findall(r"`(\w+)`", names)}


def defined() -> set[tuple[str, str]]:
    """Return the public classes of the runtime, each with its file."""
    return {
        (path.relative_to(PACKAGE).as_posix(), node.name)
        for path in PACKAGE.rglob("*.py")
        for node in ast.parse(path.read_text("utf-8")).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    }


def kind(name: str) -> str:
    """Return the last word of a class name, which says what kind of thing it is."""
    words: list[str] = re.findall(r"[A-Z][a-z]*", name)
    return words[-1]


def test_every_mechanism_is_where_the_table_says() -> None:
    assert listed() - defined() == set()


def test_no_mechanism_is_missing() -> None:
    kinds = {kind(name) for _, name in listed()}
    assert {(file, name) for file, name in defined() if kind(name) in kinds} - listed() == set()
