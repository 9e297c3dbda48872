"""A new revision needs no code: product code names no revision, except in rows with a reason."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from mcp_bindgen.ingest.revisions import released

ROOT = Path(__file__).resolve().parents[2]
PRODUCT = [path for name in ("codegen", "runtime", "tools/scripts") for path in sorted((ROOT / name).rglob("*.py"))]
TEMPLATES = sorted((ROOT / "templates").rglob("*.j2"))
REASONS = {"reason", "says"}
"""The arguments of a row that say why it is there."""
LISTED = {
    (
        "runtime/mcp_runtime/app/elicitation.py",
        "_LABELS",
    ): "client/elicitation: both spellings of labels are valid in later schemas",
    ("runtime/mcp_runtime/middleware/validate.py", "INVALID_INPUT_IN_RESULT"): (
        "server/tools, Error Handling: no schema says how invalid arguments are answered"
    ),
    ("runtime/mcp_runtime/core/transports/http/server/sessions.py", "PRIMES_SINCE"): (
        "basic/transports, Sending Messages to the Server: no schema says how streams begin"
    ),
    ("runtime/mcp_runtime/core/transports/http/server/sessions.py", "ASSUMED"): (
        "basic/transports, Protocol Version Header: the revision of clients that are older than the header"
    ),
}
"""Constants that are a revision, by file and name, and why."""
_YEAR = re.compile(r"20\d\d")
_IN_NAMES = re.compile(r"v20\d\d_\d\d_\d\d")


def is_revision(text: str) -> bool:
    """Whether a text is a released revision, its package, or the beginning of one (``2026``, ``2026-07``)."""
    spelled = text.removeprefix("v").replace("_", "-")
    return len(spelled) >= 4 and any(revision.startswith(spelled) for revision in released())


def named(source: str) -> Iterator[tuple[int, str]]:
    """Iterate over the places where code names a revision outside rows: line, and the constant assigned to."""
    if not _YEAR.search(source):
        return
    tree = ast.parse(source)
    excused: set[int] = set()
    owners: dict[int, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and REASONS & {keyword.arg for keyword in node.keywords}:
            excused |= {id(inner) for inner in ast.walk(node)}
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if isinstance(targets[0], ast.Name):
            owners |= {id(inner): targets[0].id for inner in ast.walk(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if is_revision(node.value) and id(node) not in excused:
                yield node.lineno, owners.get(id(node), "")
        elif isinstance(node, ast.Name | ast.Attribute | ast.ImportFrom | ast.alias):
            spelled = {ast.Name: "id", ast.Attribute: "attr", ast.ImportFrom: "module", ast.alias: "name"}[type(node)]
            if _IN_NAMES.search(getattr(node, spelled) or ""):
                yield node.lineno, ""


def test_no_code_names_a_revision() -> None:
    found: set[tuple[str, str]] = set()
    for path in PRODUCT:
        name = path.relative_to(ROOT).as_posix()
        for line, owner in named(path.read_text("utf-8")):
            assert (name, owner) in LISTED, f"{name}:{line} names a revision: derive it, or give it a row with a reason"
            found.add((name, owner))
    assert found == LISTED.keys(), "a listed constant no longer names a revision"


def test_no_template_names_a_revision() -> None:
    for path in TEMPLATES:
        text = path.read_text("utf-8")
        assert not [revision for revision in released() if revision in text or revision.replace("-", "_") in text], path


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ('if revision == "2025-11-25": pass', [(1, "")]),
        ('SINCE = "2026-07-28"', [(1, "SINCE")]),
        ('SINCE: Final = "2026"', [(1, "SINCE")]),
        ('x = f(revision="v2024_11_05")', [(1, "x")]),
        ("from mcp_bindings import v2025_11_25", [(1, "")]),
        ("import mcp_bindings.v2025_11_25 as mcp", [(1, "")]),
        ("mcp_bindings.v2025_11_25.Tool", [(1, "")]),
        ('Row(since="2026-07-28", reason="server/resources")', []),
        ('"""Since 2025-11-25."""', []),
        ('why = "2025-11-25 client/sampling, Tools"', []),
        ('day = "2020-01-01"', []),
    ],
)
def test_what_counts_as_naming_one(source: str, expected: list[tuple[int, str]]) -> None:
    assert list(named(source)) == expected
