"""The requirements of the specification, in our own words: the rows of schema/requirements."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any, Final

from mcp_bindgen.ingest.paths import shipped
from mcp_bindgen.ingest.revisions import legacy_revisions, released
from mcp_bindgen.ir.json_values import is_list

LEGACY: Final = legacy_revisions()
"""The revisions of the legacy era, in order; spans are of these."""
MODERN: Final = next(revision for revision in released() if revision not in LEGACY)
REVISIONS: Final = tuple(released())

_OWN: Final[Mapping[str, str]] = {
    "robust.arguments": "A server answers arguments that the input schema of the tool does not accept with an error.",
    "robust.schemas": "Up to 2025-11-25, the schema of an argument or a result is an object, which all clients read.",
    "robust.survives": "A server survives whatever its client sends, and goes on.",
    "robust.memory": "A server needs no memory that grows with hostile messages.",
    "robust.many": "A server answers many requests at once, each once.",
    "robust.ends": "A server whose client is gone ends, with everything that it started.",
    "contract.portable": "The input schema of a tool can be expressed for the models of all providers.",
    "contract.name": "The name of a tool is accepted by all providers: at most 64 letters, digits, _ and -.",
    "contract.described": "Tools and their parameters are described, so that a model knows when to use them.",
    "contract.size": "The list of tools takes a small part of the context of a model.",
    "contract.internals": "An error of a tool shows no internals, such as a stack trace.",
}
"""What no revision requires, and users need: reliability is a warning, and a contract with models a note."""


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
        seen: a pattern of what the observer finds wrong if it is broken, empty if the observer cannot see it.
        follows: requirements whose breach is the cause if both are broken.
        probes: what `mcp_bindgen.check.probe` sends, and the answer that the requirement determines.
    """

    id: str
    must: tuple[str, ...]
    should: tuple[str, ...]
    page: str
    who: str
    text: str
    example: str = ""
    reason: str = ""
    said: tuple[str, ...] = ()
    seen: str = ""
    follows: tuple[str, ...] = ()
    probes: tuple[Mapping[str, Any], ...] = ()

    @property
    def revisions(self) -> tuple[str, ...]:
        """The revisions in which it applies."""
        return tuple(revision for revision in REVISIONS if revision in (*self.must, *self.should))

    def page_in(self, revision: str) -> str:
        """Return the path of the page that states it in a revision; some rows of the modern era have it as section."""
        page, _, section = self.page.partition(", ")
        inner = section.partition(",")[0]
        if re.fullmatch(r"(server|basic)/[a-z/_]+", inner):
            return inner
        if inner in ("versioning", "cancellation", "progress") or inner.startswith("transports/"):
            return f"{page}/{inner}"
        return page.replace("basic/utilities/", "basic/patterns/") if revision == MODERN else page


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
    """Return a row of a file; what is not a field of it is for people, or for all rows of the file."""
    known = {each.name for each in fields(Row)}
    given: dict[str, Any] = {
        key: tuple(value) if is_list(value) else value for key, value in data.items() if key in known
    }
    given |= {key: span(data.get(key, "")) for key in ("must", "should")}
    given["page"] = ", ".join(data[key] for key in ("page", "section") if data.get(key))
    return Row(id=id_, **given)


@cache
def rows() -> Mapping[str, Row]:
    """Return all rows by their ids."""
    return {row.id: row for topic in topics() for row in topic.rows}


def row_of(id_: str) -> Row:
    """Return a requirement, of the specification or our own."""
    if id_ in rows():
        return rows()[id_]
    return Row(id=id_, must=(), should=REVISIONS, page="", who="server", text=_OWN[id_])


@cache
def known() -> tuple[str, ...]:
    """Return the ids of all requirements of servers, and of our own."""
    return (*(id_ for id_, row in rows().items() if row.who != "client"), *_OWN)
