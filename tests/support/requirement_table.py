"""The requirements of the specification, the tests that show that they are met, and the page that lists both.

The rows are in schema/requirements; a test says with ``@pytest.mark.requirement("ID")`` which of them it shows. Run
``.venv/bin/python tests/support/requirement_table.py`` (`make docs`) to write docs/requirements.md.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from mcp_bindgen.check.requirements import LEGACY, MODERN, REVISIONS, Row, rows, topics

TESTS: Final = Path(__file__).resolve().parents[1]
PAGE: Final = TESTS.parent / "docs" / "requirements.md"
TRANSPORTS: Final = "basic/transports"
"""The page of the legacy era on which each requirement has a row; of the modern era, those on all pages have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A test that shows requirements; `is_general` if it is not run once per revision."""

    node: str
    ids: tuple[str, ...]
    is_general: bool


@cache
def shown() -> tuple[Shown, ...]:
    """Find the tests that name requirements, without running them."""
    found: list[Shown] = []
    for path in sorted(TESTS.rglob("test_*.py")):
        text = path.read_text("utf-8")
        if "mark.requirement" in text:
            node = path.relative_to(TESTS.parent).as_posix()
            found.extend(_marked(ast.parse(text), node))
    return tuple(found)


def _marked(tree: ast.Module | ast.ClassDef, node: str) -> Iterator[Shown]:
    for item in tree.body:
        if isinstance(item, ast.ClassDef):
            yield from _marked(item, f"{node}::{item.name}")
        elif isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef):
            ids = tuple(id_ for decorator in item.decorator_list for id_ in _named(decorator))
            takes = [argument.arg for argument in item.args.args]
            if ids:
                yield Shown(node=f"{node}::{item.name}", ids=ids, is_general="revision" not in takes)


def _named(decorator: ast.expr) -> list[str]:
    """Return the ids of ``@pytest.mark.requirement(...)``, which files with many of them call ``requirement``."""
    if not isinstance(decorator, ast.Call) or ast.unparse(decorator.func).rpartition(".")[2] != "requirement":
        return []
    return [str(ast.literal_eval(argument)) for argument in decorator.args]


def proof_of(row: Row) -> tuple[Shown, ...]:
    """Return the tests that show a requirement."""
    return tuple(test for test in shown() if row.id in test.ids)


def render() -> str:
    """Return the page."""
    every = rows().values()
    tested = sum(bool(proof_of(row)) for row in every)
    lines = [
        "# Requirements",
        "",
        "What the specification demands and recommends, in our own words, and what shows that it is met. All demands",
        "of 2026-07-28 are here, except those of issuers, and all demands on the transports pages of the",
        "other revisions. `make docs` writes this page from the rows in",
        "[schema/requirements](../schema/requirements) and from the tests, which name the requirements that",
        "they show; a test fails if a requirement has neither a test, an example nor a reason.",
        "",
        f"There are {len(every)} requirements: {sum(bool(row.must) for row in every)} that some revision demands (MUST)"
        f" and {sum(not row.must for row in every)} that are only",
        f"recommended (SHOULD). Tests show {tested} of them, examples {sum(bool(row.example) for row in every)};",
        f"{sum(bool(row.reason) for row in every)} are not shown, with the reason.",
        "",
        "*Page* is a page of the specification or of an extension, and its section; cancellation and progress moved",
        "from basic/utilities to basic/patterns with 2026-07-28. *schema* is a comment in the schema.",
        "",
    ]
    for topic in topics():
        lines += [
            f"## {topic.title}",
            "",
            "| id | what | who | revisions | page | shown by |",
            "|---|---|---|---|---|---|",
        ]
        lines += [_line(row) for row in topic.rows]
        lines.append("")
    return "\n".join(lines)


def _line(row: Row) -> str:
    levels = [f"{level} {_spelled(held)}" for level, held in (("MUST", row.must), ("SHOULD", row.should)) if held]
    cells = (f"`{row.id}`", row.text, row.who, "; ".join(levels), row.page, _proof(row))
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _spelled(revisions: tuple[str, ...]) -> str:
    if revisions in (REVISIONS, LEGACY):
        return "in all revisions" if revisions == REVISIONS else "in all legacy revisions"
    if len(revisions) == 1:
        return revisions[0]
    if revisions[-1] == MODERN:
        return f"since {revisions[0]}"
    return f"{revisions[0]} to {revisions[-1]}"


def _proof(row: Row) -> str:
    if row.reason:
        return row.reason
    if row.example:
        return f"[{row.example}](../{row.example})"
    return "<br>".join(_link(test.node) for test in proof_of(row))


def _link(node: str) -> str:
    path, _, name = node.partition("::")
    return f"[{path.removeprefix('tests/')}::{name}](../{path})"


if __name__ == "__main__":
    PAGE.write_text(render(), "utf-8")
