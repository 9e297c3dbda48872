"""Mistakes in schemas, as issues: each has a message that one of the two files accepts and the other refuses."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from differential.subjects import Judge
from mcp_bindgen.ingest.revisions import released, shipped_source
from mcp_bindgen.ingest.sources import SourceKind
from mcp_bindgen.load.protocol import load_released
from mcp_runtime.core.method import WireType
from support.command import Cli
from support.official import official_schema


@pytest.mark.parametrize("revision", released())
def test_each_contradiction_is_an_issue_with_a_message_that_proves_it(cli: Cli, revision: str) -> None:
    page = cli("errata", revision, "--format", "issue").out
    contradictions = {erratum.pointer for erratum in load_released(revision).errata if erratum.contradiction}
    titles = re.findall(r"^# schema.json and schema.ts of \S+ disagree at `(.*)`$", page, re.MULTILINE)
    assert sorted(titles) == sorted(contradictions)
    messages = [json.loads(block) for block in re.findall(r"```json\n(.*?)```", page, re.DOTALL)]
    assert len(messages) == len(titles)
    assert all(_is_proof(message, revision) for message in messages)


def _is_proof(message: dict[str, Any], revision: str) -> bool:
    """Whether the official schema.json refuses a message, or its result, that our types accept."""
    judge = Judge(json.loads(official_schema(revision).read_bytes()))
    package = f"mcp_bindings.v{revision.replace('-', '_')}"
    methods = load_released(revision).methods
    if "method" in message:
        names, value = [method.message for method in methods if method.name == message["method"]], message
    else:
        names, value = [method.result for method in methods if method.result], message["result"]
    return any(not judge.accepts(name, value) and _is_ours(WireType[Any](package, name), value) for name in names)


def _is_ours(type_: WireType[Any], value: Any) -> bool:
    try:
        type_.decode(json.dumps(value).encode())
    except ValidationError:
        return False
    return True


@pytest.mark.slow
def test_a_comment_on_a_proposal_names_what_its_text_leaves_out(cli: Cli, tmp_path: Path) -> None:
    page = tmp_path / "oven.md"
    page.write_text("Ovens.\n```ts\ninterface Implementation { oven: string; }\n```\n", "utf-8")
    text = tmp_path / "text.md"
    text.write_text("Nothing about it.", "utf-8")
    told = cli("proposal", page, "--text", text, "--format", "issue").out
    assert "- `oven`: `-` -> `string`, in `Implementation.oven`\n\n  A message that one of the two schemas" in told
    assert "no description for Implementation.oven" in told
    assert "No text was given." in cli("proposal", page, "--format", "issue").out


def test_issues_are_about_released_revisions(cli: Cli, tmp_path: Path) -> None:
    schema = tmp_path / "schema.json"
    schema.write_bytes(shipped_source("2025-11-25", SourceKind.JSON_SCHEMA).data)
    told = cli("errata", "--schema", schema, "--format", "issue", expect=2).err
    assert told == "error: --schema: issues are about released revisions; leave it out\n"
