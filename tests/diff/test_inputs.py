"""Both sides are read from the same kinds of files."""

import json
import re
from pathlib import Path

import pytest

from mcp_bindgen.diff.inputs import load_sides
from mcp_bindgen.diff.source.compare import compare_definitions
from mcp_bindgen.diff.wire.compare import compare_messages
from mcp_bindgen.ingest.revisions import shipped_source
from mcp_bindgen.ingest.sources import SourceKind
from mcp_bindgen.ingest.typescript_facts import render_typescript
from mcp_bindgen.ir.diagnostics import Diagnostics
from support.official import seed_typescript
from support.samples import OLDEST_IS_QUICK, REVISIONS
from support.source_view import found


@pytest.mark.parametrize("revision", OLDEST_IS_QUICK)
def test_only_the_edit_of_a_copy_is_found(revision: str, tmp_path: Path) -> None:
    """A schema.json that differs from its schema.ts is used alone; still, only the edit is found."""
    schema = json.loads(shipped_source(revision, SourceKind.JSON_SCHEMA).data)
    definitions = schema["$defs" if "$defs" in schema else "definitions"]
    definitions["Tool"]["properties"]["extra"] = {"type": "string"}
    copy = tmp_path / revision / "schema.json"
    copy.parent.mkdir()
    copy.write_text(json.dumps(schema), "utf-8")
    for sides, rule in ((revision, str(copy)), "added"), ((str(copy), revision), "removed"):
        old, new = load_sides(*sides, Diagnostics())
        assert old.revision == new.revision == revision
        assert [(f.rule.id, f.place) for f in compare_messages(old, new)] == [
            (f"property-{rule}-optional", "Tool.extra")
        ]
        assert [f.rule.id for f in compare_definitions(old, new)] == ["same-revision-changed"]
        assert [m.capability for m in old.methods if m.name == "tools/call"] == ["server.tools"]


def test_both_files_of_a_released_revision_are_read() -> None:
    old, new = load_sides("2025-06-18", "2025-11-25", Diagnostics())
    assert all({s.kind for s in side.sources} == {"schema.json", "schema.ts"} for side in (old, new))


def test_a_schema_ts_is_compared_alone() -> None:
    """Then it is compared as it is, and the source view omits what only schema.ts can express."""
    old, new = load_sides(str(seed_typescript()), "2024-11-05", Diagnostics())
    assert [f.place for f in compare_messages(old, new) if f.place.startswith("Resource")] == ["Resource.size"]
    assert [rule for rule, *_ in found(compare_definitions(old, new))] == ["same-revision-changed"]


_ASSERTION = re.compile(r"@(minimum|maximum|maxItems|TJS-type) \w+ ?")


@pytest.mark.parametrize("word", ["maxItems", "minimum", "TJS-type"])
@pytest.mark.parametrize(
    "revision", [pytest.param(r, marks=[] if r == REVISIONS[-1] else pytest.mark.slow) for r in REVISIONS]
)
def test_an_assertion_that_leaves_a_schema_ts_is_found(word: str, revision: str, tmp_path: Path) -> None:
    """The shipped schema.json still has it: a draft that keeps the date is then read alone."""
    text = render_typescript(json.loads(shipped_source(revision, SourceKind.TYPESCRIPT).data))
    copy = tmp_path / "schema.ts"
    for tag in [tag for tag in _ASSERTION.finditer(text) if tag[1] == word][:2]:
        copy.write_text(text[: tag.start()] + text[tag.end() :], "utf-8")
        diagnostics = Diagnostics()
        old, new = load_sides(revision, str(copy), diagnostics)
        assert (len(old.sources), len(new.sources)) == (2, 1)
        assert any("this file is used alone" in str(each) for each in diagnostics)
        if word != "TJS-type":  # The numbers of some names are fractions wherever a revision has them.
            assert {f.rule.id for f in compare_messages(old, new)} == {"constraint-removed"}
            assert {f.rule.id for f in compare_messages(new, old)} == {"constraint-added"}


@pytest.mark.parametrize(
    ("revision", "place", "word", "value"),
    [
        ("2026-07-28", "CompleteResult.completion.values", "maxItems", 101),
        ("2026-07-28", "Annotations.priority", "minimum", 1),
        ("2025-11-25", "ProgressNotificationParams.progress", "type", "integer"),
        ("2025-11-25", "Tool.title", "minLength", 1),
    ],
)
def test_an_assertion_that_changes_in_a_schema_json_is_found(
    revision: str, place: str, word: str, value: object, tmp_path: Path
) -> None:
    schema = json.loads(shipped_source(revision, SourceKind.JSON_SCHEMA).data)
    name, *path = place.split(".")
    node = schema["$defs"][name]
    for part in path:
        node = node["properties"][part]
    node[word] = value
    copy = tmp_path / revision / "schema.json"
    copy.parent.mkdir()
    copy.write_text(json.dumps(schema), "utf-8")
    old, new = load_sides(revision, str(copy), Diagnostics())
    assert compare_messages(old, new)
    assert compare_messages(new, old)
