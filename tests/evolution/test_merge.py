"""Proposals are applied one after the other; what two of them change differently is a conflict that names both."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mcp_bindgen.evolution.merge import Proposed, merge
from mcp_bindgen.ingest.revisions import released, shipped_source
from mcp_bindgen.ingest.sources import SourceKind
from mcp_bindgen.ingest.typescript import read_typescript
from mcp_bindgen.ingest.typescript_facts import facts_from_document, render_typescript
from mcp_bindgen.ir.diagnostics import Diagnostics
from support.command import Cli
from support.official import upstream

NEWEST = list(released())[-1]
PROPOSALS = upstream() / "proposals"
NAMES = sorted(path.name for path in PROPOSALS.iterdir()) if PROPOSALS.is_dir() else []


def facts_of(text: str) -> dict[str, Any]:
    diagnostics = Diagnostics()
    document = read_typescript(text, "schema.ts", diagnostics)
    assert not diagnostics.errors
    return facts_from_document(document, text)


def newest() -> str:
    return render_typescript(json.loads(shipped_source(NEWEST, SourceKind.TYPESCRIPT).data))


@pytest.fixture
def proposed(tmp_path: Path) -> Callable[..., Path]:
    """Write the newest schema.ts with one text replaced by another."""

    def write(name: str, old: str, new: str) -> Path:
        text = newest()
        assert text.count(old) == 1
        path = tmp_path / f"{name}.ts"
        path.write_text(text.replace(old, new), "utf-8")
        return path

    return write


KEYWORDS = "export interface Implementation\n  extends BaseMetadata\n  , Icons\n{\n"


@pytest.mark.skipif(not NAMES, reason="the proposals are not here (set MCP_UPSTREAM)")
@pytest.mark.parametrize("name", NAMES)
def test_what_a_proposal_changes_applied_to_its_base_is_the_proposal(name: str) -> None:
    base, head = (facts_of((PROPOSALS / name / file).read_text("utf-8")) for file in ("base.ts", "head.ts"))
    merged = facts_of(merge("base", base, [Proposed(name=name, base=base, head=head)]))
    assert _sorted(merged) == _sorted(head)
    assert _sorted(facts_of(merge("head", head, [Proposed(name=name, base=base, head=head)]))) == _sorted(head)


def _sorted(facts: dict[str, Any]) -> Any:
    """Return facts without the order of declarations and of alternatives, which mean nothing."""
    texts = [json.dumps(each, sort_keys=True).replace('": "| ', '": "') for each in facts["declarations"]]
    return sorted(texts), facts["constants"]


@pytest.mark.slow
@pytest.mark.skipif(not NAMES, reason="the proposals are not here (set MCP_UPSTREAM)")
def test_the_order_of_proposals_that_do_not_conflict_makes_no_difference(cli: Cli, tmp_path: Path) -> None:
    names = ["2614", "2632", "662"]
    for folder, order in (("there", names), ("back", names[::-1])):
        heads = [PROPOSALS / name / "head.ts" for name in order]
        bases = [word for name in order for word in ("--base", PROPOSALS / name / "base.ts")]
        cli("proposal", *heads, *bases, "--onto", NEWEST, "--output", tmp_path / "report", "--out", tmp_path / folder)
    there, back = (facts_of((tmp_path / folder / "schema.ts").read_text("utf-8")) for folder in ("there", "back"))
    assert _sorted(there) == _sorted(back) != _sorted(facts_of(newest()))


def test_alternatives_that_two_add_to_one_union_are_both_there(cli: Cli, proposed: Callable[..., Path]) -> None:
    union = "export type ContentBlock =\n  "
    first = proposed("first", union, f'export interface Song {{ type: "song"; }}\n{union}Song | ')
    second = proposed("second", union, f'export interface Film {{ type: "film"; }}\n{union}Film | ')
    found = cli("proposal", first, second, "--format", "json").json
    added = {
        f["new"] for f in found["diff"]["findings"] if f["rule"] == "union-member-added" and "CallTool" in f["place"]
    }
    assert added == {"Song", "Film"}


def test_a_conflict_names_both_proposals(cli: Cli, proposed: Callable[..., Path]) -> None:
    first = proposed("first", KEYWORDS, f"{KEYWORDS}  keywords?: string[];\n")
    second = proposed("second", KEYWORDS, f"{KEYWORDS}  keywords?: number;\n")
    told = cli("proposal", first, second, expect=2).err
    assert told == (
        f"error: {second}: changes Implementation.keywords, which {first} changed too; leave one of them out\n"
    )


def test_what_the_target_lacks_is_a_conflict_with_it(cli: Cli, proposed: Callable[..., Path], tmp_path: Path) -> None:
    base, head = tmp_path / "base.ts", tmp_path / "head.ts"
    base.write_text(f"{newest()}export interface Gone {{ x: string }}\n", "utf-8")
    head.write_text(f"{newest()}export interface Gone {{ x: string; y?: string }}\n", "utf-8")
    told = cli("proposal", head, "--base", base, "--onto", NEWEST, expect=2).err
    assert told == f"error: {head}: changes Gone, which {NEWEST} does not have; leave one of them out\n"
