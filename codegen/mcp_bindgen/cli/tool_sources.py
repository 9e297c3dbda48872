"""The servers of a `mcp-bindgen tools` command, and the tools that they list."""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from mcp_bindgen.diagnostics import InputError, Location

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
    typer.Option("--server", metavar="NAME", help="A server from [tool.mcp-bindgen.tools]; by default all."),
]
EnvOption: TypeAlias = Annotated[
    list[str] | None, typer.Option("--env", metavar="NAME=VALUE", help="An environment variable for the server.")
]
HeaderOption: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--header", metavar="NAME=env:VARIABLE", help="A header for a server with a URL, from an environment variable."
    ),
]
CwdOption: TypeAlias = Annotated[
    Path | None, typer.Option("--cwd", metavar="DIR", help="The working directory of the server.")
]
_ONE_OF = "give a URL, a server to start (-- COMMAND...) or a file (--from FILE)"
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_VALUE = re.compile(r"[\x21-\x7e](?:[\x20-\x7e\t]*[\x21-\x7e])?")

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
    from mcp_bindgen.tool_clients.servers import Server, is_url

    where = Location(source=by)
    if from_ is not None and command:
        raise InputError.at(where, f"{_ONE_OF}, but only one of these")
    url = command[0] if command and is_url(command[0]) else ""
    if header and not url:
        raise InputError.at(where, "--header is for a server with a URL")
    if url:
        if len(command or ()) > 1 or env or cwd:
            raise InputError.at(where, "a server with a URL is not started: it takes no arguments, --env or --cwd")
        return Server(url=url, headers=headers(header or ()))
    if (env or cwd) and not command:
        raise InputError.at(where, "--env and --cwd are for a server to start (-- COMMAND...)")
    if from_ is None and not command:
        return None
    return Server(command=tuple(command or ()), source=from_, env=variables(env or ()), cwd=cwd)


def of_project(names: Sequence[str] | None) -> tuple["Server", ...]:
    """Return the servers of the project, or those with the given names.

    Raises:
        InputError: the project has none, or none with a given name.
    """
    from mcp_bindgen.settings import find_settings
    from mcp_bindgen.tool_clients.servers import read_servers

    settings = find_settings(Path.cwd())
    servers = read_servers(settings.tools, settings.source) if settings.source else ()
    if not servers:
        raise InputError.at("tools", f"{_ONE_OF}; this project has no [tool.mcp-bindgen.tools.NAME]")
    known = {server.name: server for server in servers}
    for name in names or ():
        if name not in known:
            message = f"{name!r} is not a server of this project; its servers are {', '.join(known)}"
            raise InputError.at("--server", message)
    return tuple(known[name] for name in dict.fromkeys(names or known))


def headers(given: Sequence[str]) -> dict[str, str]:
    """Read headers from the environment: command lines are visible to every user of the machine."""
    found: dict[str, str] = {}
    for text in given:
        name, _, source = text.partition("=")
        kind, _, variable = source.partition(":")
        if not name or kind != "env" or not variable:
            raise InputError.at("--header", "must be NAME=env:VARIABLE, so that no secret is printed")
        value = os.environ.get(variable)
        if not value:
            raise InputError.at("--header", f"the environment variable {variable} is not set")
        if not _HEADER.fullmatch(name) or not _VALUE.fullmatch(value):
            raise InputError.at("--header", f"{name} from {variable} is not a valid header")
        found[name] = value
    return found


def variables(env: Sequence[str]) -> dict[str, str]:
    """Read the values of `--env`.

    Raises:
        InputError: one of them is not NAME=VALUE.
    """
    found: dict[str, str] = {}
    for text in env:
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise InputError.at("--env", "must be NAME=VALUE")
        found[name] = value
    return found
