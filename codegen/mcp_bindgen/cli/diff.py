"""`mcp-bindgen diff` and `rules`: what breaks between two revisions, with proof, and what a comparison can find.

The JSON output of ``diff`` is described by diff.schema.json, next to `mcp_bindgen.diff.report.json`. That of ``rules``
is a list of objects, one for each rule, with ``id``, ``view``, ``severity`` (of a proven finding), ``change``
(``none``, ``narrows``, ``widens`` or ``both``), ``breaks`` (for each direction, the pairs of peers that break),
``breaks_source``, ``purpose``, ``advice``, ``mirror`` and ``unmirrored`` (one of the two is null).
"""

import json
import re
import shutil
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import typer

from mcp_bindgen.cli import options
from mcp_bindgen.cli.options import OutputOption, QuietOption
from mcp_bindgen.cli.output import PageFormat, answer_document, answer_page, answer_verbatim, in_color
from mcp_bindgen.diff.report.options import Options, Peer, Role
from mcp_bindgen.diff.rule import View
from mcp_bindgen.findings.severity import Severity, threshold
from mcp_bindgen.ir.diagnostics import Diagnostics

if TYPE_CHECKING:
    from mcp_bindgen.diff.report.model import Report
    from mcp_bindgen.findings.baseline import Baseline

MIN_WIDTH = 60
"""The minimum width of a page, in columns, even on a narrower terminal."""


_COLORS = {"accepted": 32, **{severity.value: severity.terminal for severity in Severity}}
_HEADING = re.compile(rf"^({'|'.join(_COLORS)}) [a-z -]+(?=:)", re.MULTILINE)


FailOn: TypeAlias = Literal["error", "warning", "info", "new-revision", "never"]
"""What makes the exit status 1: a minimum severity, or the verdict for schema authors."""


ReportFormat: TypeAlias = Literal["text", "json", "markdown", "html", "sarif", "github", "junit"]
"""The formats of a report, each named after the module in `mcp_bindgen.diff.report` that renders it."""


ViewOption: TypeAlias = Literal["wire", "source", "all"]
"""Which changes to show: in messages, in definitions and Python source, or all."""


def diff(
    *,
    old: options.OldArgument,
    new: options.NewArgument,
    everything: options.AllOption = False,
    role: Annotated[Role | None, typer.Option(help="Show only breaks of programs in this role.")] = None,
    peer: Annotated[
        Peer, typer.Option(help="Which of the two revisions the peer uses; your program uses the other.")
    ] = Peer.NEWER,
    view: Annotated[
        ViewOption, typer.Option(help="Show changes in messages, changes in definitions and Python source, or all.")
    ] = "all",
    ignore_gated: Annotated[
        bool, typer.Option("--ignore-gated", help="Report breaks that need a declared capability as warnings.")
    ] = False,
    fail_on: Annotated[
        FailOn, typer.Option(help="Exit with status 1 at this severity or worse, or if a new date is or may be needed.")
    ] = "error",
    extension: Annotated[str | None, typer.Option(metavar="ID", help="Compare two states of this extension.")] = None,
    revision: Annotated[str | None, options.revision_option("The revision that the extension extends.")] = None,
    baseline: options.BaselineOption = None,
    output: options.OutputOption = None,
    strict: options.StrictOption = False,
    printing: options.Printing,
    format_: Annotated[ReportFormat, typer.Option("--format", help="Output format.")] = "text",
) -> None:
    """Show what breaks between two revisions, and for which programs."""
    from mcp_bindgen.diff.report.sides import compared, extension_loader

    diagnostics = Diagnostics(strict=strict)
    known = read_baseline_file(baseline)
    chosen = Options(
        view=None if view == "all" else View(view),
        role=role,
        peer=peer,
        ignore_gated=ignore_gated,
        fail_on=threshold(fail_on),
        new_revision=fail_on == "new-revision",
        severities=known.severities,
    )
    load = extension_loader(extension, revision, new) if extension or revision else None
    found = compared((old, new), chosen, known, diagnostics, load)
    publish(found, format_, output, everything=everything, quiet=printing.quiet)
    printing.report(diagnostics)
    raise typer.Exit(int(found.fails))


def publish(found: "Report", format_: ReportFormat, output: Path | None, *, everything: bool, quiet: bool) -> None:
    """Print a report, or write it to a file."""
    text = _render(found, format_, everything=everything)
    if output or format_ != "text":
        answer_document(text, output, quiet=quiet)
    elif not quiet:
        answer_verbatim(_HEADING.sub(_colored, text) if in_color() else text)


def _render(found: "Report", format_: ReportFormat, *, everything: bool) -> str:
    renderer: Any = import_module(f"mcp_bindgen.diff.report.{format_}")
    width = {}
    if format_ == "text" and sys.stdout.isatty():
        width = {"width": max(MIN_WIDTH, shutil.get_terminal_size().columns)}
    return str(renderer.render(found, everything=everything, **width))


def _colored(heading: "re.Match[str]") -> str:
    return f"\x1b[1;{_COLORS[heading[1]]}m{heading[0]}\x1b[0m"


def read_baseline_file(path: Path | None) -> "Baseline":
    """Read the baseline given by the user or, failing that, by the settings, if any."""
    from mcp_bindgen.diff.rules import RULES
    from mcp_bindgen.findings.baseline import Baseline, read_baseline, today
    from mcp_bindgen.project.settings import find_settings

    file = path or find_settings(Path.cwd()).baseline
    return read_baseline(file, today(), RULES.keys()) if file else Baseline()


def complete_rule(incomplete: str) -> list[str]:
    """Complete the id of a rule for the shell."""
    from mcp_bindgen.diff.rules import CATALOGUE

    return [rule.id for rule in CATALOGUE if rule.id.startswith(incomplete)]


def rules(
    *,
    id_: Annotated[
        str | None, typer.Argument(metavar="ID", help="By default, all rules.", autocompletion=complete_rule)
    ] = None,
    output: OutputOption = None,
    quiet: QuietOption = False,
    format_: Annotated[PageFormat, typer.Option("--format", help="Output format.")] = "text",
) -> None:
    """List the rules of `diff`: what each finds, which programs break, and what to do."""
    from mcp_bindgen.diff.report import catalogue as spell
    from mcp_bindgen.diff.rules import CATALOGUE, rule_named

    found = CATALOGUE if id_ is None else (rule_named(id_),)
    text: dict[PageFormat, Callable[[], str]] = {
        "json": lambda: json.dumps([spell.as_json(rule) for rule in found], indent=2),
        "markdown": lambda: spell.markdown(found),
        "text": lambda: "\n".join(spell.text(found)),
    }
    answer_page(format_, text, output, quiet=quiet)
