"""`mcp-bindgen proposal`: what a proposed schema.ts changes, which programs break, and what is left to write by hand.

The JSON output: ``diff`` (the report of `diff`), ``unmentioned`` (each ``rule``, ``name``, ``old``, ``new`` and
``places``; null without --text), ``warnings`` (those that its base does not have), ``bridge`` (as in `bridge`),
``by_hand`` (each ``what``, ``work``, ``files``), and ``written``.
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mcp_bindgen.cli.options import AllOption, OutputOption, QuietOption, revision_option
from mcp_bindgen.cli.output import IssueFormat, answer_document
from mcp_bindgen.diagnostics import Diagnostics, refuse_endless_chains
from mcp_bindgen.diff.report.options import Options
from mcp_bindgen.ingest.revisions import released
from mcp_bindgen.ingest.sources import SourceText, decode, public_name, read_bytes
from mcp_bindgen.paths import shown, write_file
from mcp_bindgen.project.request import settle
from mcp_bindgen.project.settings import Settings

if TYPE_CHECKING:
    from mcp_bindgen.evolution.read import Sides
    from mcp_bindgen.evolution.report import Findings

PACKAGE = "proposal_bindings"
"""The package that --out gets."""


def proposal(
    *,
    proposals: Annotated[
        list[str],
        typer.Argument(
            metavar="PROPOSAL...", help="A schema.ts, a page with blocks of it, a URL, COMMIT:PATH or COMMIT in git."
        ),
    ],
    base: Annotated[
        list[str] | None,
        revision_option(
            "The revision that it branched from; repeat it if each proposal has its own (default: the newest)."
        ),
    ] = None,
    onto: Annotated[
        str | None, revision_option("Apply what is proposed to this one; by default to the first base.")
    ] = None,
    text: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="The prose of the proposals, to report what it leaves out; repeat for more."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help=f"Write the schema.ts and the package {PACKAGE} to this folder.")
    ] = None,
    everything: AllOption = False,
    output: OutputOption = None,
    quiet: QuietOption = False,
    format_: Annotated[
        IssueFormat, typer.Option("--format", help="Output format; issue is Markdown to file upstream.")
    ] = "text",
) -> None:
    """Show what a proposal changes, what its text leaves out, what peers of its base get, and what is left to write.

    Several proposals are merged in the order given.
    """
    from mcp_bindgen.evolution.issues import of_proposal
    from mcp_bindgen.evolution.read import read_sides

    prose = "\n".join(map(_prose, text)) if text else None
    sides = read_sides(proposals, base or [list(released())[-1]], onto)
    with refuse_endless_chains(public_name(sides.head.name)):
        found = _findings(sides, prose)
    written = _write(sides.head.source, out) if out else ()
    if format_ == "json":
        lines = [json.dumps({**found.as_json(), "written": list(written)}, indent=2)]
    elif format_ == "issue":
        lines = list(of_proposal(found))
    else:
        lines = [*found.lines(everything=everything), *(f"wrote {place}" for place in written)]
    page = "\n".join(lines) + "\n"
    if output or not quiet or format_ != "text":
        answer_document(page, output)


def _prose(path: Path) -> str:
    return read_bytes(path, str(path)).decode("utf-8", "replace")


def _findings(sides: "Sides", prose: str | None) -> "Findings":
    from mcp_bindgen.bridge.derive import derive
    from mcp_bindgen.bridge.rows import Rows
    from mcp_bindgen.diff.compare import compare
    from mcp_bindgen.diff.report.sides import report_on
    from mcp_bindgen.evolution.by_hand import by_hand
    from mcp_bindgen.evolution.prose import unmentioned
    from mcp_bindgen.evolution.report import Findings
    from mcp_bindgen.findings.baseline import Baseline

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


def _write(source: SourceText, out: Path) -> Sequence[str]:
    """Write the schema.ts and its bindings; return their places."""
    from mcp_bindgen.emit.swap import write_trees
    from mcp_bindgen.generate.plan import plan

    schema = out / "schema.ts"
    asked = Settings(revisions=("proposal",), schema=(str(schema),), out=out, package=PACKAGE)
    request = settle(asked, Settings())
    made = plan(request, [source], Diagnostics(), lambda _: None)
    out.mkdir(parents=True, exist_ok=True)
    write_file(schema, decode(source))
    write_trees(made.trees, request.home)
    return shown(schema), shown(request.home)
