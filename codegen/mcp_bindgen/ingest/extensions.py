"""Read the tables of extensions, which say what a schema.ts does not (schema/extensions.toml, pyproject.toml)."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from types import MappingProxyType

from mcp_bindgen.ingest.paths import shipped
from mcp_bindgen.ingest.sources import SourceKind, SourceText
from mcp_bindgen.ir.diagnostics import Diagnostics, InputError, Location
from mcp_bindgen.ir.json_values import as_object, is_object

ROWS = "schema/extensions.toml"
_LABEL = r"[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_ID = re.compile(rf"{_LABEL}(?:\.{_LABEL})*/[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
"""The grammar of names in `_meta`, with a prefix (basic/index, `_meta`)."""
_NOT_WORD = re.compile(r"[^A-Za-z0-9]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtensionTable:
    """What is stated about one extension.

    Attributes:
        id: its identifier, such as ``com.acme/orders``.
        where: the file with the table.
        revision: the revision that it extends; empty to take the one that the user names.
        schema: the path or URL of its schema.ts; empty for a shipped extension.
        source: where the official file comes from, and its version.
        sha256: that of the official file, in hexadecimal.
        link: the URL of its specification.
        settings: the type of its settings, in the capabilities of both sides.
        types_only: the reason why its messages are not messages of MCP; empty if they are.
        results: the result that it adds to a request of the revision, by method.
        filters: the type of what it adds to the filter in a message, by method.
        headers: the property of the params that is repeated in the header `Mcp-Name`, by method.
        directions: the sender of each message, with a reason, by method.
    """

    id: str
    where: str = field(compare=False)
    revision: str = ""
    schema: str = ""
    source: str = ""
    sha256: str = ""
    link: str = ""
    settings: str = ""
    types_only: str = ""
    results: Mapping[str, str] = field(default_factory=dict[str, str])
    filters: Mapping[str, str] = field(default_factory=dict[str, str])
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    directions: Mapping[str, Mapping[str, str]] = field(default_factory=dict[str, Mapping[str, str]])

    @property
    def module(self) -> str:
        """The name of its package: the last part of its identifier."""
        return _NOT_WORD.sub("_", self.id.rpartition("/")[2]).lower()

    def row(self, *keys: str) -> Location:
        """Return the location of a row of the table."""
        return Location(source=self.where).child(self.id, *keys)


_KEYS = tuple(known.name for known in fields(ExtensionTable) if known.name not in ("id", "where"))
_TABLES = ("results", "filters", "headers")


def read_table(id: str, values: object, where: str) -> ExtensionTable:
    """Read the table of one extension.

    Args:
        id: the identifier of the extension.
        values: the table, as parsed from TOML.
        where: the file that it comes from.

    Raises:
        InputError: the identifier has no prefix, or a row is not one of the format.
    """
    table = ExtensionTable(id=id, where=where)
    if not _ID.fullmatch(id):
        raise InputError.at(
            Location(source=where),
            f"{id!r} cannot name an extension: give it the prefix of a domain, as in com.acme/orders",
        )
    diagnostics = Diagnostics()
    rows = as_object(values)
    if not is_object(values):
        diagnostics.error(table.row(), "must be a table")
    for key, value in rows.items():
        if key not in _KEYS:
            diagnostics.error(table.row(key), f"unknown key; the keys are {', '.join(_KEYS)}")
        elif key == "directions" or key in _TABLES:
            _check_rows(table.row(key), value, nested=key == "directions", diagnostics=diagnostics)
        elif not isinstance(value, str) or not value.strip():
            diagnostics.error(table.row(key), "must be a non-empty string")
    diagnostics.raise_errors()
    return ExtensionTable(id=id, where=where, **rows)


def _check_rows(where: Location, rows: object, *, nested: bool, diagnostics: Diagnostics) -> None:
    if not is_object(rows):
        diagnostics.error(where, "must be a table with one row per method")
        return
    for method, row in rows.items():
        if not nested and not (isinstance(row, str) and row):
            diagnostics.error(where.child(method), "must be a non-empty string")
        elif nested and not _is_direction(row):
            diagnostics.error(where.child(method), 'must be { direction = "client_to_server", reason = "..." }')


def _is_direction(row: object) -> bool:
    stated = as_object(row)
    return stated.keys() == {"direction", "reason"} and all(isinstance(v, str) and v.strip() for v in stated.values())


@cache
def shipped_extensions() -> Mapping[str, ExtensionTable]:
    """Return the tables of the shipped extensions, by identifier (schema/extensions.toml)."""
    rows = tomllib.loads((shipped("schema") / "extensions.toml").read_text("utf-8"))
    return MappingProxyType({id: read_table(id, values, ROWS) for id, values in rows.items()})


def shipped_structure(table: ExtensionTable) -> SourceText:
    """Return the shipped structure of an extension's schema.ts; or that file, if it is our own."""
    path = f"extensions/{table.module}/typescript.json"
    if not (shipped("schema") / path).is_file():
        path = f"extensions/{table.module}.ts"
    data = (shipped("schema") / path).read_bytes()
    return SourceText(name=f"schema/{path}", kind=SourceKind.TYPESCRIPT, data=data)
