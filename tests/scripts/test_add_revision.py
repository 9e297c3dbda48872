"""The shipped structure is what tools/scripts/add_revision.py writes for the official files."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from scripts.add_revision import without_prose

from mcp_bindgen.ingest.places import by_path, typescript_places
from mcp_bindgen.ingest.revisions import released
from mcp_bindgen.ingest.typescript import read_typescript
from mcp_bindgen.ir.diagnostics import Diagnostics
from mcp_bindgen.load.protocol import load_released
from support.official import official_schema, official_typescript, seed_typescript

ROOT = Path(__file__).resolve().parents[2]


def run(*arguments: object) -> int:
    """Run the script in its own process; return its exit status."""
    command = [sys.executable, str(ROOT / "tools" / "scripts" / "add_revision.py"), *map(str, arguments)]
    return subprocess.run(command, check=False, capture_output=True).returncode


@pytest.mark.parametrize("revision", released())
def test_the_shipped_structure_is_that_of_the_official_file(revision: str) -> None:
    official = json.loads(official_schema(revision).read_bytes())
    shipped = json.loads((ROOT / "schema" / revision / "schema.json").read_bytes())
    assert without_prose(official) == shipped


@pytest.mark.parametrize("revision", released())
def test_the_shipped_lines_are_those_of_the_official_file(revision: str) -> None:
    document = read_typescript(official_typescript(revision).read_text("utf-8"), "schema.ts", Diagnostics())
    shipped = json.loads((ROOT / "schema" / revision / "lines.json").read_bytes())
    assert {path: where.line for path, where in by_path(typescript_places(document)).items()} == shipped


def test_a_property_named_description_is_kept() -> None:
    node: dict[str, Any] = {"description": "gone", "properties": {"description": {"title": "gone", "type": "string"}}}
    assert without_prose(node) == {"properties": {"description": {"type": "string"}}}


@pytest.mark.slow
def test_add_writes_both_halves_and_the_row(tmp_path: Path) -> None:
    (tmp_path / "revisions.json").write_text("[]")
    assert run("2024-11-05", official_schema("2024-11-05"), seed_typescript(), tmp_path) == 0
    written = json.loads((tmp_path / "2024-11-05" / "schema.json").read_bytes())
    assert written == json.loads((ROOT / "schema" / "2024-11-05" / "schema.json").read_bytes())
    lines: dict[str, int] = json.loads((tmp_path / "2024-11-05" / "lines.json").read_bytes())
    assert seed_typescript().read_text("utf-8").splitlines()[lines["Tool.name"] - 1].strip() == "name: string;"
    facts = json.loads((tmp_path / "2024-11-05" / "typescript.json").read_bytes())
    assert facts["revision"] == "2024-11-05"
    assert [row["revision"] for row in json.loads((tmp_path / "revisions.json").read_bytes())] == ["2024-11-05"]


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
