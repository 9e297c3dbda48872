"""`mcp-bindgen migrate`: a guide from one revision to another, in Markdown."""

from mcp_bindgen.cli.options import NewArgument, OldArgument, OutputOption, Printing
from mcp_bindgen.cli.output import answer_document
from mcp_bindgen.diagnostics import Diagnostics


def migrate(
    *,
    old: OldArgument,
    new: NewArgument,
    output: OutputOption = None,
    printing: Printing,
) -> None:
    """Write a migration guide: for client authors, for server authors, and for code that uses the bindings."""
    from mcp_bindgen.impact.guide import migration_guide

    diagnostics = Diagnostics()
    answer_document(migration_guide(old, new, diagnostics), output, quiet=printing.quiet)
    printing.report(diagnostics)
