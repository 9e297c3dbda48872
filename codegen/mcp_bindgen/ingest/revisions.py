"""The files in schema/: the released revisions, their structure, and rows that say what no schema file does."""

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any

from mcp_bindgen.ingest.paths import shipped
from mcp_bindgen.ingest.sources import SourceKind, SourceText
from mcp_bindgen.ir.diagnostics import Location
from mcp_bindgen.ir.document import Key
from mcp_bindgen.ir.json_values import is_object

LINES = "lines.json"
"""The file with the lines of the official schema.ts: each definition and property by its path."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Released:
    """A released revision, its era, and the sha256 of the official files that its structure was taken from."""

    revision: str
    era: str
    schema_json_sha256: str
    schema_ts_sha256: str


@cache
def released() -> Mapping[str, Released]:
    """Return the released revisions by name, oldest first (schema/revisions.json)."""
    rows = json.loads((shipped("schema") / "revisions.json").read_text("utf-8"))
    return MappingProxyType({row["revision"]: Released(**row) for row in rows})


def revision_folder(revision: str) -> str:
    """Return the folder name of a revision: ``2024-11-05`` gives ``v2024_11_05``."""
    return "v" + re.sub(r"[^A-Za-z0-9]+", "_", revision)


def legacy_revisions() -> tuple[str, ...]:
    """Return the released revisions whose conversations begin with a handshake, oldest first."""
    return tuple(revision for revision, row in released().items() if row.era == "legacy")


def shipped_source(revision: str, kind: SourceKind) -> SourceText:
    """Return one half of the shipped structure; that of schema.ts is in the form of typescript.json."""
    file = "schema.json" if kind is SourceKind.JSON_SCHEMA else "typescript.json"
    path = shipped("schema") / revision / file
    return SourceText(name=f"schema/{revision}/{file}", kind=kind, data=path.read_bytes())


def shipped_places(revision: str) -> dict[str, Location]:
    """Return the places of a released revision's definitions and properties in its official schema.ts, by path."""
    lines: Mapping[str, int] = json.loads((shipped("schema") / revision / LINES).read_text("utf-8"))
    source = f"schema/{revision}/{SourceKind.TYPESCRIPT.value}"
    return {path: Location(source=source, line=line) for path, line in lines.items()}


def read_rows(text: str, key: str, what: str) -> dict[str, Any]:
    """Read one value of each row, such as its direction; `what` names it in an error.

    Raises:
        ValueError: a row gives no reason.
    """
    rows = tomllib.loads(text)
    for name, row in rows.items():
        if not str(row.get("reason", "")).strip():
            raise ValueError(f"the {what} of {name} has no reason")
    return {name: row[key] for name, row in rows.items()}


def read_docs(text: str) -> dict[Key, str]:
    """Read the text of docs.toml: its lines by their path.

    Raises:
        tomllib.TOMLDecodeError: the text is not TOML.
    """
    return dict(_lines(tomllib.loads(text), ()))


def _lines(table: Mapping[str, Any], path: Key) -> Iterator[tuple[Key, str]]:
    for name, value in table.items():
        if is_object(value):
            yield from _lines(value, (*path, name))
        else:
            yield (*path, name), str(value)
