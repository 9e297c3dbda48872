"""The report on a proposal: what `diff` says, what the text leaves out, the bridge to the base, and what is left."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from mcp_bindgen.bridge import report as bridges
from mcp_bindgen.bridge.derive import Bridge, derive
from mcp_bindgen.bridge.rows import Rows
from mcp_bindgen.diff.compare import compare
from mcp_bindgen.diff.report import json, text, words
from mcp_bindgen.diff.report.model import Report
from mcp_bindgen.diff.report.options import Options
from mcp_bindgen.diff.report.sides import report_on
from mcp_bindgen.emit.swap import write_trees
from mcp_bindgen.evolution.by_hand import ByHand, by_hand
from mcp_bindgen.evolution.prose import Unmentioned, unmentioned
from mcp_bindgen.evolution.read import Sides
from mcp_bindgen.findings.baseline import Baseline
from mcp_bindgen.generate.plan import plan
from mcp_bindgen.ingest.paths import shown, write_file
from mcp_bindgen.ingest.sources import SourceText, decode
from mcp_bindgen.ir.diagnostics import Diagnostic, Diagnostics, plain
from mcp_bindgen.project.request import settle
from mcp_bindgen.project.settings import Settings

PACKAGE = "proposal_bindings"
"""The package of a proposal's bindings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """What was found out about a proposal; `unmentioned` is None if no text was given.

    `warnings` are those on the schema that its base does not have.
    """

    diff: Report
    unmentioned: tuple[Unmentioned, ...] | None
    warnings: tuple[Diagnostic, ...]
    bridge: Bridge
    by_hand: tuple[ByHand, ...]

    def as_json(self) -> Mapping[str, Any]:
        """Return everything as JSON values."""
        return {
            "diff": json.as_json(self.diff),
            "unmentioned": None if self.unmentioned is None else [asdict(each) for each in self.unmentioned],
            "warnings": [str(each) for each in self.warnings],
            "bridge": bridges.as_json(self.bridge),
            "by_hand": [asdict(each) for each in self.by_hand],
        }

    def lines(self, *, everything: bool) -> Iterator[str]:
        """Iterate over the lines of the page for a terminal."""
        yield text.render(self.diff, everything=everything)
        if self.unmentioned is not None:
            yield from _section("changed, and not mentioned in the text", map(_said, self.unmentioned))
        if self.warnings:
            yield from _section("doubtful in the schema", map(str, self.warnings))
        yield from _section("by hand, since generation cannot know it", map(_work, self.by_hand))
        yield "bridge to peers of the base:"
        yield from map(plain, bridges.text([self.bridge]).split("\n")[1:])


def findings_of(sides: Sides, prose: str | None) -> Findings:
    """Find out about a proposal; `prose` is its text."""
    known, doubts = Diagnostics(), Diagnostics()
    old, new = sides.base.load(known), sides.head.load(doubts)
    findings = compare(old, new)
    messages = {diagnostic.message for diagnostic in known}
    return Findings(
        diff=report_on((sides.base.name, sides.head.name), (old, new), findings, Options(), Baseline()),
        unmentioned=None if prose is None else unmentioned(findings, prose, sides.declared, (old, new)),
        warnings=(*sides.left_out, *(each for each in doubts if each.message not in messages)),
        bridge=derive(replace(old, revision="the base"), replace(new, revision="the proposal"), Rows()),
        by_hand=by_hand(findings, old, new),
    )


def write_proposal(source: SourceText, out: Path) -> Sequence[str]:
    """Write the schema.ts and its bindings below a folder; return their places."""
    schema = out / "schema.ts"
    asked = Settings(revisions=("proposal",), schema=(str(schema),), out=out, package=PACKAGE)
    request = settle(asked, Settings())
    made = plan(request, [source], Diagnostics(), lambda _: None)
    out.mkdir(parents=True, exist_ok=True)
    write_file(schema, decode(source))
    write_trees(made.trees, request.home)
    return shown(schema), shown(request.home)


def _section(heading: str, lines: Iterator[str]) -> Iterator[str]:
    yield f"{heading}:"
    yield from (f"  {plain(line)}" for line in list(lines) or ["nothing"])
    yield ""


def _said(change: Unmentioned) -> str:
    return f"{change.name}: {change.old} -> {change.new} ({change.rule}), in {words.listed(change.places)}"


def _work(work: ByHand) -> str:
    files = f" ({words.listed(work.files)})" if work.files else ""
    return f"{work.what}: {work.work}{files}"
