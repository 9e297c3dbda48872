"""The lines that `impact` finds in small but real programs: those that are marked, and no others."""

from pathlib import Path

import pytest

from impact.corpus_marks import CASES, changes, marks, revisions
from mcp_bindgen.diagnostics import Diagnostics
from mcp_bindgen.impact.run import impact

MIN_LINES = 120


def touched(case: Path) -> set[tuple[str, int, str]]:
    old, new = revisions(case)
    package = f"mcp_bindings.v{old.replace('-', '_')}"
    diagnostics = Diagnostics()
    found = impact(changes(old, new), [case], [package], diagnostics)
    assert list(diagnostics) == []
    return {(t.use.spot.path.relative_to(case).as_posix(), t.use.spot.line, t.finding.rule.id) for t in found.touched}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_marked_line_is_found_and_no_other(case: Path) -> None:
    expected, found = set(marks(case)), touched(case)
    assert sorted(expected - found) == [], "missed"
    assert sorted(found - expected) == [], "false"


def test_the_corpus_is_large_enough() -> None:
    lines = {(case, file, line) for case in CASES for file, line, _ in marks(case)}
    assert len(lines) >= MIN_LINES
    assert len(CASES) >= 3
