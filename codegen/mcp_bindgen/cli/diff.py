"""`mcp-bindgen diff`: what breaks between two revisions, for whom, and a message that proves it.

The JSON answer is that of `mcp_bindgen.diff.report.as_json`.
"""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from mcp_bindgen.cli.options import FormatOption, QuietOption, VerboseOption
from mcp_bindgen.cli.output import Format, answer, answer_json, report
from mcp_bindgen.diagnostics import Diagnostics, refuse_endless_chains

if TYPE_CHECKING:
    from mcp_bindgen.diff.report import Report


class FailOn(StrEnum):
    """The least severity at which the exit status is 1."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"
    NEVER = "never"


def diff(
    *,
    old: Annotated[str, typer.Argument(help="A revision, a schema.json or schema.ts, or COMMIT:PATH in git.")],
    new: Annotated[str, typer.Argument(help="The same, for the other side.")],
    everything: Annotated[
        bool, typer.Option("--all", help="Show changes that break nobody too, and the messages that prove a break.")
    ] = False,
    fail_on: Annotated[FailOn, typer.Option(help="The least severity that makes the exit status 1.")] = FailOn.ERROR,
    quiet: QuietOption = False,
    verbose: VerboseOption = False,
    format_: FormatOption = Format.TEXT,
) -> None:
    """Say what breaks between two revisions, and for whom."""
    from mcp_bindgen.diff.report import as_json, text

    diagnostics = Diagnostics()
    found = _compare(old, new, diagnostics)
    if format_ is Format.JSON:
        answer_json(as_json(found))
    elif not quiet:
        answer("\n".join(text(found, everything=everything)))
    if not quiet:
        report(diagnostics, verbose=verbose)
    levels = [level.value for level in FailOn]
    failing = levels[: levels.index(fail_on.value) + 1] if fail_on is not FailOn.NEVER else []
    raise typer.Exit(int(any(finding.severity.value in failing for finding in found.findings)))


def _compare(old: str, new: str, diagnostics: Diagnostics) -> "Report":
    from mcp_bindgen.diff.compare import compare
    from mcp_bindgen.diff.report import Report
    from mcp_bindgen.diff.side import load_side
    from mcp_bindgen.diff.witness import Witnesses

    with refuse_endless_chains(f"{old} and {new}"):
        before, after = load_side(old, diagnostics), load_side(new, diagnostics)
        witnesses = Witnesses(before, after)
        findings = tuple(witnesses.testify(finding) for finding in compare(before, after))
    return Report(old=_name(old, before.revision), new=_name(new, after.revision), findings=findings)


def _name(side: str, revision: str) -> str:
    return revision if side == revision else f"{side} ({revision})"
