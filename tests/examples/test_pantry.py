"""The example of a ported server: what changed, and that it works; tests/interop compares both in use."""

import difflib
import re

from support.documents import ROOT
from support.pantry import seen
from support.programs import quick_python

BEFORE = ROOT / "tests" / "interop" / "peers" / "fastmcp_pantry.py"
AFTER = ROOT / "examples" / "pantry_server.py"
MOST = 30
"""The most lines that may change."""


def changes() -> list[str]:
    """Return the lines that porting removed and added, as diff shows them."""
    before, after = (path.read_text("utf-8").splitlines() for path in (BEFORE, AFTER))
    found = difflib.unified_diff(before[2:], after[2:], lineterm="", n=0)
    return [line for line in found if line[0] in "-+" and not line.startswith(("---", "+++"))]


def test_few_lines_change() -> None:
    removed, added = ([line for line in changes() if line[0] == sign] for sign in "-+")
    assert len(BEFORE.read_text("utf-8").splitlines()) >= 160
    assert max(len(removed), len(added)) <= MOST


def test_the_page_shows_all_of_them() -> None:
    page = (ROOT / "docs" / "porting.md").read_text("utf-8")
    shown = re.search(r"```diff\n(.*?)```", page, re.DOTALL)
    assert shown and [line for line in shown[1].splitlines() if line] == changes()
    lines, count = len(BEFORE.read_text("utf-8").splitlines()), sum(line[0] == "-" for line in changes())
    assert f"{count} of {lines} lines" in " ".join(page.split())


async def test_it_answers_as_before() -> None:
    found = await seen(quick_python(), str(AFTER))
    failed = [name for name, is_error, _, _ in found["calls"] if is_error]
    assert failed == ["search", "use", "use", "throw_away"]
    assert found["calls"][-1] == ("photo", False, [bytes.fromhex("89504e470d0a1a0a0000000d49484452")], None)
    assert found["messages"] == [("user", "Planmealsfor2days."), ("assistant", "Iwillsearchthepantryfirst.")]
    assert found["logged"] == [("info", "added eggs"), ("warning", "threw milk away: sour")]
    assert found["progress"] and not found["missing"]
