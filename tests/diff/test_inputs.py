"""Both sides are read from the same kinds of files."""

import json
from pathlib import Path

import pytest

from mcp_bindgen.diagnostics import Diagnostics
from mcp_bindgen.diff.inputs import load_sides
from mcp_bindgen.diff.source.compare import compare_definitions
from mcp_bindgen.diff.wire.compare import compare_messages
from mcp_bindgen.ingest.revisions import shipped_source
from mcp_bindgen.ingest.sources import SourceKind
from support.official import seed_typescript
from support.samples import OLDEST_IS_QUICK
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
