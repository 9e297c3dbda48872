"""`mcp-bindgen migrate`: a guide from one revision to another, in Markdown."""

from pathlib import Path
from typing import Annotated

import typer

from mcp_bindgen.cli.options import QuietOption, VerboseOption, complete_revision
from mcp_bindgen.cli.output import answer, answer_verbatim, report, write_file
from mcp_bindgen.diagnostics import Diagnostics, refuse_endless_chains
from mcp_bindgen.ingest.sources import public_name


def migrate(
    *,
    old: Annotated[
        str,
        typer.Argument(
            metavar="OLD",
            help="A revision, a schema.json or schema.ts, or COMMIT:PATH in git.",
            autocompletion=complete_revision,
        ),
    ],
    new: Annotated[
        str, typer.Argument(metavar="NEW", help="The same, for the other side.", autocompletion=complete_revision)
    ],
    output: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the guide to a file, atomically.")] = None,
    quiet: QuietOption = False,
    verbose: VerboseOption = False,
) -> None:
    """Write a migration guide: for client authors, for server authors, and for code that uses the bindings."""
    diagnostics = Diagnostics()
    text = _guide(old, new, diagnostics)
    if output is not None:
        write_file(output, text)
        if not quiet:
            answer(f"wrote {output}")
    else:
        answer_verbatim(text)
    if not quiet:
        report(diagnostics, verbose=verbose)


def _guide(old: str, new: str, diagnostics: Diagnostics) -> str:
    from mcp_bindgen.diff.baseline import Baseline
    from mcp_bindgen.diff.compare import compare
    from mcp_bindgen.diff.compatibility import compatibility
    from mcp_bindgen.diff.inputs import UNNAMED, load_side
    from mcp_bindgen.diff.report.model import Side, make_report
    from mcp_bindgen.diff.report.options import Options
    from mcp_bindgen.diff.wire.examples import Examples
    from mcp_bindgen.impact.run import touches
    from mcp_bindgen.migrate.guide import Guide

    with refuse_endless_chains(f"{public_name(old)} and {public_name(new)}"):
        before, after = load_side(old, diagnostics), load_side(new, diagnostics)
        findings = compare(before, after)
    sides = [
        Side(name=public_name(name), revision=side.revision, sources=side.sources, dated=side.revision != UNNAMED)
        for name, side in ((old, before), (new, after))
    ]
    found = make_report(
        findings,
        old=sides[0],
        new=sides[1],
        options=Options(),
        baseline=Baseline(),
        compatibility=compatibility(findings),
    )
    return Guide(found, before, after, Examples(before, after), touches(findings, before, after)).render()
