"""`mcp-bindgen tools`: typed clients for servers' tools, and what changes to the tools break.

The JSON output of ``tools generate``: ``module``, ``lock`` (their paths), ``client`` (the class), ``tools`` (each with
``name``, ``method``), ``written`` (the paths that changed), ``warnings``; with --check ``up_to_date``, ``changed`` and
``warnings``. For the servers of a project it is a list of these, each with ``server``. That of ``tools list`` is a list
of tools as the server lists them. That of ``tools check`` is that of ``mcp-bindgen diff``.
"""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mcp_bindgen.cli.diff import FailOn, ReportFormat, publish, read_baseline_file
from mcp_bindgen.cli.help import CommandGroup, Task, more
from mcp_bindgen.cli.options import FormatOption, QuietOption, VerboseOption
from mcp_bindgen.cli.output import (
    Format,
    answer,
    answer_json,
    count,
    print_diff,
    report,
    table,
    warnings_json,
    write_file,
)
from mcp_bindgen.cli.tool_sources import (
    CommandArgument,
    CwdOption,
    EnvOption,
    FromOption,
    HeaderOption,
    ServerOption,
    TimeoutOption,
    described,
    of_project,
    read,
)
from mcp_bindgen.diagnostics import Diagnostics, InputError, Location
from mcp_bindgen.diff.rule import Severity

if TYPE_CHECKING:
    from mcp_bindgen.tool_clients.contract import Contract
    from mcp_bindgen.tool_clients.servers import Server

_PAGE = "docs/tools.md"

tools = typer.Typer(
    cls=CommandGroup,
    epilog=more("mcp-bindgen tools list -- python server.py", _PAGE),
    help="Generate typed clients for servers' tools, and check what changes to the tools break.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


def generate(
    *,
    command: CommandArgument = None,
    from_: FromOption = None,
    server: ServerOption = None,
    env: EnvOption = None,
    cwd: CwdOption = None,
    header: HeaderOption = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE_OR_DIR", help="The module to write (x.py), or a package folder."),
    ] = None,
    lock: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The lock file; by default tools.lock.json next to the module.")
    ] = None,
    client: Annotated[
        str | None, typer.Option("--class", metavar="NAME", help="The client class; by default named after the server.")
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; show a diff and exit with 1 if files differ.")
    ] = False,
    timeout: TimeoutOption = 60,
    quiet: QuietOption = False,
    verbose: VerboseOption = False,
    format_: FormatOption = Format.TEXT,
) -> None:
    """Write a typed client for a server's tools, and the lock file with their contract."""
    from mcp_bindgen.tool_clients.servers import LOCK, module_path

    one = described(command, from_, env=env, cwd=cwd, header=header)
    if one is not None:
        if out is None:
            raise InputError.at(Location(source="--out"), "give the module to write")
        path = module_path(out, Location(source="--out"))
        servers: tuple[Server, ...] = (replace(one, module=path, lock=lock or path.with_name(LOCK), client=client),)
    else:
        _refuse_options(out=out, lock=lock, client=client)
        servers = tuple(found for found in of_project(server) if found.module is not None)
    diagnostics = Diagnostics()
    made = [_make(found, timeout, diagnostics, keep_lock=lock is None) for found in servers]
    for each in made if not check else ():
        each.write()
    if format_ is Format.JSON:
        answers = [each.json(diagnostics, check=check) for each in made]
        answer_json(answers[0] if one is not None else answers)
    elif not quiet:
        for each in made:
            each.tell(check=check)
    if not quiet:
        report(diagnostics, verbose=verbose)
    raise typer.Exit(int(check and any(each.changed for each in made)))


def list_(
    *,
    command: CommandArgument = None,
    from_: FromOption = None,
    server: ServerOption = None,
    env: EnvOption = None,
    cwd: CwdOption = None,
    header: HeaderOption = None,
    timeout: TimeoutOption = 60,
    quiet: QuietOption = False,
    verbose: VerboseOption = False,
    format_: FormatOption = Format.TEXT,
) -> None:
    """List the tools of a server with their arguments."""
    from mcp_bindgen.tool_clients.listing import rows

    diagnostics = Diagnostics()
    one = described(command, from_, env=env, cwd=cwd, header=header)
    contracts = [
        read(found, timeout, diagnostics, find_gated=True) for found in ((one,) if one else of_project(server))
    ]
    if format_ is Format.JSON:
        answer_json([dict(tool.raw) for contract in contracts for tool in contract.tools])
    else:
        found = [row for contract in contracts for row in rows(contract)]
        answer(table(("tool", "arguments", "hints", "description"), found))
    if not quiet:
        report(diagnostics, verbose=verbose)


def check(
    *,
    command: CommandArgument = None,
    from_: FromOption = None,
    server: ServerOption = None,
    env: EnvOption = None,
    cwd: CwdOption = None,
    header: HeaderOption = None,
    lock: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The lock file with the contract; by default tools.lock.json.")
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Also show harmless changes, and messages that prove the breaks.")
    ] = False,
    fail_on: Annotated[
        FailOn, typer.Option(help="What makes the exit status 1; unproven breaks are warnings.")
    ] = FailOn.WARNING,
    baseline: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Baseline: accepted findings and overridden severities (TOML).")
    ] = None,
    output: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the report to a file, atomically.")] = None,
    timeout: TimeoutOption = 60,
    quiet: QuietOption = False,
    verbose: VerboseOption = False,
    format_: Annotated[ReportFormat, typer.Option("--format", help="Output format.")] = ReportFormat.TEXT,
) -> None:
    """Compare servers with their lock files, and show what breaks callers."""
    from mcp_bindgen.tool_clients.contract import read_contract
    from mcp_bindgen.tool_clients.report import make

    one = described(command, from_, env=env, cwd=cwd, header=header)
    servers = (replace(one, lock=lock or one.lock),) if one else of_project(server)
    if one is None:
        _refuse_options(lock=lock)
    if len(servers) > 1 and (output or format_ not in (ReportFormat.TEXT, ReportFormat.GITHUB)):
        raise InputError.at(Location(source="--format"), "this format reports on one server; choose it with --server")
    diagnostics = Diagnostics()
    known = read_baseline_file(baseline)
    severity = Severity(fail_on.value) if fail_on.value in [*Severity] else None
    fails = False
    for each in servers:
        if not each.lock.exists():
            raise InputError.at(Location(source=str(each.lock)), "no such lock file; write it with tools generate")
        old = read_contract(each.lock, diagnostics)
        new = read(each, timeout, diagnostics)
        _refuse_other_server(each.lock, old, new)
        found = make(old, new, lock=each.lock, fail_on=severity, baseline=known)
        publish(found, format_, output, everything=everything, quiet=quiet)
        fails = fails or found.fails
    if not quiet:
        report(diagnostics, verbose=verbose)
    raise typer.Exit(int(fails))


task = Task(app=tools, prefix="mcp-bindgen tools")
task.add(
    generate, "Write a typed client and the lock file.", "generate --out src/my_tools.py -- python server.py", _PAGE
)
task.add(list_, "List the tools of a server with their arguments.", "list -- python server.py", _PAGE)
task.add(check, "Check servers against their lock files.", "check --lock tools.lock.json -- python server.py", _PAGE)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Made:
    """What was generated for a server, and what is on disk."""

    server: "Server"
    contract: "Contract"
    client: str
    files: Mapping[Path, str]
    old: Mapping[Path, str | None]

    @property
    def changed(self) -> list[Path]:
        return [path for path, text in self.files.items() if self.old[path] != text]

    def write(self) -> None:
        for path in self.changed:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_file(path, self.files[path])

    def tell(self, *, check: bool) -> None:
        for path in self.files if not check else ():
            tools = f"{self.client}, {count(len(self.contract.tools), 'tool')}"
            what = "the contract" if path == self.server.lock else tools
            answer(f"{'wrote' if path in self.changed else 'up to date:'} {path} ({what})")
        for path in self.changed if check else ():
            before = (self.old[path] or "").splitlines()
            print_diff(difflib.unified_diff(before, self.files[path].splitlines(), str(path), str(path), lineterm=""))
        if check and not self.changed:
            answer(f"{self.server.name}: up to date" if self.server.name else "up to date")

    def json(self, diagnostics: Diagnostics, *, check: bool) -> dict[str, Any]:
        from mcp_bindgen.tool_clients.names import method_names

        name = {"server": self.server.name} if self.server.name else {}
        changed = [str(path) for path in self.changed]
        if check:
            return {**name, "up_to_date": not changed, "changed": changed, "warnings": warnings_json(diagnostics)}
        methods = method_names(tool.name for tool in self.contract.tools)
        return {
            **name,
            "module": str(self.server.module),
            "lock": str(self.server.lock),
            "client": self.client,
            "tools": [{"name": tool, "method": method} for tool, method in sorted(methods.items())],
            "written": changed,
            "warnings": warnings_json(diagnostics),
        }


def _make(server: "Server", timeout: float, diagnostics: Diagnostics, *, keep_lock: bool) -> _Made:
    """Generate the files of a server, after checking what is on disk.

    Raises:
        InputError: the module was not generated, or the lock file belongs to another server.
    """
    from mcp_bindgen.tool_clients.module import module
    from mcp_bindgen.tool_clients.names import client_name, is_class_name

    if server.client is not None and not is_class_name(server.client):
        message = f"{server.client!r} cannot name a class; use ASCII letters, digits and underscores"
        raise InputError.at(Location(source="--class"), message)
    assert server.module is not None
    old = {path: _old(path) for path in (server.module, server.lock)}
    _refuse_foreign(server.module, old[server.module])
    contract = read(server, timeout, diagnostics, find_gated=True)
    if keep_lock:
        _refuse_other_contract(server.lock, old[server.lock], contract.server)
    name = server.client or client_name(contract.server)
    files = {server.module: module(contract, name, diagnostics), server.lock: contract.lock()}
    return _Made(server=server, contract=contract, client=name, files=files, old=old)


def _refuse_options(**given: object) -> None:
    """Reject options that only make sense for a server given on the command line."""
    for name, value in given.items():
        if value is not None:
            option = "class" if name == "client" else name
            message = (
                "is for one server (-- COMMAND... or --from FILE); for servers of the project, set it in pyproject.toml"
            )
            raise InputError.at(Location(source=f"--{option}"), message)


def _old(path: Path) -> str | None:
    """Return the content of a file, None if it does not exist.

    Raises:
        InputError: it cannot be read.
    """
    try:
        return path.read_bytes().decode("utf-8", "replace")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InputError.at(Location(source=str(path)), f"cannot be read: {error.strerror}") from None


def _refuse_foreign(path: Path, old: str | None) -> None:
    from mcp_bindgen.emit.header import HEADER_MARK

    if old is not None and old.strip() and not old.startswith(HEADER_MARK):
        raise InputError.at(Location(source=str(path)), "was not generated, so it is not replaced; name another file")


def _refuse_other_contract(path: Path, old: str | None, server: str) -> None:
    """Refuse to overwrite the contract of another server, whose module is in the same folder."""
    from mcp_bindgen.tool_clients.contract import read_contract

    if old is None:
        return
    found = read_contract(path, Diagnostics()).server
    if found != server:
        message = f"contains the contract of {found}, not of {server}; choose another lock file with --lock"
        raise InputError.at(Location(source=str(path)), message)


def _refuse_other_server(path: Path, old: "Contract", new: "Contract") -> None:
    """Refuse to compare servers whose contracts have no tool in common."""
    names = {tool.name for tool in old.tools} & {tool.name for tool in new.tools}
    if old.server != new.server and old.tools and new.tools and not names:
        message = f"contains the contract of {old.server}, not of {new.server}: they have no tool in common"
        raise InputError.at(Location(source=str(path)), message)
