"""`mcp-bindgen impact` and `migrate`: the lines of your code that a change of revision affects, and a guide to it.

The JSON output of ``impact`` is that of `mcp_bindgen.impact.report.as_json`.
"""

import gc
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

import typer

from mcp_bindgen.cli.options import NewArgument, OldArgument, OutputOption, PackageOption, Printing, revision_option
from mcp_bindgen.cli.output import answer, answer_document, answer_json
from mcp_bindgen.ingest.sources import public_name
from mcp_bindgen.ir.diagnostics import Diagnostics, InputError, Location, refuse_endless_chains
from mcp_bindgen.project.settings import find_settings

ImpactFormat: TypeAlias = Literal["text", "json", "sarif"]
"""Output formats."""


CheckerName: TypeAlias = Literal["ty", "pyright", "pyrefly"]
"""The type checkers that can infer the types of the code."""


FailOn: TypeAlias = Literal["error", "warning", "info", "never"]
"""The minimum severity of a change affecting a line that makes the exit status 1."""


def impact(
    *,
    paths: Annotated[list[Path] | None, typer.Argument(metavar="PATH...", help="Python files or folders.")] = None,
    old: Annotated[
        str,
        revision_option(
            "The version your code uses: a revision, a schema file, or COMMIT:PATH in git.", "--from", metavar="OLD"
        ),
    ],
    new: Annotated[str, revision_option("The version to move to, given the same way.", "--to", metavar="NEW")],
    package: PackageOption = None,
    checker: Annotated[CheckerName, typer.Option(help="The type checker that infers types.")] = "ty",
    stubs: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write stubs that mark in an editor what changes, and check nothing."),
    ] = None,
    fail_on: Annotated[FailOn, typer.Option(help="Exit with status 1 for changes at this severity or worse.")] = "info",
    skip_unreadable: Annotated[
        bool, typer.Option("--skip-unreadable", help="Do not fail if files cannot be read.")
    ] = False,
    printing: Printing,
    format_: Annotated[ImpactFormat, typer.Option("--format", help="Output format.")] = "text",
) -> None:
    """List the lines of your code that are affected by the differences between two revisions.

    The code uses bindings of the old revision: those in mcp_bindings, or in the package named by --package or by
    [tool.mcp-bindgen] in pyproject.toml. Your code is not imported or run.
    """
    from mcp_bindgen.diff.compare import compare
    from mcp_bindgen.diff.inputs import load_side
    from mcp_bindgen.findings.severity import threshold
    from mcp_bindgen.impact.checkers import CHECKERS
    from mcp_bindgen.impact.report import as_json, as_sarif, render
    from mcp_bindgen.impact.run import impact as find_impact
    from mcp_bindgen.impact.run import marks_of, packages_of, write_stubs
    from mcp_bindgen.impact.stubs import Stubs

    if bool(paths) is bool(stubs):
        raise InputError.at("PATH" if paths else "impact", "give files or folders to check, or --stubs DIR")
    diagnostics = Diagnostics()
    with refuse_endless_chains(f"{public_name(old)} and {public_name(new)}"):
        before, after = load_side(old, diagnostics), load_side(new, diagnostics)
        changes = marks_of(compare(before, after, proven=False), before, after)
    packages = tuple(packages_of(package, find_settings(Path.cwd()), before.revision))
    if stubs:
        write_stubs(Stubs(changes), stubs, packages)
        if not printing.quiet:
            answer(f"wrote stubs of {', '.join(packages)} to {stubs}")
        printing.report(diagnostics)
        return
    gc.disable()  # All syntax trees are needed to the end: to look for garbage among them takes half of the time.
    try:
        found = find_impact(Stubs(changes), paths or [], packages, CHECKERS[checker], diagnostics)
    finally:
        gc.enable()
    if not found.imports:
        where = Location(source=", ".join(str(path) for path in paths or []))
        diagnostics.warning(where, f"does not use {packages[0]}: check --from and --package")
    if format_ == "text" and not printing.quiet:
        answer(render(found, verbose=printing.verbose))
    elif format_ != "text":
        answer_json(as_json(found) if format_ == "json" else as_sarif(found))
    printing.report(diagnostics, verbose=not found.imports or bool(found.unread))
    limit = threshold(fail_on)
    fails = any(touched.finding.severity.reaches(limit) for touched in found.touched)
    unread = bool(found.unread) and not skip_unreadable and fail_on != "never"
    raise typer.Exit(int(unread or fails))


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
