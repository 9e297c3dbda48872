"""`mcp-bindgen proposal`: what a proposed schema.ts changes, which programs break, and what is left to write by hand.

The JSON output: ``diff`` (the report of `diff`), ``unmentioned`` (each ``rule``, ``name``, ``old``, ``new`` and
``places``; null without --text), ``warnings`` (those that its base does not have), ``bridge`` (as in `bridge`),
``by_hand`` (each ``what``, ``work``, ``files``), and ``written``.
"""

import json
from pathlib import Path
from typing import Annotated

import typer

from mcp_bindgen.cli.options import AllOption, OutputOption, QuietOption, revision_option
from mcp_bindgen.cli.output import IssueFormat, answer_document
from mcp_bindgen.diagnostics import refuse_endless_chains
from mcp_bindgen.ingest.revisions import released
from mcp_bindgen.ingest.sources import public_name

PACKAGE = "proposal_bindings"
"""The package that --out gets: `mcp_bindgen.evolution.report` writes it."""


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
    from mcp_bindgen.evolution.prose import read_prose
    from mcp_bindgen.evolution.read import read_sides
    from mcp_bindgen.evolution.report import findings_of, write_proposal

    prose = "\n".join(map(read_prose, text)) if text else None
    sides = read_sides(proposals, base or [list(released())[-1]], onto)
    with refuse_endless_chains(public_name(sides.head.name)):
        found = findings_of(sides, prose)
    written = write_proposal(sides.head.source, out) if out else ()
    if format_ == "json":
        lines = [json.dumps({**found.as_json(), "written": list(written)}, indent=2)]
    elif format_ == "issue":
        lines = list(of_proposal(found))
    else:
        lines = [*found.lines(everything=everything), *(f"wrote {place}" for place in written)]
    page = "\n".join(lines) + "\n"
    if output or not quiet or format_ != "text":
        answer_document(page, output)
