"""`mcp-bindgen openapi`: the server of an API that has an OpenAPI document, and what changed since it was generated."""

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from mcp_bindgen.cli import options
from mcp_bindgen.cli.diff import publish
from mcp_bindgen.cli.output import answer, report, table
from mcp_bindgen.ingest.paths import shown, write_file
from mcp_bindgen.ingest.sources import public_name
from mcp_bindgen.ir.diagnostics import Diagnostics, InputError, count

if TYPE_CHECKING:
    from mcp_bindgen.diff.report.model import Report
    from mcp_bindgen.openapi.build import Built, Options

_GLOB_HELP = "Operations by operationId, 'METHOD /path' or tag:NAME, with * and ?; repeat for more"


def openapi(
    document: Annotated[
        str, typer.Argument(metavar="FILE_OR_URL", help="An OpenAPI document 3.0 or 3.1: JSON or YAML.")
    ],
    *,
    out: Annotated[Path, typer.Option(metavar="FILE", help="The module to write.")] = Path("server.py"),
    include: Annotated[list[str] | None, typer.Option(metavar="GLOB", help=f"{_GLOB_HELP} (default: all).")] = None,
    exclude: Annotated[
        list[str] | None, typer.Option(metavar="GLOB", help="Operations to leave out; repeat for more.")
    ] = None,
    list_: Annotated[bool, typer.Option("--list", help="List the chosen operations with their sizes.")] = False,
    max_tools: Annotated[int | None, typer.Option(metavar="N", min=1, help="How many tools are allowed (60).")] = None,
    depth: Annotated[int, typer.Option(metavar="N", min=0, help="Levels of objects in results.")] = 2,
    body_depth: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Levels of objects in arguments (default: all).")
    ] = None,
    drop: Annotated[
        list[str] | None, typer.Option(metavar="GLOB", help="Properties to leave out of results; repeat for more.")
    ] = None,
    describe: Annotated[int, typer.Option(metavar="N", min=0, help="Characters of a description.")] = 200,
    url: Annotated[str, typer.Option(metavar="URL", help="Where the API is (default: as the document says).")] = "",
    auth: Annotated[
        list[str] | None,
        typer.Option(metavar="SCHEME=KIND:VARIABLE", help="The environment variable with a secret; repeat for more."),
    ] = None,
    forward: Annotated[
        str, typer.Option(metavar="HEADER", help="The header in which callers send their own secret for the API.")
    ] = "",
    not_read_only: Annotated[
        list[str] | None, typer.Option(metavar="GLOB", help="GETs that change something; repeat for more.")
    ] = None,
    resources: Annotated[bool, typer.Option(help="Serve GETs as resources instead of tools.")] = False,
    update: Annotated[
        bool, typer.Option("--update", help="Accept new matches of globs, and changed security schemes.")
    ] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; list what changed, and exit with 1 if anything did.")
    ] = False,
    callers: Annotated[
        bool, typer.Option(help="With --check, start both servers and show which callers break.")
    ] = True,
    quiet: options.QuietOption = False,
    verbose: options.VerboseOption = False,
) -> None:
    """Write a server with a typed tool for each operation of an API, and its lock file."""
    from mcp_bindgen.openapi.build import MAX_TOOLS, Options, build, list_rows, parse_depth
    from mcp_bindgen.openapi.document import read_document
    from mcp_bindgen.openapi.operations import Selection
    from mcp_bindgen.openapi.schemas import Reduction

    selection = Selection(include=include or [], exclude=exclude or [])
    reduction = Reduction(depth=depth, body_depth=parse_depth(body_depth), drop=tuple(drop or ()), describe=describe)
    if list_:
        rows = list_rows(read_document(document), selection, reduction)
        answer(table(("operation", "request", "tags", "input + output"), rows))
        return
    if out.suffix != ".py" or not out.stem.isidentifier():
        raise InputError.at("--out", f"{out} is not the name of a module; name it such as github_server.py")
    words = ["mcp-bindgen", "openapi", public_name(document), "--out", out.name]
    words += _each("--include", include) + _each("--exclude", exclude) + _each("--drop", drop) + _each("--auth", auth)
    words += _each("--not-read-only", not_read_only)
    words += [f"--{name}={value}" for name, value in (("url", url), ("forward", forward)) if value]
    words += [f"--depth={depth}"] * (depth != 2) + [f"--describe={describe}"] * (describe != 200)
    words += [f"--body-depth={body_depth}"] * (body_depth is not None) + ["--resources"] * resources
    words += [f"--max-tools={max_tools}"] * (max_tools is not None)
    given = Options(
        out=out,
        command=shlex.join(words),
        selection=selection,
        reduction=reduction,
        url=url,
        auth=auth or (),
        forward=forward,
        not_read_only=not_read_only or (),
        max_tools=max_tools or MAX_TOOLS,
        is_of_resources=resources,
        is_update=update,
    )
    diagnostics = Diagnostics()
    built = build(read_document(document), given, diagnostics)
    if check:
        status = _check(built, given, diagnostics, callers=callers, quiet=quiet)
    else:
        status = _write(built, given, diagnostics, quiet=quiet)
    report(diagnostics, verbose=verbose, quiet=quiet)
    raise typer.Exit(status)


def _write(built: "Built", given: "Options", diagnostics: Diagnostics, *, quiet: bool) -> int:
    from mcp_bindgen.openapi.build import refuse_unaccepted

    refuse_unaccepted(built, given, diagnostics)
    write_file(given.out, built.text)
    write_file(given.lock, built.lock.text())
    if not quiet:
        tools = count(len(built.operations), "tool")
        answer(f"wrote {shown(given.out)} ({tools} of {count(len(built.present), 'operation')})")
        answer(f"schemas: about {built.input_size:,} characters of input, {built.output_size:,} of output")
    return 0


def _check(built: "Built", given: "Options", diagnostics: Diagnostics, *, callers: bool, quiet: bool) -> int:
    from mcp_bindgen.openapi.lock import changes

    if built.old is None:
        raise InputError.at(given.lock, "no such lock file; run the command without --check first")
    found = list(changes(built.old, built.lock, built.present, built.matches))
    before = given.out.read_text("utf-8") if given.out.exists() else ""
    is_same = before == built.text
    if not quiet:
        for line in found:
            answer(line)
        if not is_same and not found:
            answer(f"{shown(given.out)}: differs from what this version generates")
        if not is_same and before and callers:
            publish(_broken(given.out, built.text, diagnostics), "text", None, everything=False, quiet=False)
        if is_same and not found:
            answer("up to date")
    return int(bool(found) or not is_same)


def _broken(path: Path, text: str, diagnostics: Diagnostics) -> "Report":
    """Return the report on what breaks for the callers of the tools."""
    from mcp_bindgen.findings.baseline import Baseline
    from mcp_bindgen.findings.severity import threshold
    from mcp_bindgen.live.inspecting.listing import contract_of
    from mcp_bindgen.tool_clients.comparing.compare import make
    from mcp_bindgen.tool_clients.servers import Server

    with TemporaryDirectory() as folder:
        new, lock = Path(folder) / path.name, Path(folder) / "tools.lock.json"
        write_file(new, text)
        command = (sys.executable, "-m", "mcp_runtime")
        contracts = [contract_of(Server(command=(*command, str(each))), 60, diagnostics) for each in (path, new)]
        write_file(lock, contracts[0].lock())
        return make(*contracts, lock=lock, fail_on=threshold("warning"), baseline=Baseline())


def _each(option: str, values: Sequence[str] | None) -> list[str]:
    return [word for value in values or () for word in (option, value)]
