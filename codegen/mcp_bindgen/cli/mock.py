"""`mcp-bindgen mock`: serve what a lock file or a recorded session says, instead of the real server."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from mcp_bindgen.cli.options import PackageOption, port_option, revision_option, seed_option
from mcp_bindgen.ir.diagnostics import InputError, count


def mock(
    *,
    lock: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A lock file, as `mcp-bindgen tools generate` writes it.")
    ] = None,
    session: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A session that `mcp-bindgen proxy --record FILE` recorded.")
    ] = None,
    seed: Annotated[int | None, seed_option()] = None,
    examples: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Results of tools (JSON), instead of those that are made up.")
    ] = None,
    fault: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FAULT", help="Inject a fault, for example error, delay=2:search or disconnect@3; repeat for more."
        ),
    ] = None,
    package: PackageOption = None,
    revision: Annotated[
        str | None,
        revision_option("Replay the conversations of a session in this revision, not those of most messages."),
    ] = None,
    http: Annotated[bool, typer.Option("--http", help="Serve over HTTP, on this machine.")] = False,
    port: Annotated[
        int | None,
        port_option(),
    ] = None,
) -> None:
    """Serve the tools of a lock file, or answer as in a recorded session, in every revision.

    A fault is KIND[=SECONDS][:TOOL][@N]: error, delay, disconnect, malformed, changed (the tool is removed) or
    lost-session; for all calls of tools or of one, and for all of them, the Nth (@2) or from then on (@2+).
    """
    from mcp_bindgen.mock import MockOptions
    from mcp_bindgen.mock.serving import make, run_http, run_stdio

    if port is not None and not http:
        raise InputError.at("--port", "is for --http; without it the server uses standard input and output")
    options = MockOptions(
        lock=lock,
        session=session,
        seed=seed,
        examples=examples,
        faults=fault or (),
        package=package or "",
        revision=revision or "",
    )
    made = make(options, over_http=http)
    for line in made.unreadable:
        print(f"{line.where}: left out: {line.message}", file=sys.stderr)
    for other, number in made.left_out.items():
        left = f"{count(number, 'message')} of the client in {other} left out; --revision {other} replays them"
        print(f"{session}: {left}", file=sys.stderr)
    if http:
        run_http(made, 8000 if port is None else port, lambda url: print(f"serving at {url}", file=sys.stderr))
    else:
        run_stdio(made)
