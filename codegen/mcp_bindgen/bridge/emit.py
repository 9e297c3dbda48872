"""Emit the conversions between the legacy revisions as Python modules: data, spelled as the calls that make it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

from mcp_bindgen.bridge.derive import Bridge, derive
from mcp_bindgen.bridge.rows import Rows
from mcp_bindgen.emit.header import root_header
from mcp_bindgen.emit.package import revision_folder
from mcp_bindgen.emit.render import render
from mcp_bindgen.emit.text import docstring
from mcp_bindgen.emit.view import Item, Page
from mcp_bindgen.ir.nodes import Era, Protocol

FOLDER = "bridges"
"""The package that holds the conversions, beside those of the revisions."""


ALL = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""The revisions of the legacy era; no more of it will come."""
NO_CHOICE = ("", "capability", "method")
"""The kinds of entries on which no policy decides."""


def legacy(protocols: Sequence[Protocol]) -> list[Protocol]:
    """Return the revisions that bridges are built between, the oldest first."""
    return sorted((p for p in protocols if p.era is Era.LEGACY), key=lambda p: p.revision)


def derive_all(protocols: Sequence[Protocol], rows: Rows | None = None) -> tuple[Bridge, ...]:
    """Return the conversions between neighbours among some revisions.

    Raises:
        ValueError: a row is about nothing, though all that are released are there.
    """
    rows = rows or Rows()
    bridged = legacy(protocols)
    found = tuple(derive(old, new, rows) for old, new in pairwise(bridged))
    if len(bridged) == len(ALL) and rows.stale():
        raise ValueError(f"stale rows (mcp_bindgen.bridge.rows): {'; '.join(rows.stale())}")
    return found


def emit_bridges(protocols: Sequence[Protocol], command: str, templates: Path | None = None) -> dict[str, str]:
    """Return the files of the package of conversions by path, none if there are no two revisions to bridge."""
    bridges = derive_all(protocols)
    if not bridges:
        return {}
    header = root_header(command)
    pages = [_table(bridge, header) for bridge in bridges]
    packages = {p.revision: revision_folder(p.revision) for p in legacy(protocols)}
    pages.append(_index(packages, bridges, header))
    return render(pages, templates)


def module_name(old: str, new: str) -> str:
    """Name the module of the conversions between two revisions."""
    return f"{revision_folder(old)}_{revision_folder(new)}"


def _table(bridge: Bridge, header: str) -> Page:
    table = bridge.table
    doc = f"How messages of {table.old} become messages of {table.new}, and back."
    return Page(
        path=f"{module_name(table.old, table.new)}.py",
        template="bridge.py.j2",
        header=header,
        doc="\n".join(docstring(doc, 0)),
        items=(Item(name="TABLE", head=f"TABLE: _Final = {spelled(table)}", doc='"""The conversions."""'),),
    )


def kinds(bridges: Sequence[Bridge]) -> list[str]:
    """Return the kinds of what a revision cannot say that a policy decides on, sorted."""
    return sorted({entry.kind for bridge in bridges for entry in bridge.entries} - set(NO_CHOICE))


def _index(packages: Mapping[str, str], bridges: Sequence[Bridge], header: str) -> Page:
    pairs = [(bridge.table.old, bridge.table.new) for bridge in bridges]
    tables = ", ".join(f"{pair!r}: {module_name(*pair)!r}" for pair in pairs)
    chosen = ", ".join(map(repr, kinds(bridges)))
    named = ", ".join(f"{revision!r}: {folder!r}" for revision, folder in packages.items())
    text = "_Final[_Mapping[str, str]]"
    doc = "Conversions between neighbouring revisions, one module per pair, imported at their first use."
    return Page(
        path="__init__.py",
        template="bridges.py.j2",
        header=header,
        doc="\n".join(docstring(doc, 0)),
        items=(
            Item(
                name="REVISIONS",
                head=f"REVISIONS: {text} = {{{named}}}",
                doc='"""The revisions that can be bridged, each with the package of its bindings."""',
            ),
            Item(
                name="TABLES",
                head=f"TABLES: _Final[_Mapping[tuple[str, str], str]] = {{{tables}}}",
                doc='"""The modules of the conversions, by the older and the newer revision."""',
            ),
            Item(
                name="KINDS",
                head=f"KINDS: _Final[tuple[str, ...]] = ({chosen},)",
                doc='"""The kinds of what a revision cannot say; a policy names them."""',
            ),
        ),
    )


def spelled(value: Any) -> str:
    """Spell data as Python; what has its default value is left out."""
    if is_dataclass(value) and not isinstance(value, type):
        return f"_t.{type(value).__name__}({', '.join(_arguments(value))})"
    if isinstance(value, Mapping):
        members = cast("Mapping[str, Any]", value)
        return "{" + ", ".join(f"{name!r}: {spelled(inner)}" for name, inner in members.items()) + "}"
    if isinstance(value, tuple):
        items = list(map(spelled, cast("Sequence[Any]", value)))
        return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"
    return repr(value)


def _arguments(value: Any) -> Iterator[str]:
    for field in fields(value):
        found = getattr(value, field.name)
        default = field.default_factory() if field.default_factory is not MISSING else field.default
        if default is MISSING or found != default:
            yield f"{field.name}={spelled(found)}"
