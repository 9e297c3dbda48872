"""The servers of a `mcp-bindgen tools` command, and the tools that they list."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from mcp_bindgen.diagnostics import InputError
from mcp_bindgen.ingest.sources import is_url

if TYPE_CHECKING:
    from mcp_bindgen.tool_clients.servers import Server

CommandArgument: TypeAlias = Annotated[
    list[str] | None,
    typer.Argument(metavar="URL | -- COMMAND...", help="The server: a URL, or a program that uses stdio."),
]
FromOption: TypeAlias = Annotated[
    Path | None,
    typer.Option("--from", metavar="FILE", help="A saved result of tools/list, a list of tools, or a lock file."),
]
ServerOption: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--server", metavar="NAME", help="A server of [tool.mcp-bindgen.tools]; repeat for more (default: all)."
    ),
]
EnvOption: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--env", metavar="NAME=VALUE", help="An environment variable for the server; repeat for more."),
]
HeaderOption: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--header",
        metavar="NAME=env:VARIABLE",
        help="A header for a server with a URL; repeat for more.",
    ),
]
CwdOption: TypeAlias = Annotated[
    Path | None, typer.Option("--cwd", metavar="DIR", help="The working directory of the server.")
]
TimeoutOption: TypeAlias = Annotated[
    float, typer.Option(metavar="SECONDS", min=0.1, help="Timeout for the server to start and to answer.")
]


def described(
    command: Sequence[str] | None,
    from_: Path | None,
    *,
    env: Sequence[str] | None = None,
    cwd: Path | None = None,
    header: Sequence[str] | None = None,
    by: str = "tools",
) -> "Server | None":
    """Return the server given on the command line, or None.

    Raises:
        InputError: it gives two, or options for starting a server without a server.
    """
    from mcp_bindgen.tool_clients.servers import ONE_OF, Server, headers, variables

    if from_ is not None and command:
        raise InputError.at(by, f"{ONE_OF}, but only one of these")
    url = command[0] if command and is_url(command[0]) else ""
    if header and not url:
        raise InputError.at(by, "--header is for a server with a URL")
    if url:
        if len(command or ()) > 1 or env or cwd:
            raise InputError.at(by, "a server with a URL is not started: it takes no arguments, --env or --cwd")
        return Server(url=url, headers=headers(header or ()))
    if (env or cwd) and not command:
        raise InputError.at(by, "--env and --cwd are for a server to start (-- COMMAND...)")
    if from_ is None and not command:
        return None
    return Server(command=tuple(command or ()), source=from_, env=variables(env or ()), cwd=cwd)
