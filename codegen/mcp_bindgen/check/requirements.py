"""The requirements of the specification, in our own words: the rows of schema/requirements."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from mcp_bindgen.ingest.revisions import legacy_revisions, released
from mcp_bindgen.paths import shipped

LEGACY: Final = legacy_revisions()
"""The revisions of the legacy era, in order; spans are of these."""
MODERN: Final = next(revision for revision in released() if revision not in LEGACY)
REVISIONS: Final = tuple(released())


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
        said: digests of the sentences that state it, on the pages that tests compare.
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
    return tuple(_topic(path) for path in sorted((shipped("schema") / "requirements").glob("*.toml")))


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
