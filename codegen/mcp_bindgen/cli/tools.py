"""`mcp-bindgen tools`: typed clients for servers' tools, and what changes to the tools break.

The JSON output of ``tools generate``: ``module``, ``lock`` (their paths), ``client`` (the class), ``tools`` (each with
``name``, ``method``), ``written`` (the paths that changed), ``warnings``; with --check ``up_to_date``, ``changed`` and
``warnings``. For the servers of a project it is a list of these, each with ``server``. That of ``tools list`` is a list
of tools as the server lists them. That of ``tools check`` is that of ``mcp-bindgen diff``.
"""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mcp_bindgen.cli import options
from mcp_bindgen.cli.diff import FailOn, ReportFormat, publish, read_baseline_file
from mcp_bindgen.cli.help import CommandGroup, Task, more
from mcp_bindgen.cli.output import answer, answer_document, answer_json, print_diff, progress, report, table
from mcp_bindgen.findings.severity import threshold
from mcp_bindgen.ingest.sources import is_url
from mcp_bindgen.ir.diagnostics import Diagnostics, InputError, Location, warnings_json
from mcp_bindgen.project.request import from_here

if TYPE_CHECKING:
    from mcp_bindgen.tool_clients.calling.module import Made
    from mcp_bindgen.tool_clients.contract import Contract
    from mcp_bindgen.tool_clients.servers import Server

_PAGE = "docs/tools.md"


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """The servers of a command: one given on the command line, or those of the project."""

    command: Annotated[
        list[str] | None,
        typer.Argument(metavar="URL | -- COMMAND...", help="The server: a URL, or a program that uses stdio."),
    ] = None
    from_: Annotated[
        Path | None,
        typer.Option("--from", metavar="FILE", help="A saved result of tools/list, a list of tools, or a lock file."),
    ] = None
    server: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A server of [tool.mcp-bindgen.tools]; repeat for more (default: all)."),
    ] = None
    launch: options.Launch

    def one(self) -> "Server | None":
        """Return the server given on the command line, if any."""
        return self.launch.server(self.command, self.from_, by="tools")

    def of_project(self) -> "tuple[Server, ...]":
        """Return the servers of the project."""
        from mcp_bindgen.tool_clients.servers import servers_of_project

        return servers_of_project(self.server)


tools = typer.Typer(
    cls=CommandGroup,
    epilog=more("mcp-bindgen tools list -- python server.py", _PAGE),
    help="Generate typed clients for servers' tools, and check what changes to the tools break.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


def generate(
    *,
    source: Source,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE_OR_DIR", help="The module to write (x.py), or a package folder.")
    ] = None,
    lock: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The lock file; by default tools.lock.json next to the module.")
    ] = None,
    client: Annotated[
        str | None, typer.Option("--class", metavar="NAME", help="The client class; by default named after the server.")
    ] = None,
    check: options.CheckOption = False,
    timeout: options.TimeoutOption = 60,
    printing: options.Printing,
    format_: options.FormatOption = "text",
) -> None:
    """Write a typed client for a server's tools, and the lock file with their contract."""
    from mcp_bindgen.live.inspecting.listing import contract_of
    from mcp_bindgen.tool_clients.calling.module import COMMAND, make, refuse_misnamed
    from mcp_bindgen.tool_clients.servers import LOCK, module_path

    one = source.one()
    if one is not None:
        if out is None:
            raise InputError.at("--out", "give the module to write")
        path = module_path(out, Location(source="--out"))
        servers: tuple[Server, ...] = (replace(one, module=path, lock=lock or path.with_name(LOCK), client=client),)
    else:
        _refuse_options(out=out, lock=lock, client=client)
        servers = tuple(found for found in source.of_project() if found.module is not None)
    launch = source.launch
    paths = {"--out": out, "--lock": lock, "--from": source.from_, "--cwd": launch.cwd}
    words = [word for option, path in paths.items() if path for word in (option, from_here(path))]
    words += ["--class", client] if client else []
    whole = _whole([*words, *_each("--env", launch.env), *_each("--header", launch.header)], source.command or ())
    diagnostics = Diagnostics()
    made: list[Made] = []
    with progress(len(servers), quiet=printing.quiet) as step:
        for found in servers:
            step(found.name or from_here(found.module or Path()))
            refuse_misnamed(found)
            contract = contract_of(found, timeout, diagnostics, find_gated=True)
            again = f"{COMMAND} --server {shlex.quote(found.name)}" if one is None else whole
            made.append(make(found, contract, diagnostics, keep_lock=lock is None, command=None if check else again))
    for each in made if not check else ():
        each.write()
    if format_ == "json":
        answers = [each.as_json(check=check) | {"warnings": warnings_json(diagnostics)} for each in made]
        answer_json(answers[0] if one is not None else answers)
    elif not printing.quiet:
        for each in made:
            print_diff(each.diff() if check else ())
            answer("\n".join(each.lines(check=check)))
    printing.report(diagnostics)
    raise typer.Exit(int(check and any(each.changed for each in made)))


def list_(
    *,
    source: Source,
    timeout: options.TimeoutOption = 60,
    printing: options.Printing,
    format_: options.FormatOption = "text",
) -> None:
    """List the tools of a server with their arguments."""
    from mcp_bindgen.live.inspecting.listing import contract_of
    from mcp_bindgen.tool_clients.listing import rows

    diagnostics = Diagnostics()
    one = source.one()
    contracts = [
        contract_of(found, timeout, diagnostics, find_gated=True) for found in ((one,) if one else source.of_project())
    ]
    if format_ == "json":
        answer_json([dict(tool.raw) for contract in contracts for tool in contract.tools])
    else:
        found = [row for contract in contracts for row in rows(contract)]
        answer(table(("tool", "arguments", "hints", "description"), found))
    printing.report(diagnostics)


def check(
    *,
    source: Source,
    lock: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The lock file with the contract; by default tools.lock.json.")
    ] = None,
    impact: Annotated[
        list[Path] | None,
        typer.Option(metavar="PATH", help="List the lines of this code that the changes affect; repeat for more."),
    ] = None,
    everything: options.AllOption = False,
    fail_on: Annotated[
        FailOn, typer.Option(help="Exit with status 1 at this severity or worse; unproven breaks are warnings.")
    ] = "warning",
    baseline: options.BaselineOption = None,
    output: options.OutputOption = None,
    timeout: options.TimeoutOption = 60,
    printing: options.Printing,
    format_: Annotated[ReportFormat, typer.Option("--format", help="Output format.")] = "text",
) -> None:
    """Compare servers with their lock files, and show what breaks callers."""
    from mcp_bindgen.live.inspecting.listing import contract_of
    from mcp_bindgen.tool_clients.comparing.compare import make
    from mcp_bindgen.tool_clients.contract import read_contract, refuse_other_server

    one = source.one()
    servers = (replace(one, lock=lock or one.lock),) if one else source.of_project()
    if one is None:
        _refuse_options(lock=lock)
    if impact and format_ not in ("text", "json"):
        raise InputError.at("--impact", "choose the format text or json")
    if len(servers) > 1 and (output or format_ not in ("text", "github")):
        raise InputError.at("--format", "this format reports on one server; choose it with --server")
    diagnostics = Diagnostics()
    known = read_baseline_file(baseline)
    severity = threshold(fail_on)
    fails = False
    for each in servers:
        if not each.lock.exists():
            raise InputError.at(each.lock, "no such lock file; write it with tools generate")
        old = read_contract(each.lock, diagnostics)
        new = contract_of(each, timeout, diagnostics)
        refuse_other_server(each.lock, old, new)
        found = make(old, new, lock=each.lock, fail_on=severity, baseline=known)
        if not impact or format_ == "text":
            publish(found, format_, output, everything=everything, quiet=printing.quiet)
        lines = _callers(each, old, new, impact, diagnostics, format_=format_, quiet=printing.quiet) if impact else 0
        fails = fails or found.fails or bool(lines and severity)
    printing.report(diagnostics)
    raise typer.Exit(int(fails))


def export(
    lock: Annotated[
        Path, typer.Option(metavar="FILE", help="The lock file with the contract; by default tools.lock.json.")
    ] = Path("tools.lock.json"),
    output: options.OutputOption = None,
) -> None:
    """Write the contract of a server as an OpenRPC document, with a method for each tool."""
    from mcp_bindgen.emit.json_schema import dump
    from mcp_bindgen.export.openrpc import openrpc_of
    from mcp_bindgen.tool_clients.contract import read_contract

    diagnostics = Diagnostics()
    answer_document(dump(openrpc_of(read_contract(lock, diagnostics))), output)
    report(diagnostics)


task = Task(app=tools, prefix="mcp-bindgen tools")
task.add(
    generate, "Write a typed client and the lock file.", "generate --out src/my_tools.py -- python server.py", _PAGE
)
task.add(list_, "List the tools of a server with their arguments.", "list -- python server.py", _PAGE)
task.add(check, "Check servers against their lock files.", "check --lock tools.lock.json -- python server.py", _PAGE)
task.add(export, "Write the contract as OpenRPC.", "export --lock tools.lock.json", "docs/reference.md")


def _each(option: str, values: Sequence[str] | None) -> list[str]:
    return [word for value in values or () for word in (option, value)]


def _whole(options: Sequence[str], server: Sequence[str]) -> str:
    """Spell a command for the header of a file, without secrets."""
    from mcp_bindgen.live.mask import masked_words
    from mcp_bindgen.tool_clients.calling.module import COMMAND

    dashes = ["--"] if server and not is_url(server[0]) else []
    return f"{COMMAND} {shlex.join(masked_words([*options, *dashes, *server]))}"


def _callers(
    server: "Server",
    old: "Contract",
    new: "Contract",
    paths: list[Path],
    diagnostics: Diagnostics,
    *,
    format_: ReportFormat,
    quiet: bool,
) -> int:
    """Print the lines that call the tools of a server and are affected, and return their number."""
    from mcp_bindgen.impact.checkers import CHECKERS, DEFAULT
    from mcp_bindgen.impact.report import as_json, render
    from mcp_bindgen.tool_clients.comparing.impact import callers

    found = callers(server, old, new, paths, checker=CHECKERS[DEFAULT], diagnostics=diagnostics)
    if format_ == "json":
        answer_json(as_json(found))
    elif not quiet:
        answer(f"\n{render(found, verbose=False)}".rstrip())
    return found.lines


def _refuse_options(**given: object) -> None:
    """Reject options that only make sense for a server given on the command line."""
    for name, value in given.items():
        if value is not None:
            option = "class" if name == "client" else name
            message = (
                "is for one server (-- COMMAND... or --from FILE); for servers of the project, set it in pyproject.toml"
            )
            raise InputError.at(f"--{option}", message)
