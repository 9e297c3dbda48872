"""Options shared by several commands, alone or in groups.

A group is a frozen dataclass. A command takes it as one parameter; on the command line, each field of it is an option
in its place (`expanded`).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, is_dataclass
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, get_type_hints

import typer

from mcp_bindgen.cli.output import Format, answer_document, report
from mcp_bindgen.ingest.revisions import released
from mcp_bindgen.ingest.sources import SourceKind, read_source
from mcp_bindgen.ir.diagnostics import Diagnostics, InputError
from mcp_bindgen.ir.nodes import Protocol
from mcp_bindgen.project.settings import find_settings

if TYPE_CHECKING:
    from mcp_bindgen.tool_clients.servers import Server


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


EnvOption: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--env", metavar="NAME=VALUE", help="An environment variable for the server; repeat for more."),
]
HeaderOption: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--header", metavar="NAME=env:VARIABLE", help="A header for a server with a URL; repeat for more."),
]
CwdOption: TypeAlias = Annotated[
    Path | None, typer.Option("--cwd", metavar="DIR", help="The working directory of the server.")
]
TimeoutOption: TypeAlias = Annotated[
    float, typer.Option(metavar="SECONDS", min=0.1, help="Timeout for the server to start and to answer.")
]


def port_option() -> Any:
    """Return the option for the port of a command that listens on 8000 by default."""
    help_ = "Port to listen on (default 8000; 0 picks a free one)."
    return typer.Option(metavar="PORT", min=0, max=65535, show_default=False, help=help_)


def seed_option() -> Any:
    """Return the option for the seed of what a command makes up."""
    return typer.Option(metavar="N", help="Seed for generated values.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Printing:
    """How much a command prints."""

    quiet: QuietOption = False
    verbose: VerboseOption = False

    def report(self, diagnostics: Diagnostics, *, verbose: bool = False) -> None:
        """Print diagnostics to stderr."""
        report(diagnostics, verbose=self.verbose or verbose, quiet=self.quiet)


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A revision, and the file that a document about it is written to."""

    revision: Annotated[
        str | None, revision_argument("REVISION", "By default the project's revision, or the newest.")
    ] = None
    schema: SchemaOption = None
    output: OutputOption = None
    printing: Printing = Printing()

    def load(self) -> Protocol:
        """Load the revision."""
        return load(self.revision, schema=self.schema, printing=self.printing)

    def write(self, text: str) -> None:
        """Print the document, or write it to the file."""
        answer_document(text, self.output)


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """How a server given on the command line is started or reached."""

    env: EnvOption = None
    cwd: CwdOption = None
    header: HeaderOption = None

    def server(self, words: Sequence[str] | None, source: Path | None = None, *, by: str) -> "Server | None":
        """Return the server that a URL, a command or a file gives; None without any.

        Raises:
            InputError: there are two, or options for starting a server without a server.
        """
        from mcp_bindgen.tool_clients.servers import described

        return described(words or (), source, env=self.env or (), cwd=self.cwd, header=self.header or (), by=by)


def expanded(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command that takes the fields of its groups of options as parameters of its own."""
    own = _parameters(command)

    def run(**given: Any) -> None:
        command(**{each.name: _taken(each, given) for each in own})

    parameters = [inner for each in own for inner in _flat(each)]
    run.__name__, run.__doc__ = command.__name__, command.__doc__
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    run.__dict__["__signature__"] = Signature(parameters)
    return run


def _parameters(function: Callable[..., Any]) -> list[Parameter]:
    """Return the parameters of a command or of a group, by name only, with their annotations evaluated."""
    hints = get_type_hints(function, include_extras=True)
    found = signature(function).parameters.values()
    return [each.replace(kind=Parameter.KEYWORD_ONLY, annotation=hints[each.name]) for each in found]


def _group(parameter: Parameter) -> Callable[..., Any] | None:
    annotation: object = parameter.annotation
    return annotation if isinstance(annotation, type) and is_dataclass(annotation) else None


def _flat(parameter: Parameter) -> Iterator[Parameter]:
    """Iterate over the parameters that a group stands for, in its place; any other parameter is the only one."""
    group = _group(parameter)
    for each in _parameters(group) if group else ():
        yield from _flat(each)
    if group is None:
        yield parameter


def _taken(parameter: Parameter, given: dict[str, Any]) -> Any:
    """Return the value of a parameter of a command: a group is made of its fields."""
    group = _group(parameter)
    return group(**{each.name: _taken(each, given) for each in _parameters(group)}) if group else given[parameter.name]


def load(
    revision: str | None,
    extension: str | None = None,
    schema: Sequence[str] | None = None,
    printing: Printing = Printing(),
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
        printing.report(diagnostics)
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
