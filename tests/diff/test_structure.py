"""The structure of the comparison: allowed imports, and rules referenced by symbols."""

import ast
from collections.abc import Iterator
from pathlib import Path

from mcp_bindgen.diff.rules import CATALOGUE

GENERATOR = Path(__file__).resolve().parents[2] / "codegen" / "mcp_bindgen"
PARTS = ("diff", "impact", "migrate")
LAYERS = (
    ("diff/rule.py", "diff/sites.py", "diff/finding.py", "diff/inputs.py"),
    ("diff/types",),
    ("diff/rules",),
    ("diff/wire", "diff/source"),
    ("diff/compare.py", "diff/compatibility.py"),
    ("diff/report",),
    ("impact",),
    ("migrate",),
)
"""From the bottom up: a part may import lower layers and its own files, but no other part of its layer."""


def modules() -> dict[str, Path]:
    found = {path for part in PARTS for path in (GENERATOR / part).rglob("*.py")}
    return {".".join(p.relative_to(GENERATOR.parent).with_suffix("").parts).removesuffix(".__init__"): p for p in found}


def imports(path: Path, known: dict[str, Path]) -> Iterator[str]:
    """Iterate over the modules of the comparison that a file imports, including lazy imports and those for types."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                yield from (name for name in (whole, node.module) if name in known)


def layer(path: Path) -> tuple[int, str]:
    """Return the layer of a file and its part; the packages' own files count as the ground."""
    name = path.relative_to(GENERATOR).as_posix()
    for number, group in enumerate(LAYERS):
        for part in group:
            if name == part or name.startswith(f"{part}/"):
                return number, part if number else "ground"
    return 0, "ground"


def test_imports_form_no_cycle() -> None:
    known = modules()
    left = {name: {n for n in imports(path, known) if n != name} for name, path in known.items()}
    while free := [name for name, needed in left.items() if not needed & left.keys()]:
        for name in free:
            del left[name]
    assert sorted(left) == []


def test_imports_point_down() -> None:
    known = modules()
    wrong: list[str] = []
    for name, path in known.items():
        number, part = layer(path)
        for other in imports(path, known):
            below, target = layer(known[other])
            if below >= number and target != part:
                wrong.append(f"{name} imports {other}")
    assert wrong == []


def test_rules_are_named_by_symbols() -> None:
    ids = {rule.id for rule in CATALOGUE}
    for path in modules().values():
        if path.parent.name != "rules":
            nodes = ast.walk(ast.parse(path.read_text("utf-8")))
            texts = {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
            assert not texts & ids, path
