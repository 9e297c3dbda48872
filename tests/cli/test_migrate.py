"""`mcp-bindgen migrate`: a guide that a person can work through."""

import json
import re
from itertools import pairwise
from pathlib import Path

import pytest

from mcp_bindgen.ingest.revisions import released
from support.command import Cli

PAIRS = list(pairwise(released()))
MAX_LINES = 480


@pytest.mark.parametrize(("old", "new"), PAIRS, ids="_to_".join)
def test_every_real_pair_has_a_guide(cli: Cli, old: str, new: str) -> None:
    text = cli("migrate", old, new).out
    lines = text.splitlines()
    assert lines[0] == f"# From {old} to {new}"
    headings = [line for line in lines if line.startswith("## ")]
    assert headings == [
        "## Checklist",
        "## For client authors",
        "## For server authors",
        "## For code that uses the bindings",
        "## What is new",
    ]
    assert len(lines) < MAX_LINES
    assert "\n\n\n" not in text
    for box in re.findall(r"^- \[.*$", text, re.MULTILINE):
        assert box.startswith(("- [ ] ", "- [x] nothing"))
    assert text == cli("migrate", old, new).out


@pytest.mark.parametrize(("old", "new"), PAIRS, ids="_to_".join)
def test_its_examples_are_messages(cli: Cli, old: str, new: str) -> None:
    text = cli("migrate", old, new).out
    blocks = re.findall(r"```jsonc\n(.*?)```", text, re.DOTALL)
    assert blocks
    for block in blocks:
        parts = [line.strip() for line in block.strip().splitlines()]
        assert {part.removeprefix("// ") for part in parts if part.startswith("//")} <= {old, new}
        messages = [json.loads(part) for part in parts if not part.startswith("//") and not part.endswith("...")]
        assert messages == [] or all(isinstance(message, dict | list) for message in messages)
        assert len(messages) < 2 or messages[0] != messages[1]


def test_who_has_to_do_what(cli: Cli) -> None:
    text = cli("migrate", "2024-11-05", "2025-03-26").out
    client, server = text.split("## For client authors")[1].split("## For server authors")
    assert "- `CallToolResult.content[]: AudioContent`; in `tools/call`" in client
    assert '{"type": "audio", "data": "aGVsbG8=", "mimeType": "text/plain"}' in client
    assert "CallToolResult" not in server.split("## For code")[0]
    assert "- `CallToolResult`: `content`" in server.split("## For code")[1]


def test_names_of_the_bindings_are_python_names(cli: Cli) -> None:
    text = cli("migrate", "2025-11-25", "2026-07-28").out.split("## For code that uses the bindings")[1]
    assert "- `ListToolsResult`: `cache_scope=...`, `result_type=...`, `ttl_ms=...`" in text
    assert "- `RequestParamsMeta` is `RequestMetaObject`" in text
    assert "`notify_initialized()`" in text
    assert "- `Tool`: `execution`" in text


def test_advice_suits_the_role(cli: Cli) -> None:
    text = cli("migrate", "2025-03-26", "2025-06-18").out
    client = text.split("## For client authors")[1].split("## For server authors")[0]
    assert "Send it to peers of the new revision only" not in client
    assert "Answer it" in client


def test_nothing_to_do(cli: Cli) -> None:
    assert cli("migrate", "2025-11-25", "2025-11-25").out == (
        "# From 2025-11-25 to 2025-11-25\n\nNothing changed: there is nothing to do.\n"
    )


def test_it_goes_to_a_file(cli: Cli, tmp_path: Path) -> None:
    outcome = cli("migrate", "2025-03-26", "2025-06-18", "--output", tmp_path / "guide.md")
    assert outcome.out == f"wrote {tmp_path / 'guide.md'}\n"
    assert (tmp_path / "guide.md").read_text("utf-8") == cli("migrate", "2025-03-26", "2025-06-18").out


def test_bad_input(cli: Cli, tmp_path: Path) -> None:
    assert "neither a released revision" in cli("migrate", "2019-01-01", "2025-06-18", expect=2).err
    place = tmp_path / "missing" / "guide.md"
    assert cli("migrate", "2025-03-26", "2025-06-18", "--output", place, expect=2).out == ""


def test_names_from_a_schema_cannot_break_out_of_the_text(cli: Cli, tmp_path: Path) -> None:
    root = Path(__file__).resolve().parents[2]
    schema = json.loads((root / "schema" / "2025-11-25" / "schema.json").read_bytes())
    name = "a`b\n# heading <img src=x>"
    schema["$defs"]["Tool"]["properties"][name] = {"type": "string"}
    schema["$defs"]["Tool"]["required"].append(name)
    (tmp_path / "schema.json").write_text(json.dumps(schema))
    text = cli("migrate", "2025-11-25", tmp_path / "schema.json").out
    assert "\n# heading" not in text
    outside = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", re.sub(r"```jsonc.*?```", "", text, flags=re.DOTALL))
    assert "<img" not in outside
