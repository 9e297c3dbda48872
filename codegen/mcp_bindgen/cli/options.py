"""Options shared by several commands."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

from mcp_bindgen.cli.output import Format, report
from mcp_bindgen.diagnostics import Diagnostics, InputError
from mcp_bindgen.ingest.revisions import released
from mcp_bindgen.ingest.sources import SourceKind, read_source
from mcp_bindgen.ir.nodes import Protocol
from mcp_bindgen.project.settings import find_settings


def complete_revision(incomplete: str) -> list[str]:
    """Complete the name of a released revision for the shell."""
    return [name for name in released() if name.startswith(incomplete)]


def revision_argument(metavar: str, help_: str) -> Any:
    """Return an argument that the shell completes to a revision."""
    return typer.Argument(metavar=metavar, help=help_, autocompletion=complete_revision)


def revision_option(help_: str, *names: str, metavar: str = "REVISION") -> Any:
    """Return an option that the shell completes to a revision."""
    return typer.Option(*names, metavar=metavar, help=help_, autocompletion=complete_revision)


SchemaOption: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(metavar="FILE_OR_URL", help="A schema.json or a schema.ts to read; repeat to give both."),
]
TemplatesOption: TypeAlias = Annotated[
    Path | None, typer.Option(metavar="DIR", help="Templates that replace the shipped ones of the same name.")
]
OldArgument: TypeAlias = Annotated[
    str, revision_argument("OLD", "A revision, a schema.json or schema.ts, or COMMIT:PATH in git.")
]
NewArgument: TypeAlias = Annotated[str, revision_argument("NEW", "The same, for the other side.")]
ExtensionOption: TypeAlias = Annotated[
    str | None,
    typer.Option("--extension", metavar="ID[=FILE]", help="An extension, shipped or in a schema.ts of yours."),
]
PackageOption: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="The package of the bindings, such as acme.mcp, if you generated your own."),
]
CheckOption: TypeAlias = Annotated[
    bool, typer.Option("--check", help="Write nothing; show a diff and exit with 1 if files differ.")
]
AllOption: TypeAlias = Annotated[
    bool, typer.Option("--all", help="Also show harmless changes, and messages that prove the breaks.")
]
BaselineOption: TypeAlias = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Baseline: accepted findings and overridden severities (TOML).")
]
OutputOption: TypeAlias = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write the output to a file, atomically.")
]
MaskOption: TypeAlias = Annotated[bool, typer.Option("--mask/--no-mask", help="Print *** in place of secrets.")]
FormatOption: TypeAlias = Annotated[Format, typer.Option("--format", help="Output format.")]
QuietOption: TypeAlias = Annotated[bool, typer.Option("--quiet", "-q", help="Print only errors.")]
VerboseOption: TypeAlias = Annotated[bool, typer.Option("--verbose", "-v", help="Print every warning and note.")]
StrictOption: TypeAlias = Annotated[
    bool, typer.Option("--strict", help="Treat schema constructs that cannot be expressed exactly as errors.")
]


def port_option() -> Any:
    """Return the option for the port of a command that listens on 8000 by default."""
    help_ = "Port to listen on (default 8000; 0 picks a free one)."
    return typer.Option(metavar="PORT", min=0, max=65535, show_default=False, help=help_)


def seed_option() -> Any:
    """Return the option for the seed of what a command makes up."""
    return typer.Option(metavar="N", help="Seed for generated values.")


def load(
    revision: str | None,
    extension: str | None = None,
    schema: Sequence[str] | None = None,
    *,
    quiet: bool = False,
    verbose: bool = False,
) -> Protocol:
    """Load a revision; imported here, so that commands that do not load one start faster.

    Without a name it is the newest one of the project, or of all. With an extension, everything that it adds is part of
    the result. A schema's own revision is loaded instead; warnings about it are printed.

    Raises:
        InputError: there is no such revision or extension, or the schema cannot be read.
    """
    if schema:
        from mcp_bindgen.diff.inputs import UNNAMED
        from mcp_bindgen.load.protocol import load_sources

        if extension is not None:
            raise InputError.at("--schema", "describes a revision; leave out --extension")
        diagnostics = Diagnostics()
        sources = [read_source(place) for place in schema]
        is_stated = any(source.kind is SourceKind.TYPESCRIPT for source in sources)
        found = load_sources(sources, revision or (None if is_stated else UNNAMED), diagnostics)
        report(diagnostics, verbose=verbose, quiet=quiet)
        return found
    revision = revision or of_project() or list(released())[-1]
    if extension is not None:
        from mcp_bindgen.load.extension import extend_with
        from mcp_bindgen.project.request import extension_table

        return extend_with(extension_table(extension, find_settings(Path.cwd())), revision).protocol
    from mcp_bindgen.load.protocol import load_released

    return load_released(revision)


def of_project() -> str | None:
    """Return the newest revision whose bindings the project has; None if it names none."""
    named = [name for name in find_settings(Path.cwd()).revisions if name in released()]
    return max(named, default=None)
