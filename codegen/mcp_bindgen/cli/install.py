"""`mcp-bindgen install`: the entry of a server in the configuration of a client, printed or written."""

import sys
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

import typer

from mcp_bindgen.cli.output import answer_json
from mcp_bindgen.cli.tool_sources import EnvOption
from mcp_bindgen.diagnostics import InputError
from mcp_bindgen.ingest.sources import is_url
from mcp_bindgen.live.configuration import with_entries
from mcp_bindgen.live.serving import split_target
from mcp_bindgen.paths import shown, write_file
from mcp_bindgen.tool_clients.servers import variables


def install(
    server: Annotated[
        str, typer.Argument(metavar="FILE[:NAME]|URL", help="The server, as `run` takes it, or its URL.")
    ],
    name: Annotated[str, typer.Option(metavar="NAME", help="The server's name in the client.")] = "",
    config: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the entry to this configuration.")] = None,
    key: Annotated[str, typer.Option(metavar="KEY", help="The object that holds the servers.")] = "mcpServers",
    env: EnvOption = None,
) -> None:
    """Print the entry of a server in the configuration of a desktop client or an editor, or write it there.

    VS Code needs `--key servers`. Other entries of the configuration and its comments are kept; an entry of the same
    name is replaced.
    """
    usual_name, entry = (_remote if is_url(server) else _local)(server, env or [])
    entries = {name or usual_name: entry}
    if config is None:
        answer_json({key: entries})
        return
    write_file(config, with_entries(config, key, entries))
    print(f"wrote {shown(config)} ({next(iter(entries))})", file=sys.stderr)


def _local(server: str, env: list[str]) -> tuple[str, dict[str, Any]]:
    """Return an entry that starts a file with this Python; clients start it in a folder of their choice."""
    path, variable = split_target(server)
    if not path.is_file():
        raise InputError.at(path, "no such file")
    target = f"{path.resolve()}:{variable}" if variable else str(path.resolve())
    entry: dict[str, Any] = {"command": sys.executable, "args": ["-m", "mcp_runtime", target]}
    return path.stem, entry | ({"env": variables(env)} if env else {})


def _remote(url: str, env: list[str]) -> tuple[str, dict[str, Any]]:
    if env:
        raise InputError.at("--env", "is for a server that the client starts, not for a URL")
    return urlsplit(url).hostname or url, {"type": "http", "url": url}
