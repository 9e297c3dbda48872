"""The lines that `impact` finds in small but real programs: those that are marked, and no others."""

import shutil
from pathlib import Path

import pytest

from impact.corpus_marks import CASES, changes, marks, revisions
from mcp_bindgen.impact.checkers import CHECKERS, DEFAULT, Checker
from mcp_bindgen.impact.run import impact
from mcp_bindgen.impact.stubs import Stubs
from mcp_bindgen.ir.diagnostics import Diagnostics
from support.sampling import sampled

MIN_LINES = 120
Mark = tuple[str, int, str]
"""A file, a line and a rule."""
ALSO = {("gateway/watch.py", 54, "request-method-removed")}
"""What is right, but no other checker reports: a call of a stub method through a variable."""


def touched(case: Path, checker: Checker) -> set[tuple[str, int, str]]:
    old, new = revisions(case)
    package = f"mcp_bindings.v{old.replace('-', '_')}"
    diagnostics = Diagnostics()
    found = impact(Stubs(changes(old, new)), [case], [package], checker, diagnostics)
    assert list(diagnostics) == []
    return {(t.spot.path.relative_to(case).as_posix(), t.spot.line, t.finding.rule.id) for t in found.touched}


def differences(case: Path, checker: str) -> tuple[list[Mark], list[Mark]]:
    """Return the marks that were missed, and what else was found."""
    expected, found = set(marks(case)), touched(case, CHECKERS[checker])
    return sorted(expected - found), sorted(found - expected)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_marked_line_is_found_and_no_other(case: Path) -> None:
    missed, false = differences(case, DEFAULT)
    assert missed == []
    assert [use for use in false if use not in ALSO] == []


@pytest.mark.slow
@pytest.mark.parametrize("case", sampled(CASES, 2), ids=lambda case: case.name)
def test_pyright_finds_the_same_lines(case: Path, tmp_path: Path) -> None:
    missed, false = differences(Path(shutil.copytree(case, tmp_path / case.name)), "pyright")
    assert missed == [] and len(false) <= 1


@pytest.mark.slow
@pytest.mark.parametrize("case", sampled(CASES, 2), ids=lambda case: case.name)
def test_pyrefly_misses_few_lines_beyond_narrowing(case: Path, tmp_path: Path) -> None:
    missed, false = differences(Path(shutil.copytree(case, tmp_path / case.name)), "pyrefly")
    assert len(missed) <= 3 and len(false) <= 1


def test_the_corpus_is_large_enough() -> None:
    lines = {(case, file, line) for case in CASES for file, line, _ in marks(case)}
    assert len(lines) >= MIN_LINES
    assert len(CASES) >= 3
