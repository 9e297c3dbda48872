"""Every available state of the official schema files: read, generated, imported, and type-checked.

The states are folders of $MCP_UPSTREAM/history, each named after its commit, with a schema.json and a schema.ts.
states.json lists for each, for both files and for each alone, the number of opaque facts, or "malformed".
`UPDATE_GOLDEN=1` rewrites the file.
"""

import json
import os
from collections.abc import Callable, Mapping
from functools import cache
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from functional.generated import REVISION, emitted
from mcp_bindgen.diff.wire.compare import compare_messages
from mcp_bindgen.ingest.sources import read_source
from mcp_bindgen.ingest.typescript import read_typescript
from mcp_bindgen.ingest.typescript_facts import facts_from_document, render_typescript
from mcp_bindgen.ir.diagnostics import Diagnostics, InputError
from mcp_bindgen.ir.nodes import Protocol
from mcp_bindgen.ir.spell import opaque_facts
from mcp_bindgen.load.protocol import load_sources
from support.checkers import mypy, pyright
from support.official import upstream
from support.samples import REVISIONS, typescript_source
from support.sampling import sampled

ROOT = Path(__file__).resolve().parents[2]
LEDGER = Path(__file__).with_name("states.json")
HALVES: Mapping[str, tuple[str, ...]] = {
    "both": ("schema.json", "schema.ts"),
    "json": ("schema.json",),
    "typescript": ("schema.ts",),
}
STATES = sorted(path.name for path in (upstream() / "history").glob("*/") if (path / "schema.ts").is_file())


def known() -> dict[str, dict[str, int | str]]:
    found: dict[str, dict[str, int | str]] = json.loads(LEDGER.read_text("utf-8"))
    return found


@cache
def protocol(state: str, half: str) -> Protocol | None:
    """Load a state; None if it is refused."""
    sources = [read_source(str(upstream() / "history" / state / name)) for name in HALVES[half]]
    try:
        return load_sources(sources, REVISION, Diagnostics())
    except InputError:
        return None


def verdict(state: str) -> dict[str, int | str]:
    loaded = {half: protocol(state, half) for half in HALVES}
    return {half: "malformed" if found is None else len(list(opaque_facts(found))) for half, found in loaded.items()}


@pytest.mark.slow
def test_the_ledger_is_exact() -> None:
    if not STATES:
        pytest.skip("the states are missing (set MCP_UPSTREAM)")
    found = {state: verdict(state) for state in STATES}
    if os.environ.get("UPDATE_GOLDEN"):
        LEDGER.write_text(json.dumps({**known(), **found}, indent=2, sort_keys=True) + "\n", "utf-8")
    ledger = known()
    assert found == {state: ledger.get(state) for state in STATES}


def test_only_three_states_are_malformed() -> None:
    refused = [state for state, halves in known().items() if halves["both"] == "malformed"]
    assert refused == ["2025-05-30-ace88165", "2025-11-14-78660338", "2025-11-14-c1621d0c"]


@pytest.mark.slow
@pytest.mark.parametrize("state", STATES)
def test_it_generates_and_imports(state: str, unique: Callable[[Mapping[str, str]], Any]) -> None:
    loaded = protocol(state, "both") or protocol(state, "typescript")
    if loaded is None:
        assert known()[state]["typescript"] == "malformed"
        return
    module = unique(emitted(loaded))
    assert set(module.METHODS) == {method.name for method in loaded.methods}


@pytest.mark.parametrize("state", [*REVISIONS, *(pytest.param(state, marks=pytest.mark.slow) for state in STATES)])
def test_it_does_not_differ_from_its_structure(state: str) -> None:
    """What typescript.json keeps of a schema.ts says all that the file says about messages."""
    folder = upstream() / state if state in REVISIONS else upstream() / "history" / state
    if not folder.is_dir():
        pytest.skip("the official files are missing (set MCP_UPSTREAM)")
    text = (folder / "schema.ts").read_text("utf-8")
    facts = facts_from_document(read_typescript(text, "schema.ts", Diagnostics()), text)
    sources = [typescript_source(text), typescript_source(render_typescript(facts))]
    try:
        old, new = (load_sources([source], "unreleased", Diagnostics()) for source in sources)
    except InputError:
        assert known()[state]["typescript"] == "malformed"
        return
    assert compare_messages(old, new) == ()


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_they_type_check_strictly(tmp_path: Path) -> None:
    packages = tmp_path / "states"
    packages.mkdir()
    (packages / "__init__.py").touch()
    # Each state in one way; with LONG=1, each in all of them.
    halves = cycle(HALVES)
    for state in sampled(STATES, 6):
        for half in HALVES if os.environ.get("LONG") else (next(halves),):
            loaded = protocol(state, half)
            if loaded is not None:
                name = f"s_{state.replace('-', '_')}_{half}"
                install_files(packages / name, emitted(loaded))
    paths = os.pathsep.join(map(str, (tmp_path, ROOT / "runtime")))
    config = {"include": ["states"], "typeCheckingMode": "strict", "extraPaths": [str(ROOT / "runtime")]}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(config), "utf-8")
    for run in (pyright(tmp_path), mypy(tmp_path, "-p", "states", path=paths)):
        assert run.returncode == 0, run.stdout[-3000:]


def install_files(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
