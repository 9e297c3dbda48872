"""`mcp-bindgen install`: the entry of a server in the configuration of a client, printed or written."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeAlias
from urllib.parse import urlsplit

import typer

from mcp_bindgen.cli.output import answer_json
from mcp_bindgen.cli.tool_sources import EnvOption
from mcp_bindgen.diagnostics import InputError, refuse_os_errors
from mcp_bindgen.ingest.sources import is_url
from mcp_bindgen.live.configuration import with_entries
from mcp_bindgen.live.serving import split_target, why_unusable
from mcp_bindgen.paths import shown, write_file
from mcp_bindgen.tool_clients.servers import variables

ClientName: TypeAlias = Literal["claude-code", "claude-desktop", "cursor", "gemini-cli", "vscode"]
"""The clients whose configurations are known."""
_ROAMING: Final[Mapping[str, str]] = {
    "darwin": "~/Library/Application Support",
    "win32": os.environ.get("APPDATA", "~/AppData/Roaming"),
}
"""Where a platform keeps the configurations of programs; elsewhere it is ``~/.config``."""
_PLACES: Final[Mapping[ClientName, str]] = {
    "claude-code": ".mcp.json",
    "claude-desktop": f"{_ROAMING.get(sys.platform, '~/.config')}/Claude/claude_desktop_config.json",
    "cursor": "~/.cursor/mcp.json",
    "gemini-cli": "~/.gemini/settings.json",
    "vscode": ".vscode/mcp.json",
}
"""The configuration of each client: of the user, or of the project in this folder."""


def install(
    server: Annotated[
        str, typer.Argument(metavar="FILE[:NAME]|URL", help="The server, as `run` takes it, or its URL.")
    ],
    *,
    name: Annotated[str, typer.Option(metavar="NAME", help="The server's name in the client.")] = "",
    config: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the entry to this configuration.")] = None,
    client: Annotated[ClientName | None, typer.Option(help="Write it to the configuration of this client.")] = None,
    key: Annotated[
        str | None, typer.Option(metavar="KEY", help="The object that holds the servers (default mcpServers).")
    ] = None,
    env: EnvOption = None,
) -> None:
    """Print the entry of a server in the configuration of a desktop client or an editor, or write it there.

    With --client, the file is loaded first, so that no server is installed that cannot start, and folders are made.
    Other entries of the configuration and its comments are kept; an entry of the same name is replaced.
    """
    usual_name, entry = (_remote if is_url(server) else _local)(server, env or [])
    if client is not None:
        if config is not None:
            raise InputError.at("--client", "use only one of --client and --config")
        config, entry = Path(_PLACES[client]).expanduser(), _entry_of(client, server, entry)
        key = key or ("servers" if client == "vscode" else None)
        with refuse_os_errors(config, "written"):
            config.parent.mkdir(parents=True, exist_ok=True)
    key, entries = key or "mcpServers", {name or usual_name: entry}
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


def _entry_of(client: ClientName, server: str, entry: dict[str, Any]) -> dict[str, Any]:
    """Return an entry in the form of a client, after loading a server that it starts."""
    if not is_url(server):
        if why := why_unusable(server):
            raise InputError.at(server, f"is not installed, since it cannot start: {why}")
        return {"type": "stdio", **entry} if client == "vscode" else entry
    if client == "claude-desktop":
        raise InputError.at("--client", "claude-desktop reads no URLs from its configuration; add a connector there")
    return {"httpUrl": server} if client == "gemini-cli" else entry


def _remote(url: str, env: list[str]) -> tuple[str, dict[str, Any]]:
    if env:
        raise InputError.at("--env", "is for a server that the client starts, not for a URL")
    return urlsplit(url).hostname or url, {"type": "http", "url": url}
