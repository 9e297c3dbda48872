"""`mcp-bindgen diff`: what breaks between two revisions, for which programs, and messages that prove it.

The JSON output is described by diff.schema.json, next to `mcp_bindgen.diff.report.json`.
"""

import re
import shutil
import sys
from dataclasses import replace
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from mcp_bindgen.cli.options import (
    AllOption,
    BaselineOption,
    NewArgument,
    OldArgument,
    OutputOption,
    QuietOption,
    StrictOption,
    VerboseOption,
    revision_option,
)
from mcp_bindgen.cli.output import answer, answer_verbatim, in_color, report, shown, write_file
from mcp_bindgen.diagnostics import Diagnostics, InputError, refuse_endless_chains
from mcp_bindgen.diff.report.options import Options, Peer, Role
from mcp_bindgen.diff.rule import Severity, View
from mcp_bindgen.ingest.sources import is_url, public_name

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mcp_bindgen.diff.baseline import Baseline
    from mcp_bindgen.diff.finding import Finding
    from mcp_bindgen.diff.report.model import Report, Side
    from mcp_bindgen.ir.nodes import Protocol


MIN_WIDTH = 60
"""The minimum width of a page, in columns, even on a narrower terminal."""


_COLORS = {"error": 31, "warning": 33, "info": 34, "accepted": 32}
Loader: TypeAlias = "Callable[[str, Diagnostics], Protocol]"
_HEADING = re.compile(r"^(error|warning|info|accepted) [a-z -]+(?=:)", re.MULTILINE)


class FailOn(StrEnum):
    """What makes the exit status 1: a minimum severity, or the verdict for schema authors."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"
    NEW_REVISION = "new-revision"
    NEVER = "never"


class ReportFormat(StrEnum):
    """The formats of a report, each named after the module in `mcp_bindgen.diff.report` that renders it."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"
    HTML = "html"
    SARIF = "sarif"
    GITHUB = "github"
    JUNIT = "junit"


class ViewOption(StrEnum):
    """Which changes to show: in messages, in definitions and Python source, or all."""

    WIRE = "wire"
    SOURCE = "source"
    ALL = "all"


def diff(
    *,
    old: OldArgument,
    new: NewArgument,
    everything: AllOption = False,
    role: Annotated[Role | None, typer.Option(help="Show only breaks of programs in this role.")] = None,
    peer: Annotated[
        Peer, typer.Option(help="Which of the two revisions the peer uses; your program uses the other.")
    ] = Peer.NEWER,
    view: Annotated[
        ViewOption, typer.Option(help="Show changes in messages, changes in definitions and Python source, or all.")
    ] = ViewOption.ALL,
    assume_gates: Annotated[
        bool, typer.Option("--assume-gates", help="Report breaks that need a declared capability as warnings.")
    ] = False,
    fail_on: Annotated[
        FailOn, typer.Option(help="Exit with status 1 at this severity or worse, or if a new date is or may be needed.")
    ] = FailOn.ERROR,
    extension: Annotated[str | None, typer.Option(metavar="ID", help="Compare two states of this extension.")] = None,
    revision: Annotated[str | None, revision_option("The revision that the extension extends.")] = None,
    baseline: BaselineOption = None,
    output: OutputOption = None,
    strict: StrictOption = False,
    quiet: QuietOption = False,
    verbose: VerboseOption = False,
    format_: Annotated[ReportFormat, typer.Option("--format", help="Output format.")] = ReportFormat.TEXT,
) -> None:
    """Show what breaks between two revisions, and for which programs."""
    diagnostics = Diagnostics(strict=strict)
    known = read_baseline_file(baseline)
    options = Options(
        view=None if view is ViewOption.ALL else View(view.value),
        role=role,
        peer=peer,
        assume_gates=assume_gates,
        fail_on=Severity(fail_on.value) if fail_on.value in [*Severity] else None,
        new_revision=fail_on is FailOn.NEW_REVISION,
        severities=known.severities,
    )
    load = _extension_loader(extension, revision, new) if extension or revision else None
    found = _compare((old, new), options, known, diagnostics, load)
    publish(found, format_, output, everything=everything, quiet=quiet)
    report(diagnostics, verbose=verbose, quiet=quiet)
    raise typer.Exit(int(found.fails))


def publish(found: "Report", format_: ReportFormat, output: Path | None, *, everything: bool, quiet: bool) -> None:
    """Print a report, or write it to a file."""
    text = _render(found, format_, everything=everything)
    if output:
        write_file(output, text)
        if not quiet:
            answer(f"wrote {output}")
    elif format_ is not ReportFormat.TEXT:
        answer_verbatim(text)
    elif not quiet:
        answer_verbatim(_HEADING.sub(_colored, text) if in_color() else text)


def _render(found: "Report", format_: ReportFormat, *, everything: bool) -> str:
    renderer: Any = import_module(f"mcp_bindgen.diff.report.{format_.value}")
    width = {}
    if format_ is ReportFormat.TEXT and sys.stdout.isatty():
        width = {"width": max(MIN_WIDTH, shutil.get_terminal_size().columns)}
    return str(renderer.render(found, everything=everything, **width))


def _colored(heading: "re.Match[str]") -> str:
    return f"\x1b[1;{_COLORS[heading[1]]}m{heading[0]}\x1b[0m"


def read_baseline_file(path: Path | None) -> "Baseline":
    """Read the baseline given by the user or, failing that, by the settings, if any."""
    from mcp_bindgen.diff.baseline import Baseline, read_baseline, today
    from mcp_bindgen.settings import find_settings

    file = path or find_settings(Path.cwd()).baseline
    return read_baseline(file, today()) if file else Baseline()


def _extension_loader(extension: str | None, revision: str | None, new: str) -> Loader:
    """Return how the states of an extension are loaded; rows of its table that fit only one state are notes."""
    from mcp_bindgen.diff.inputs import side_source
    from mcp_bindgen.extend import extend
    from mcp_bindgen.request import extension_table
    from mcp_bindgen.settings import find_settings

    if extension is None:
        raise InputError.at("--revision", "only an extension has one; add --extension ID")
    table = extension_table(f"{extension}={new}", find_settings(Path.cwd()))
    base = revision or table.revision
    if not base:
        raise InputError.at(extension, "name the revision that it extends: --revision REVISION")
    return lambda side, found: extend(table, base, side_source(side), found, is_current=False).protocol


def _compare(
    names: tuple[str, str],
    options: Options,
    baseline: "Baseline",
    diagnostics: Diagnostics,
    load: "Loader | None" = None,
) -> "Report":
    from mcp_bindgen.diff.compare import compare
    from mcp_bindgen.diff.inputs import load_sides

    with refuse_endless_chains(" and ".join(map(public_name, names))):
        sides = (load(names[0], diagnostics), load(names[1], diagnostics)) if load else load_sides(*names, diagnostics)
        return report_on(names, sides, compare(*sides), options, baseline)


def report_on(
    names: tuple[str, str],
    sides: tuple["Protocol", "Protocol"],
    findings: "Sequence[Finding]",
    options: Options,
    baseline: "Baseline",
) -> "Report":
    """Return the report on two sides that the user named."""
    from mcp_bindgen.diff.compatibility import compatibility
    from mcp_bindgen.diff.report.model import make_report
    from mcp_bindgen.diff.report.story import story

    old, new = map(_side, names, sides)
    verdict = compatibility(findings)
    made = make_report(findings, old=old, new=new, options=options, baseline=baseline, compatibility=verdict)
    return made if options.view is View.SOURCE else replace(made, story=story(*sides, findings))


def _side(name: str, protocol: "Protocol") -> "Side":
    from mcp_bindgen.diff.inputs import UNNAMED, side_source
    from mcp_bindgen.diff.report.model import Side
    from mcp_bindgen.diff.report.places import SourceFile
    from mcp_bindgen.diff.types.methods import has_roots
    from mcp_bindgen.ingest.revisions import released

    file: SourceFile | None = None
    if name not in released() and not is_url(name) and (":" in name or Path(name).exists()):
        file = SourceFile(shown(name if Path(name).exists() else name.partition(":")[2]), side_source(name))
    dated = protocol.revision != UNNAMED
    return Side(
        name=public_name(name),
        revision=protocol.revision,
        sources=protocol.sources,
        file=file,
        dated=dated,
        has_roots=has_roots(protocol),
    )
