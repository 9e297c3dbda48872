"""The requirements of the specification, the tests that show that they are met, and the page that lists both.

The rows are in tests/requirements/rows; a test says with ``@pytest.mark.requirement("ID")`` which of them it shows. Run
``.venv/bin/python tests/support/requirement_table.py`` (`make docs`) to write docs/requirements.md.
"""

import ast
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

TESTS: Final = Path(__file__).resolve().parents[1]
ROWS: Final = TESTS / "requirements" / "rows"
PAGE: Final = TESTS.parent / "docs" / "requirements.md"
LEGACY: Final = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""The revisions of the legacy era, in order; spans are of these."""
MODERN: Final = "2026-07-28"
TRANSPORTS: Final = "basic/transports"
"""The page of the legacy era on which each requirement has a row; of the modern era, those on all pages have."""
REVISIONS: Final = (*LEGACY, MODERN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One requirement.

    Attributes:
        id: topic and name.
        must: the revisions in which it is a MUST.
        should: the revisions in which it is a SHOULD.
        page: the page and section of the specification that state it.
        who: the sides that it applies to: client, server or both.
        text: what it requires, in our words.
        example: the program in examples/ that shows it, empty for none.
        reason: why no test or example shows it; empty if one does.
        said: digests of the sentences that state it (`support.specification`), on the pages that are checked.
    """

    id: str
    must: tuple[str, ...]
    should: tuple[str, ...]
    page: str
    who: str
    text: str
    example: str
    reason: str
    said: tuple[str, ...]

    @property
    def revisions(self) -> tuple[str, ...]:
        """The revisions in which it applies."""
        return tuple(revision for revision in REVISIONS if revision in (*self.must, *self.should))


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """The requirements of one topic, read from one file."""

    title: str
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A test that shows requirements; `is_general` if it is not run once per revision."""

    node: str
    ids: tuple[str, ...]
    is_general: bool


def span(text: str) -> tuple[str, ...]:
    """Return the revisions of ``A..B``, or a single one; none for an empty string.

    An omitted end means that of the legacy era: ``..`` are its revisions, ``..2026-07-28`` all revisions.

    Raises:
        ValueError: there is no such revision.
    """
    if not text:
        return ()
    first, dots, last = text.partition("..")
    begin = REVISIONS.index(first or LEGACY[0])
    end = REVISIONS.index(last or LEGACY[-1]) if dots else begin
    return REVISIONS[begin : end + 1]


@cache
def topics() -> tuple[Topic, ...]:
    """Read all rows."""
    return tuple(_topic(path) for path in sorted(ROWS.glob("*.toml")))


def _topic(path: Path) -> Topic:
    data = tomllib.loads(path.read_text("utf-8"))
    shared = {key: value for key, value in data.items() if not isinstance(value, dict)}
    rows = tuple(
        _row(f"{path.stem.partition('_')[2]}.{key}", {**shared, **value})
        for key, value in data.items()
        if isinstance(value, dict)
    )
    return Topic(title=shared["title"], rows=rows)


def _row(id_: str, data: Mapping[str, Any]) -> Row:
    section = data.get("section")
    return Row(
        id=id_,
        must=span(data.get("must", "")),
        should=span(data.get("should", "")),
        page=data["page"] + (f", {section}" if section else ""),
        who=data["who"],
        text=data["text"],
        example=data.get("example", ""),
        reason=data.get("reason", ""),
        said=tuple(data.get("said", ())),
    )


@cache
def rows() -> Mapping[str, Row]:
    """Return all rows by their ids."""
    return {row.id: row for topic in topics() for row in topic.rows}


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
        "[tests/requirements/rows](../tests/requirements/rows) and from the tests, which name the requirements that",
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
