"""The tables of docs/evolution.md are measured (UPDATE_GOLDEN=1 writes them)."""

import os
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import pytest

from mcp_bindgen.diff.compare import compare
from mcp_bindgen.diff.finding import Finding, Pair
from mcp_bindgen.evolution.read import read_sides
from mcp_bindgen.ingest.extensions import shipped_extensions
from mcp_bindgen.ingest.revisions import released, revision_folder
from mcp_bindgen.ir.diagnostics import Diagnostics
from mcp_bindgen.load.extension import load_extension
from mcp_bindgen.load.protocol import load_released
from support.documents import ROOT
from support.official import upstream
from support.scripts import script

PAGE = ROOT / "docs" / "evolution.md"
PROPOSALS = upstream() / "proposals"


def revisions() -> Iterator[str]:
    yield "| revision | types | methods | lines of bindings | breaks for clients | for servers |"
    yield "|---|---|---|---|---|---|"
    before = {new: old for old, new in pairwise(released())}
    for revision in released():
        protocol = load_released(revision)
        lines = _lines(ROOT / "generated" / "mcp_bindings" / revision_folder(revision))
        found = compare(load_released(before[revision]), protocol) if revision in before else ()
        yield f"| {revision} | {len(protocol.definitions)} | {len(protocol.methods)} | {lines} | {_breaks(found)} |"


def extensions() -> Iterator[str]:
    yield "| extension | types | methods | lines of bindings |"
    yield "|---|---|---|---|"
    for id, table in shipped_extensions().items():
        extension = load_extension(id)
        lines = _lines(ROOT / "generated" / "mcp_bindings" / "extensions" / table.module)
        page = f"[{id}](extension-{table.module}.md)"
        yield f"| {page} | {len(extension.own)} | {len(extension.methods)} | {lines} |"


def proposals() -> Iterator[str]:
    yield "| proposal | new types | new methods | breaks for clients | for servers |"
    yield "|---|---|---|---|---|"
    for folder in sorted(PROPOSALS.iterdir(), key=lambda path: int(path.name)):
        sides = read_sides([str(folder / "head.ts")], [str(folder / "base.ts")], None)
        old, new = (side.load(Diagnostics()) for side in (sides.base, sides.head))
        types = len(new.definitions.keys() - old.definitions.keys())
        methods = len({method.name for method in new.methods} - {method.name for method in old.methods})
        link = f"[{folder.name}](https://github.com/modelcontextprotocol/modelcontextprotocol/pull/{folder.name})"
        yield f"| {link} | {types} | {methods} | {_breaks(compare(old, new))} |"


def layers() -> Iterator[str]:
    """Measure the newest revision, all bridges, and the runtime."""
    rehearse = script("rehearse")
    bindings = (f"generated/mcp_bindings/{folder}" for folder in (revision_folder(list(released())[-1]), "bridges"))
    yield "| layer | generated |"
    yield "|---|---|"
    for layer, lines in rehearse.measured(rehearse.lines_of(ROOT, *bindings, "runtime")).items():
        if any(lines):
            yield f"| {layer} | {lines[0] / sum(lines):.0%} |"


def _breaks(findings: Sequence[Finding]) -> str:
    """Return how many changes break clients and servers of the older side."""
    counts = [sum(pair in finding.proven for finding in findings) for pair in (Pair.OLD_CLIENT, Pair.NEW_CLIENT)]
    return " | ".join(map(str, counts))


def _lines(folder: Path) -> int:
    return sum(path.read_text("utf-8").count("\n") for path in folder.rglob("*.py"))


TABLES = {"layers": layers, "revisions": revisions, "extensions": extensions, "proposals": proposals}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name == "proposals" else ()) for name in TABLES]
)
def test_a_table_is_as_measured(name: str) -> None:
    if name == "proposals" and not PROPOSALS.is_dir():
        pytest.skip("the proposals are not here (set MCP_UPSTREAM)")
    text = PAGE.read_text("utf-8")
    begin, end = f"<!-- {name}: measured -->\n\n", "\n\n<!-- end -->"
    assert begin in text
    head, rest = text.split(begin)
    shown, tail = rest.split(end, 1)
    table = "\n".join(TABLES[name]())
    if os.environ.get("UPDATE_GOLDEN"):
        PAGE.write_text(f"{head}{begin}{table}{end}{tail}", "utf-8")
    elif name == "layers":  # A change of the runtime's size by a few lines may move a share by a point.
        assert _rows(shown).keys() == _rows(table).keys()
        assert all(abs(share - _rows(table)[row]) <= 3 for row, share in _rows(shown).items()), table
    else:
        assert shown == table, "UPDATE_GOLDEN=1 pytest tests/evolution/test_page.py"


def _rows(table: str) -> dict[str, int]:
    return {row[1]: int(row[2]) for row in re.finditer(r"\| (.+) \| (\d+)% \|", table)}
