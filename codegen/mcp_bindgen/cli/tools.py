"""`mcp-bindgen tools`: typed clients for the tools of one server, and what a change of them breaks.

The JSON answer of ``tools generate``: ``module``, ``lock`` (their paths), ``client`` (the class), ``tools`` (each with
``name``, ``method``), ``written`` (the paths that changed), ``warnings``; with --check ``up_to_date``, ``changed`` and
``warnings``. That of ``tools list`` is a list of tools as the server lists them. That of ``tools check`` is that of
``mcp-bindgen diff``.
"""

import difflib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from mcp_bindgen.cli.diff import FailOn, ReportFormat, publish, read_baseline_file
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
from mcp_bindgen.diagnostics import Diagnostics, InputError, Location
from mcp_bindgen.diff.rule import Severity

if TYPE_CHECKING:
    from mcp_bindgen.tools.contract import Contract

tools = typer.Typer(
    help="Write typed clients for the tools of one server, and say what a change of them breaks.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

CommandArgument: TypeAlias = Annotated[
    list[str] | None,
    typer.Argument(metavar="-- COMMAND...", help="The server, as a program that speaks over stdio."),
]
FromOption: TypeAlias = Annotated[
    Path | None,
    typer.Option("--from", metavar="FILE", help="A saved result of tools/list, a list of tools, or a lock file."),
]
TimeoutOption: TypeAlias = Annotated[
    float, typer.Option(metavar="SECONDS", min=0.1, help="How long the server may take to start and to answer.")
]


@tools.command("generate")
def generate(
    *,
    command: CommandArgument = None,
    from_: FromOption = None,
    out: Annotated[
        Path, typer.Option(metavar="FILE_OR_DIR", help="The module to write (x.py), or the folder of a package.")
    ],
    lock: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The lock file; by default tools.lock.json beside the module.")
    ] = None,
    client: Annotated[
        str | None, typer.Option("--class", metavar="NAME", help="The client class; by default after the server.")
    ] = None,
    check: Annotated[bool, typer.Option("--check", help="Write nothing; exit 1 with a diff if files differ.")] = False,
    timeout: TimeoutOption = 60,
    quiet: QuietOption = False,
    verbose: VerboseOption = False,
    format_: FormatOption = Format.TEXT,
) -> None:
    """Write a typed client for the tools of a server, and the lock file with their contract."""
    from mcp_bindgen.tools.module import module
    from mcp_bindgen.tools.names import client_name, is_class_name, method_names
    from mcp_bindgen.tools.plan import RESERVED_CLASSES

    if client is not None and (not is_class_name(client) or client in RESERVED_CLASSES):
        raise InputError.at(Location(source="--class"), f"{client!r} cannot name the class; use other ASCII letters")
    diagnostics = Diagnostics()
    contract = read(command, from_, timeout, diagnostics)
    name = client or client_name(contract.server)
    path = out if out.suffix == ".py" else out / "__init__.py"
    locked = lock or path.parent / "tools.lock.json"
    files = {path: module(contract, name, diagnostics), locked: contract.lock()}
    old = {file: _old(file) for file in files}
    changed = [file for file, text in files.items() if old[file] != text]
    if check:
        _answer_check(files, old, changed, diagnostics, quiet=quiet, format_=format_)
    else:
        _refuse_foreign(path, old[path])
        if lock is None:
            _refuse_other_contract(locked, old[locked], contract.server)
        for file in changed:
            file.parent.mkdir(parents=True, exist_ok=True)
            write_file(file, files[file])
        if format_ is Format.JSON:
            methods = method_names(tool.name for tool in contract.tools)
            answer_json(
                {
                    "module": str(path),
                    "lock": str(locked),
                    "client": name,
                    "tools": [{"name": tool, "method": method} for tool, method in sorted(methods.items())],
                    "written": [str(file) for file in changed],
                    "warnings": warnings_json(diagnostics),
                }
            )
        elif not quiet:
            for file in files:
                what = f"{name}, {count(len(contract.tools), 'tool')}" if file == path else "the contract"
                answer(f"{'wrote' if file in changed else 'up to date:'} {file} ({what})")
    if not quiet:
        report(diagnostics, verbose=verbose)
    raise typer.Exit(1 if check and changed else 0)


@tools.command("list")
def list_(
    *,
    command: CommandArgument = None,
    from_: FromOption = None,
    timeout: TimeoutOption = 60,
    quiet: QuietOption = False,
    verbose: VerboseOption = False,
    format_: FormatOption = Format.TEXT,
) -> None:
    """List the tools of a server with their arguments."""
    from mcp_bindgen.tools.listing import rows

    diagnostics = Diagnostics()
    contract = read(command, from_, timeout, diagnostics)
    if format_ is Format.JSON:
        answer_json([dict(tool.raw) for tool in contract.tools])
    else:
        answer(table(("tool", "arguments", "hints", "description"), rows(contract)))
    if not quiet:
        report(diagnostics, verbose=verbose)


def read(command: Sequence[str] | None, from_: Path | None, timeout: float, diagnostics: Diagnostics) -> "Contract":
    """Return the contract of a live server, or of a file.

    Raises:
        InputError: neither is given or both are, or the tools cannot be had.
    """
    from mcp_bindgen.tools.contract import make_contract, read_contract

    if (from_ is None) == (not command):
        message = "give a server to start (-- COMMAND...) or a file (--from FILE), one of the two"
        raise InputError.at(Location(source="tools"), message)
    if from_ is not None:
        return read_contract(from_, diagnostics)
    from mcp_bindgen.live.listing import list_live

    assert command
    listing = list_live(command, timeout=timeout)
    return make_contract(
        listing.tools,
        server=listing.server,
        version=listing.version,
        where=Location(source=listing.server or command[0]),
        diagnostics=diagnostics,
    )


def _old(path: Path) -> str | None:
    """Return what a file holds, None if there is none.

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
    """Keep the contract of another server, whose module is in the same folder."""
    from mcp_bindgen.tools.contract import read_contract

    if old is None:
        return
    found = read_contract(path, Diagnostics()).server
    if found != server:
        message = f"holds the contract of {found}, not of {server}; name the lock file with --lock"
        raise InputError.at(Location(source=str(path)), message)


def _answer_check(
    files: dict[Path, str],
    old: dict[Path, str | None],
    changed: Sequence[Path],
    diagnostics: Diagnostics,
    *,
    quiet: bool,
    format_: Format,
) -> None:
    if format_ is Format.JSON:
        shown = [str(file) for file in changed]
        answer_json({"up_to_date": not changed, "changed": shown, "warnings": warnings_json(diagnostics)})
    elif not quiet:
        for file in changed:
            before = (old[file] or "").splitlines()
            print_diff(difflib.unified_diff(before, files[file].splitlines(), str(file), str(file), lineterm=""))
        if not changed:
            answer("up to date")


@tools.command("check")
def check(
    *,
    command: CommandArgument = None,
    from_: FromOption = None,
    lock: Annotated[Path, typer.Option(metavar="FILE", help="The lock file with the contract.")] = Path(
        "tools.lock.json"
    ),
    everything: Annotated[
        bool, typer.Option("--all", help="Show changes of no consequence too, and the messages that prove a break.")
    ] = False,
    fail_on: Annotated[
        FailOn, typer.Option(help="What makes the exit status 1; what is not known for sure is a warning.")
    ] = FailOn.WARNING,
    baseline: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Accepted findings and severities of your own (TOML).")
    ] = None,
    output: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the report there, whole or not at all.")
    ] = None,
    timeout: TimeoutOption = 60,
    quiet: QuietOption = False,
    verbose: VerboseOption = False,
    format_: Annotated[ReportFormat, typer.Option("--format", help="Who reads the report.")] = ReportFormat.TEXT,
) -> None:
    """Say how a server differs from its lock file, and whether that breaks callers."""
    from mcp_bindgen.tools.contract import read_contract
    from mcp_bindgen.tools.report import make

    diagnostics = Diagnostics()
    known = read_baseline_file(baseline)
    old = read_contract(lock, diagnostics)
    new = read(command, from_, timeout, diagnostics)
    severity = Severity(fail_on.value) if fail_on.value in [*Severity] else None
    found = make(old, new, lock=lock, fail_on=severity, baseline=known)
    publish(found, format_, output, everything=everything, quiet=quiet)
    if not quiet:
        report(diagnostics, verbose=verbose)
    raise typer.Exit(int(found.fails))
