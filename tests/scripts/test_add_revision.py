"""The shipped structure is what scripts/add_revision.py writes for the official files."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mcp_bindgen.ingest.prose import without_prose
from mcp_bindgen.ingest.revisions import released
from mcp_bindgen.load import load_released
from support.new_revision import CAPABILITIES, DOCS, NEW, new_schema, new_typescript
from support.official import official_schema, seed_typescript
from support.official import upstream as official

ROOT = Path(__file__).resolve().parents[2]
LEFT_OUT = ("__pycache__", ".git", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".venv*", "dist")
"""Files made by tools, which a copy of the repository does not need."""
NOT_IN_THE_COPY = ("tests/scripts/test_add_revision.py::test_a_new_revision_needs_no_code",)
"""Tests that add the new revision themselves."""
LISTING = (
    "tests/cli/test_commands.py",
    "tests/diff/test_gates.py",
    "tests/emit/python/test_modules.py",
    "tests/functional/test_packages.py",
    "tests/ingest/test_docs.py",
    "tests/ir/test_methods.py",
    "tests/merge/test_reconcile.py",
    "tests/repo",
)
"""Tests of what is derived from the list of revisions, in addition to the tests of each revision."""


def run(*arguments: object) -> int:
    """Run the script in its own process; return its exit status."""
    script = ROOT / "scripts" / "add_revision.py"
    return run_script(script, *arguments).returncode


def run_script(script: Path, *arguments: object) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([sys.executable, script, *map(str, arguments)], check=False, capture_output=True, text=True)


@pytest.mark.parametrize("revision", released())
def test_the_shipped_structure_is_that_of_the_official_file(revision: str) -> None:
    official = json.loads(official_schema(revision).read_bytes())
    shipped = json.loads((ROOT / "schema" / revision / "schema.json").read_bytes())
    assert without_prose(official) == shipped


def test_a_property_named_description_is_kept() -> None:
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


def copied(folder: Path) -> tuple[Path, dict[str, str]]:
    """Copy the repository, and put the official files of the new revision beside it; return it with its environment."""
    repository, upstream = folder / "repository", folder / "upstream"
    shutil.copytree(ROOT, repository, ignore=shutil.ignore_patterns(*LEFT_OUT))
    (upstream / NEW).mkdir(parents=True)
    (upstream / NEW / "schema.json").write_text(json.dumps(new_schema()), "utf-8")
    (upstream / NEW / "schema.ts").write_text(new_typescript(), "utf-8")
    roots = (repository / name for name in ("codegen", "runtime", "generated"))
    return repository, {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, roots))}


def ran(folder: Path, environment: dict[str, str], *arguments: object) -> str:
    command = [sys.executable, *map(str, arguments)]
    done = subprocess.run(command, cwd=folder, env=environment, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    return done.stdout


def add_new(folder: Path, environment: dict[str, str]) -> list[str]:
    """Add the new revision; return what is left to do."""
    files = (f"../upstream/{NEW}/{name}" for name in ("schema.json", "schema.ts"))
    return ran(folder, environment, "scripts/add_revision.py", NEW, *files).splitlines()


@pytest.mark.slow
def test_a_new_revision_needs_no_code(tmp_path: Path) -> None:
    """In a copy of the repository: add it, generate, and use what is new in it."""
    repository, environment = copied(tmp_path)
    output = add_new(repository, environment)
    assert "schema/docs.toml: nothing describes Tree.children" in output
    assert "schema/capabilities.toml: no row for things/list; it needs one unless every peer may use it" in output
    assert not any("tools/list" in line or "server/discover" in line for line in output)
    rows = json.loads((repository / "schema" / "revisions.json").read_text("utf-8"))
    assert [(row["revision"], row["era"]) for row in rows][-1] == (NEW, "modern")
    assert f"({NEW}, " in ran(repository, environment, "-m", "mcp_bindgen", "generate")
    ran(repository, environment, "-m", "mcp_bindgen", "generate", "--check")
    folder = f"v{NEW.replace('-', '_')}"
    newest = f"v{list(released())[-1].replace('-', '_')}"
    code = f"""
from mcp_bindings import {folder} as new, {newest} as newest
tree = new.Tree.model_validate_json('{{"value": "a", "children": [{{"value": "b"}}]}}')
assert tree.children[0].value == "b"
print(sorted(set(new.METHODS) - set(newest.METHODS)))
print(hasattr(new.Client, "list_things"), hasattr(new.ConnectedClient, "notify_thing_list_changed"))
print(type(new.CallToolResult.model_validate({{"resultType": "complete", "content": [
    {{"type": "thing", "thing": {{"value": "a"}}}}]}}).content[0]).__name__)
"""
    assert ran(repository, environment, "-c", code).split("\n")[:3] == [
        "['notifications/things/list_changed', 'things/list']",
        "True True",
        "ThingContent",
    ]
    report = ran(repository, environment, "-m", "mcp_bindgen", "diff", "2026-07-28", NEW, "--fail-on", "never", "--all")
    assert "things/list" in report


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_the_suite_passes_with_a_new_revision(tmp_path: Path) -> None:
    """The tests of every revision, and of what is derived from the list of them; LONG=1 runs the whole suite."""
    repository, environment = copied(tmp_path)
    if official().is_dir():
        for path in [*official().iterdir(), official().parent / "seeds"]:
            home = tmp_path / "seeds" if path.name == "seeds" else tmp_path / "upstream" / path.name
            home.symlink_to(path.resolve())
        environment["MCP_UPSTREAM"] = str(tmp_path / "upstream")
    else:
        environment["MCP_UPSTREAM"] = str(tmp_path / "nowhere")
    add_new(repository, environment)
    docs = repository / "schema" / "docs.toml"
    docs.write_text(docs.read_text("utf-8") + DOCS, "utf-8")
    capabilities = repository / "schema" / "capabilities.toml"
    text = capabilities.read_text("utf-8")
    for before, after in CAPABILITIES.items():
        assert text.count(before) == 1
        text = text.replace(before, after)
    capabilities.write_text(text, "utf-8")
    ran(repository, environment, "-m", "mcp_bindgen", "generate")
    ran(repository, environment, "scripts/picture.py")
    quick = "not slow and not packaging and not interop and not soak"
    pytest_ = ("-m", "pytest", "-q", "-n", "2", "-m", quick, *(f"--deselect={test}" for test in NOT_IN_THE_COPY))
    if os.environ.get("LONG"):
        ran(repository, environment, *pytest_)
        return
    output = ran(repository, environment, *pytest_, "-k", NEW)
    passed = re.search(r"(\d+) passed", output)
    assert passed and int(passed[1]) > 150
    ran(repository, environment, *pytest_, "-k", f"not {NEW}", *LISTING)


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
