"""`mcp-bindgen check` on servers that others wrote: each finding was confirmed by hand against its page."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest

from interop.processes import SDK1, SDK2, node_server, python_server
from support.command import Cli
from support.documents import ROOT

pytestmark = pytest.mark.interop

BATCHES: Final = "error batches.received"
NOT_FOUND: Final = "warning resources.not-found"
COMPLETION: Final = "warning completion.invalid-params"
PAGINATION: Final = "warning pagination.invalid"
FOUND: Final[Mapping[str, tuple[str, ...]]] = {
    "everything": (BATCHES, "warning logging.invalid-level", NOT_FOUND),
    "filesystem": (BATCHES,),
    "memory": (BATCHES, NOT_FOUND),
    "sequential-thinking": (BATCHES,),
    "mcp_server_time": (BATCHES, "warning prompts.unknown", NOT_FOUND),
    "mcp-1.30.0": (BATCHES, "error tasks.unknown-cursor", COMPLETION, PAGINATION),
    "mcp-2.3.0": (BATCHES, "error resources.unknown", COMPLETION, PAGINATION),
}
"""What is found in the servers, and nothing else; docs/check.md has the same table, for people."""


def command(name: str, folder: Path) -> tuple[str, ...]:
    for side in (SDK1, SDK2):
        if name == side.name:
            return side.server_command()
    if name == "mcp_server_time":
        return python_server(name)
    return node_server(name, *([str(folder)] if name == "filesystem" else []))


@pytest.mark.parametrize("name", FOUND)
def test_the_findings_are_those_confirmed_by_hand(cli: Cli, name: str, tmp_path: Path) -> None:
    words = (
        "--env",
        f"MEMORY_FILE_PATH={tmp_path / 'memory.json'}",
        "--format",
        "json",
        "--",
        *command(name, tmp_path),
    )
    found = json.loads(cli("check", *words, expect=1).out)["findings"]
    told = [f"{each['severity']} {each['requirement']}" for each in found if each["severity"] != "note"]
    assert sorted(told) == sorted(FOUND[name])


def test_the_page_has_the_same_findings() -> None:
    page = (ROOT / "docs" / "check.md").read_text("utf-8")
    for name, findings in FOUND.items():
        (row,) = (line for line in page.splitlines() if line.startswith(f"| {name} "))
        assert [finding for finding in findings if f"`{finding.split()[1]}`" not in row] == []
