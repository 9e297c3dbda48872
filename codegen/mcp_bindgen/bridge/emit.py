"""Emit the conversions between the revisions as Python modules."""

from collections.abc import Sequence
from itertools import pairwise

from mcp_bindgen.bridge.derive import Bridge, derive
from mcp_bindgen.bridge.rows import ERA, Rows
from mcp_bindgen.emit.header import header
from mcp_bindgen.emit.python import views
from mcp_bindgen.emit.python.render import Page, Templates
from mcp_bindgen.ingest.revisions import released, revision_folder
from mcp_bindgen.ir.diagnostics import InputError
from mcp_bindgen.ir.nodes import Protocol
from mcp_bindgen.load.protocol import load_released

FOLDER = "bridges"
"""The package that contains the conversions, next to those of the revisions."""
NO_CHOICE = ("", "capability", "method", ERA)
"""The kinds of entries that policies cannot change."""


def derive_all(protocols: Sequence[Protocol], rows: Rows | None = None) -> tuple[Bridge, ...]:
    """Return the conversions between adjacent ones of some revisions.

    Raises:
        ValueError: a row matches nothing although all released revisions are present.
    """
    rows = rows or Rows()
    bridged = sorted(protocols, key=lambda p: p.revision)
    found = tuple(derive(old, new, rows) for old, new in pairwise(bridged))
    if len(bridged) == len(released()) and rows.stale():
        raise ValueError(f"stale rows in schema/bridging.toml: {'; '.join(rows.stale())}")
    return found


def emit_bridges(protocols: Sequence[Protocol], command: str, templates: Templates) -> dict[str, str]:
    """Return the files of the package of conversions between two revisions or more, by path."""
    bridges = derive_all(protocols)
    pages = list(map(table_page, bridges))
    revisions = sorted(protocols, key=lambda p: p.revision)
    packages = {p.revision: revision_folder(p.revision) for p in revisions}
    eras = {p.revision: p.era.value for p in revisions}
    index = {"packages": packages, "eras": eras, "bridges": tuple(map(_view, bridges)), "kinds": kinds(bridges)}
    pages.append(Page(path="__init__.py", template="bridges.py.j2", context=index))
    return templates.render(pages, header(command))


def table_page(bridge: Bridge) -> Page:
    """Return the module of the conversions between two revisions."""
    view = _view(bridge)
    return Page(path=f"{view.module}.py", template="bridge.py.j2", context={"bridge": view})


def _view(bridge: Bridge) -> views.Bridge:
    module = f"{revision_folder(bridge.old)}_{revision_folder(bridge.new)}"
    return views.Bridge(old=bridge.old, new=bridge.new, module=module, table=bridge.table)


def kinds(bridges: Sequence[Bridge]) -> list[str]:
    """Return the kinds of inexpressible content that policies decide on, sorted."""
    return sorted({entry.kind for bridge in bridges for entry in bridge.entries} - set(NO_CHOICE))


def between(old: str, new: str) -> Sequence[Bridge]:
    """Return the bridges between two released revisions, named in either order.

    Raises:
        InputError: they are not two released revisions.
    """
    known = tuple(released())
    for name in (old, new):
        if name not in known:
            message = f"not a released revision; those are {', '.join(known)}"
            raise InputError.at(name, message)
    if old == new:
        raise InputError.at(old, "a revision needs no bridge to itself; name another one")
    first, last = sorted((old, new))
    return derive_all([load_released(revision) for revision in known if first <= revision <= last])
