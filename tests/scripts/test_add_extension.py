"""The structure of a shipped extension is what the script takes from the official file."""

import shutil
from pathlib import Path

import pytest
from scripts.add_extension import add, main

from mcp_bindgen.ingest.extensions import shipped_extensions
from mcp_bindgen.ingest.paths import shipped
from mcp_bindgen.ingest.sources import read_source
from support.extensions import OFFICIAL, TASKS, official


@pytest.mark.parametrize(("id", "name", "file"), OFFICIAL)
def test_it_writes_the_committed_structure(id: str, name: str, file: str, tmp_path: Path) -> None:
    assert add(shipped_extensions()[id], read_source(str(official(name, file))), tmp_path) == []
    path = Path("extensions", name, "typescript.json")
    assert (tmp_path / path).read_text("utf-8") == (shipped("schema") / path).read_text("utf-8")


def test_another_file_needs_another_sha256(tmp_path: Path) -> None:
    source = shutil.copy(official("tasks"), tmp_path / "schema.ts")
    Path(source).write_text(Path(source).read_text("utf-8") + "\n", "utf-8")
    (left,) = add(shipped_extensions()[TASKS], read_source(str(source)), tmp_path)
    assert left.startswith(f'schema/extensions.toml: ["{TASKS}"] sha256 = "')


def test_an_extension_without_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["com.acme/orders", "orders.ts"]) == 2
    assert "com.acme/orders: it has no table in schema/extensions.toml" in capsys.readouterr().err
