"""The corpus of `impact`: programs that use the bindings of one revision, each affected line marked with the rules.

A folder is named by two revisions. A mark is at the end of a line: ``# impact: rule-id, other-rule-id``. A line
marked ``# follows`` is wrong with the new bindings because of a marked one above it, from which its value comes.
"""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from mcp_bindgen.diff.compare import compare
from mcp_bindgen.impact.marks import Marks
from mcp_bindgen.impact.run import marks_of
from mcp_bindgen.load.protocol import load_released

CORPUS = Path(__file__).parent / "corpus"
MARK = re.compile(r"# impact: ([\w-]+(?:, [\w-]+)*)$")
FOLLOWS = re.compile(r"# follows$")
CASES = sorted(folder for folder in CORPUS.iterdir() if "_to_" in folder.name)


def revisions(case: Path) -> tuple[str, str]:
    """Return the two revisions of a folder."""
    old, _, new = case.name.partition("_to_")
    return (old.removeprefix("v").replace("_", "-"), new.removeprefix("v").replace("_", "-"))


def marks(case: Path) -> Iterator[tuple[str, int, str]]:
    """Iterate over what is marked: file, line and rule."""
    for path in sorted(case.rglob("*.py")):
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
            found = MARK.search(line)
            assert found or "# impact" not in line, f"{path}:{number}: no mark"
            for rule in found[1].split(", ") if found else ():
                yield path.relative_to(case).as_posix(), number, rule


def following(case: Path) -> Iterator[tuple[str, int]]:
    """Iterate over the lines that are wrong because of a marked one: file and line."""
    for path in sorted(case.rglob("*.py")):
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
            if FOLLOWS.search(line):
                yield path.relative_to(case).as_posix(), number


@cache
def changes(old: str, new: str) -> Marks:
    """Return what the differences between two released revisions affect."""
    before, after = load_released(old), load_released(new)
    return marks_of(compare(before, after, proven=False), before, after)
