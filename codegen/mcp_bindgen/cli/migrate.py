"""`mcp-bindgen migrate`: a guide from one revision to another, in Markdown."""

from mcp_bindgen.cli.options import NewArgument, OldArgument, OutputOption, QuietOption, VerboseOption
from mcp_bindgen.cli.output import answer_document, report
from mcp_bindgen.diagnostics import Diagnostics, refuse_endless_chains
from mcp_bindgen.diff.report.options import Options
from mcp_bindgen.ingest.sources import public_name


def migrate(
    *,
    old: OldArgument,
    new: NewArgument,
    output: OutputOption = None,
    quiet: QuietOption = False,
    verbose: VerboseOption = False,
) -> None:
    """Write a migration guide: for client authors, for server authors, and for code that uses the bindings."""
    diagnostics = Diagnostics()
    answer_document(_guide(old, new, diagnostics), output, quiet=quiet)
    report(diagnostics, verbose=verbose, quiet=quiet)


def _guide(old: str, new: str, diagnostics: Diagnostics) -> str:
    from mcp_bindgen.diff.compare import compare
    from mcp_bindgen.diff.inputs import load_side
    from mcp_bindgen.diff.report.sides import report_on
    from mcp_bindgen.diff.wire.witness import Examples
    from mcp_bindgen.findings.baseline import Baseline
    from mcp_bindgen.impact.guide import Guide
    from mcp_bindgen.impact.run import marks_of

    with refuse_endless_chains(f"{public_name(old)} and {public_name(new)}"):
        before, after = load_side(old, diagnostics), load_side(new, diagnostics)
        findings = compare(before, after)
    found = report_on((old, new), (before, after), findings, Options(), Baseline())
    return Guide(found, before, after, Examples(before, after), marks_of(findings, before, after)).render()
