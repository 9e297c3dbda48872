"""`mcp-bindgen impact`: the lines of a user's own code that the differences between two revisions touch.

The JSON answer is that of `mcp_bindgen.impact.report.as_json`.
"""

from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from mcp_bindgen.cli.options import FormatOption, QuietOption, VerboseOption, complete_revision
from mcp_bindgen.cli.output import Format, answer, answer_json, report
from mcp_bindgen.cli.request import DEFAULT_PACKAGE
from mcp_bindgen.diagnostics import Diagnostics, InputError, Location, refuse_endless_chains
from mcp_bindgen.ingest.sources import public_name
from mcp_bindgen.settings import Settings, find_settings, is_package_name


class FailOn(StrEnum):
    """The least severity of a change that touches a line at which the exit status is 1."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"
    NEVER = "never"


def impact(
    *,
    paths: Annotated[list[Path], typer.Argument(metavar="PATH...", help="Python files, or folders that hold them.")],
    old: Annotated[
        str,
        typer.Option(
            "--from",
            help="What the code is written for: a revision, a schema file, or COMMIT:PATH in git.",
            autocompletion=complete_revision,
        ),
    ],
    new: Annotated[
        str, typer.Option("--to", help="What it is to move to, likewise.", autocompletion=complete_revision)
    ],
    package: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The package of the bindings, such as acme.mcp, if it is one of your own."),
    ] = None,
    fail_on: Annotated[
        FailOn, typer.Option(help="The least severity of a change that makes the exit status 1.")
    ] = FailOn.INFO,
    skip_unread: Annotated[
        bool, typer.Option("--skip-unread", help="Do not fail because of files that cannot be read.")
    ] = False,
    quiet: QuietOption = False,
    verbose: VerboseOption = False,
    format_: FormatOption = Format.TEXT,
) -> None:
    """List the lines of your code that the differences between two revisions touch.

    The code uses the bindings of the old revision: those of mcp_bindings, or of the package that --package or the
    table [tool.mcp-bindgen] of a pyproject.toml names. Nothing is imported or run.
    """
    from mcp_bindgen.diff.compare import compare
    from mcp_bindgen.diff.inputs import load_side
    from mcp_bindgen.impact.report import as_json, render, worst
    from mcp_bindgen.impact.run import impact as find_impact
    from mcp_bindgen.impact.run import touches

    diagnostics = Diagnostics()
    with refuse_endless_chains(f"{public_name(old)} and {public_name(new)}"):
        before, after = load_side(old, diagnostics), load_side(new, diagnostics)
        changes = touches(compare(before, after, proven=False), before, after)
    packages = tuple(_packages(package, find_settings(Path.cwd()), before.revision))
    found = find_impact(changes, paths, packages, diagnostics)
    if not found.imports:
        where = Location(source=", ".join(str(path) for path in paths))
        diagnostics.warning(where, f"nothing in it uses {packages[0]}: are --from and --package right?")
    if format_ is Format.JSON:
        answer_json(as_json(found))
    elif not quiet:
        answer(render(found, verbose=verbose))
    if not quiet:
        report(diagnostics, verbose=verbose or not found.imports or bool(found.unread))
    levels = [level.value for level in FailOn]
    failing = levels[: levels.index(fail_on.value) + 1] if fail_on is not FailOn.NEVER else []
    unread = bool(found.unread) and not skip_unread and fail_on is not FailOn.NEVER
    raise typer.Exit(int(unread or worst(found.touched) in failing))


def _packages(asked: str | None, settings: Settings, revision: str) -> Iterator[str]:
    """Iterate over the names under which code may import the bindings of a revision.

    A package of the user's holds one revision itself, or several in a folder each.
    """
    from mcp_bindgen.emit.python.package import revision_folder

    name = asked or settings.package or DEFAULT_PACKAGE
    if not is_package_name(name):
        where = Location(source="--package")
        raise InputError.at(where, f"{name!r} is no package name: write identifiers joined by dots")
    folder = f"{name}.{revision_folder(revision)}"
    holds_one = len(settings.revisions) == 1 or bool(settings.schema)
    if asked or (settings.package and holds_one):
        yield name
    yield folder
    if name != DEFAULT_PACKAGE and not asked:
        yield f"{DEFAULT_PACKAGE}.{revision_folder(revision)}"
