"""`mcp-bindgen generate`: write bindings, or with --check compare them with those on disk.

The JSON output of a run that writes: ``revisions`` and ``extensions`` (each with ``revision``, ``extension``,
``folder``, ``files``), ``extra`` (the files of extra templates), ``written`` (the folders and extra files that changed,
empty if all were up to date), ``removed`` (files that are no longer generated), ``warnings``. That of --check:
``up_to_date``, ``missing``, ``changed``, ``orphaned``, ``warnings``. Paths below the current folder are relative to it.
"""

import sys
from pathlib import Path
from typing import Annotated

import typer

from mcp_bindgen.cli import options
from mcp_bindgen.cli.output import Format, answer_as, answer_json, print_diff, progress
from mcp_bindgen.emit.tree import diff
from mcp_bindgen.generate.generation import Run
from mcp_bindgen.ingest.paths import shown
from mcp_bindgen.ingest.sources import read_source
from mcp_bindgen.ir.diagnostics import Diagnostics, count, warnings_json
from mcp_bindgen.project.request import settle
from mcp_bindgen.project.settings import Settings, find_settings


def generate(
    *,
    revisions: Annotated[
        list[str] | None, options.revision_argument("REVISION...", "Revisions; by default, all released ones.")
    ] = None,
    schema: options.SchemaOption = None,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="The folder to write the package to.")] = None,
    package: Annotated[str | None, typer.Option(metavar="NAME", help="The package to write, such as acme.mcp.")] = None,
    templates: options.TemplatesOption = None,
    extension: options.ExtensionOption = None,
    source_lines: Annotated[
        bool, typer.Option("--source-lines", help="Write the place of each type in the schema above it.")
    ] = False,
    check: options.CheckOption = False,
    strict: options.StrictOption = False,
    printing: options.Printing,
    format_: options.FormatOption = "text",
) -> None:
    """Write the bindings of revisions, or those of an extension.

    They are written to generated/mcp_bindings/ in the current folder, or as set by --out, --package or
    [tool.mcp-bindgen] in pyproject.toml. A folder is replaced only if all its files were generated.
    """
    asked = Settings(
        revisions=tuple(revisions or ()),
        schema=tuple(schema or ()),
        out=out,
        package=package,
        templates=templates,
        source_lines=source_lines,
    )
    request = settle(asked, find_settings(Path.cwd()), extension)
    run = Run(request, [read_source(place) for place in request.schema], Diagnostics(strict=strict))
    result = None if strict or check else run.recalled()
    if result is None:
        with progress(max(1, len(request.revisions)), quiet=printing.quiet) as step:
            run.plan(step)
    if check:
        raise typer.Exit(_check(run, printing, format_))
    result = result or run.write()
    answer_as(format_, result.as_json, lambda: "\n".join(result.lines(own=request.chosen_place)), quiet=printing.quiet)
    printing.report(result.diagnostics)


def _check(run: Run, printing: options.Printing, format_: Format) -> int:
    """Print how the files on disk differ; return the exit status."""
    total = sum(len(drift.paths) for _, drift in run.drifts)
    if format_ == "json":
        answer_json({"up_to_date": not total, **run.drifted(), "warnings": warnings_json(run.diagnostics)})
    elif not printing.quiet:
        for tree, drift in run.drifts:
            print_diff(diff(tree, drift, shown(tree.folder)))
        what = f"{count(total, 'file')} {'differs' if total == 1 else 'differ'}" if total else "up to date"
        print(what, file=sys.stderr)
    printing.report(run.diagnostics)
    return 1 if total else 0
