"""The shipped structure is what scripts/add_revision.py makes of the official files."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mcp_bindgen.ingest.prose import without_prose
from mcp_bindgen.ingest.revisions import released
from mcp_bindgen.load import load_released
from support.new_revision import NEW, new_schema, new_typescript
from support.official import official_schema, seed_typescript

ROOT = Path(__file__).resolve().parents[2]


def run(*arguments: object) -> int:
    """Run the script in a process of its own; returns its exit status."""
    script = ROOT / "scripts" / "add_revision.py"
    return asked(script, *arguments).returncode


def asked(script: Path, *arguments: object) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([sys.executable, script, *map(str, arguments)], check=False, capture_output=True, text=True)


@pytest.mark.parametrize("revision", released())
def test_structure_of_the_official_file_is_the_shipped_one(revision: str) -> None:
    official = json.loads(official_schema(revision).read_bytes())
    shipped = json.loads((ROOT / "schema" / revision / "schema.json").read_bytes())
    assert without_prose(official) == shipped


def test_a_property_called_like_prose_stays() -> None:
    node: dict[str, Any] = {"description": "gone", "properties": {"description": {"title": "gone", "type": "string"}}}
    assert without_prose(node) == {"properties": {"description": {"type": "string"}}}


def test_add_writes_both_halves_and_the_row(tmp_path: Path) -> None:
    (tmp_path / "revisions.json").write_text("[]")
    assert run("2024-11-05", official_schema("2024-11-05"), seed_typescript(), tmp_path) == 0
    written = json.loads((tmp_path / "2024-11-05" / "schema.json").read_bytes())
    assert written == json.loads((ROOT / "schema" / "2024-11-05" / "schema.json").read_bytes())
    facts = json.loads((tmp_path / "2024-11-05" / "typescript.json").read_bytes())
    assert facts["revision"] == "2024-11-05"
    assert [row["revision"] for row in json.loads((tmp_path / "revisions.json").read_bytes())] == ["2024-11-05"]


def test_a_new_revision_needs_no_code(tmp_path: Path) -> None:
    """In a copy of the repository: add it, generate, and use what is new in it."""
    for folder in ("codegen", "runtime", "schema", "scripts", "templates"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "new.json").write_text(json.dumps(new_schema()), "utf-8")
    (tmp_path / "new.ts").write_text(new_typescript(), "utf-8")
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(str(tmp_path / f) for f in ("codegen", "runtime", "generated")),
    }

    def ran(*arguments: object) -> str:
        command = [sys.executable, *map(str, arguments)]
        done = subprocess.run(command, cwd=tmp_path, env=environment, check=False, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    said = ran("scripts/add_revision.py", NEW, "new.json", "new.ts").splitlines()
    assert "schema/docs.toml: nothing describes Tree.children" in said
    assert "schema/capabilities.toml: no row for things/list; it needs one unless every peer may use it" in said
    assert not any("tools/list" in line or "server/discover" in line for line in said)
    rows = json.loads((tmp_path / "schema" / "revisions.json").read_text("utf-8"))
    assert [(row["revision"], row["era"]) for row in rows][-1] == (NEW, "modern")
    assert f"({NEW}, " in ran("-m", "mcp_bindgen", "generate")
    ran("-m", "mcp_bindgen", "generate", "--check")
    folder = f"v{NEW.replace('-', '_')}"
    assert (
        ran(
            "-c",
            f"""
from mcp_bindings import {folder} as new
tree = new.Tree.model_validate_json('{{"value": "a", "children": [{{"value": "b"}}]}}')
assert tree.children[0].value == "b"
print(sorted(set(new.METHODS) - set(__import__("mcp_bindings.v2026_07_28").v2026_07_28.METHODS)))
print(hasattr(new.Client, "list_things"), hasattr(new.ConnectedClient, "notify_thing_list_changed"))
print(type(new.CallToolResult.model_validate({{"resultType": "complete", "content": [
    {{"type": "thing", "thing": {{"value": "a"}}}}]}}).content[0]).__name__)
""",
        ).split("\n")[:3]
        == ["['notifications/things/list_changed', 'things/list']", "True True", "ThingContent"]
    )
    assert "things/list" in ran("-m", "mcp_bindgen", "diff", "2026-07-28", NEW, "--fail-on", "never", "--all")


def test_the_era_of_each_revision_is_that_of_its_methods() -> None:
    assert {revision: load_released(revision).era.value for revision in released()} == {
        revision: row.era for revision, row in released().items()
    }


def test_bad_input_writes_nothing(tmp_path: Path) -> None:
    (tmp_path / "revisions.json").write_text("[]")
    broken = tmp_path / "schema.json"
    broken.write_text("{")
    assert run("2031-01-01", broken, broken, tmp_path) == 2
    assert not (tmp_path / "2031-01-01").exists()
