"""The stubs are valid for every checker, and typed and untyped programs are read to the end."""

import json
import os
from itertools import pairwise
from pathlib import Path

import pytest

from impact.corpus_marks import changes
from mcp_bindgen.diff.compare import compare
from mcp_bindgen.diff.inputs import load_side
from mcp_bindgen.impact.checkers import CHECKERS, DEFAULT, Job
from mcp_bindgen.impact.marks import Marks
from mcp_bindgen.impact.run import impact, marks_of, write_stubs
from mcp_bindgen.impact.stubs import Stubs
from mcp_bindgen.ingest.revisions import released
from mcp_bindgen.ir.diagnostics import Diagnostics
from mcp_bindgen.load.protocol import load_released

ROOT = Path(__file__).resolve().parents[2]
STEPS = [*pairwise(sorted(released())), ("2025-11-25", "2025-06-18")]
ALLOWED = ("deprecated", "Import cycles", "imported from `typing`")
STEPS_OF_OTHERS = (("2025-11-25", "2026-07-28"), ("2025-11-25", "2025-06-18"))
"""The largest step, and one back."""
OTHERS = 10
"""Percent of the other lines of an untyped program that may be listed as well."""


def complaints(folder: Path, checker: str, *every: Marks) -> list[str]:
    """Return what a checker reports about the stubs themselves, without uses of what is deprecated."""
    for number, marks in enumerate(every):
        revision = marks.old.protocol.revision.replace("-", "_")
        write_stubs(
            Stubs(marks), folder / "stubs", [f"stubs{number}.v{revision}" if number else f"mcp_bindings.v{revision}"]
        )
    files = sorted((folder / "stubs").rglob("*.pyi"))
    job = Job(root=folder, files=files, stubs=folder / "stubs", scratch=folder, everything=True)
    return [
        f"{report.path.name}:{report.begin[0]}: {report.message}"
        for report in CHECKERS[checker].run(job)
        if not any(words in report.message for words in ALLOWED)
    ]


def mutated(folder: Path) -> Marks:
    """Return the changes from a schema with other properties to the one that it was made from."""
    schema = json.loads((ROOT / "schema" / "2025-11-25" / "schema.json").read_bytes())
    tool = schema["$defs"]["Tool"]
    tool["properties"]["class"] = {"type": "string"}
    tool["properties"]["str"] = {"enum": ["a", "b"]}
    tool["required"] += ["class", "title"]
    del schema["$defs"]["CallToolResult"]["properties"]["isError"]
    (folder / "2025-11-25").mkdir()
    path = folder / "2025-11-25" / "schema.json"
    path.write_text(json.dumps(schema))
    old, new = load_side(str(path), Diagnostics()), load_released("2025-11-25")
    return marks_of(compare(old, new, proven=False), old, new)


@pytest.mark.slow
@pytest.mark.parametrize("step", STEPS, ids="-to-".join)
def test_stubs_are_valid_for_ty(step: tuple[str, str], tmp_path: Path) -> None:
    assert complaints(tmp_path, DEFAULT, changes(*step)) == []


def test_stubs_come_before_the_bindings_in_pythonpath(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(str(ROOT / folder) for folder in ("generated", "runtime")))
    assert complaints(tmp_path, DEFAULT, changes("2024-11-05", "2025-03-26")) == []


@pytest.mark.slow
def test_stubs_of_another_schema_are_valid_for_ty(tmp_path: Path) -> None:
    assert complaints(tmp_path, DEFAULT, mutated(tmp_path)) == []


@pytest.mark.slow
@pytest.mark.parametrize("checker", ["pyright", "pyrefly"])
def test_stubs_are_valid_for_other_checkers(checker: str, tmp_path: Path) -> None:
    every = (*(changes(*step) for step in STEPS_OF_OTHERS), mutated(tmp_path))
    assert complaints(tmp_path, checker, *every) == []


def test_untyped_code_is_affected_or_unresolved(tmp_path: Path) -> None:
    text = (Path(__file__).parent / "untyped.txt").read_text("utf-8")
    (tmp_path / "program.py").write_text(text)
    found = impact(
        Stubs(changes("2025-11-25", "2026-07-28")),
        [tmp_path],
        ["mcp_bindings.v2025_11_25"],
        CHECKERS[DEFAULT],
        Diagnostics(),
    )
    listed = {use.spot.line for use in found.touched} | {use.spot.line for use in found.unresolved}
    lines = text.splitlines()
    expected = {number for number, line in enumerate(lines, 1) if line.endswith("# impact")}
    assert sorted(expected - listed) == []
    assert len(listed - expected) * 100 <= OTHERS * (len(lines) - len(expected)), sorted(listed - expected)


BUILT = {
    "a params object as a dict": 'x = m.ListToolsRequest(params={"cursor": "1"})',
    "an unknown argument": "x = m.ListToolsRequest(parms=None)",
    "several lines": "x = m.ListToolsRequest(\n    params={}\n)",
    "a nested call": "x = print(m.PingRequest(params=1))",
}


def test_a_call_with_an_error_of_its_own_is_unresolved(tmp_path: Path) -> None:
    """A checker reports that error in place of its mark."""
    old, new = "2025-06-18", "2025-11-25"
    for number, code in enumerate(BUILT.values()):
        (tmp_path / f"c{number}.py").write_text(f"import mcp_bindings.v2025_06_18 as m\n{code}\n", "utf-8")
    stubs, packages = Stubs(changes(old, new)), ["mcp_bindings.v2025_06_18"]
    found = impact(stubs, [tmp_path], packages, CHECKERS[DEFAULT], Diagnostics())
    names = {unresolved.spot.path.name for unresolved in found.unresolved if unresolved.name.endswith("Request")}
    assert names | {t.spot.path.name for t in found.touched} == {f"c{number}.py" for number in range(len(BUILT))}
    assert names
