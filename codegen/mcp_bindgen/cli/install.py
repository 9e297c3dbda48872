"""`mcp-bindgen install`: the entry of a server in the configuration of a client, printed or written."""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeAlias
from urllib.parse import urlsplit

import typer

from mcp_bindgen.cli.options import EnvOption
from mcp_bindgen.cli.output import answer_json
from mcp_bindgen.ingest.paths import shown, write_file
from mcp_bindgen.ingest.sources import is_url
from mcp_bindgen.ir.diagnostics import InputError, refuse_os_errors
from mcp_bindgen.live.configuration import with_entries, with_yaml_entries
from mcp_bindgen.live.reloading.serving import split_target, why_unusable
from mcp_bindgen.tool_clients.servers import variables

ClientName: TypeAlias = Literal["claude-code", "claude-desktop", "cursor", "gemini-cli", "goose", "vscode"]
"""The clients whose configurations are known."""
_ROAMING: Final[Mapping[str, str]] = {
    "darwin": "~/Library/Application Support",
    "win32": os.environ.get("APPDATA", "~/AppData/Roaming"),
}
"""Where a platform keeps the configurations of programs; elsewhere it is ``~/.config``."""
_GOOSE: Final[Mapping[str, str]] = {"win32": f"{_ROAMING['win32']}/Block/goose/config"}
_KEYS: Final[Mapping[ClientName, str]] = {"goose": "extensions", "vscode": "servers"}
"""The object that holds the servers of a client, where it is not ``mcpServers``."""
_PLACES: Final[Mapping[ClientName, str]] = {
    "claude-code": ".mcp.json",
    "claude-desktop": f"{_ROAMING.get(sys.platform, '~/.config')}/Claude/claude_desktop_config.json",
    "cursor": "~/.cursor/mcp.json",
    "gemini-cli": "~/.gemini/settings.json",
    "goose": f"{_GOOSE.get(sys.platform, '~/.config/goose')}/config.yaml",
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
    uv: Annotated[bool, typer.Option("--uv", help="Start it with uv, in the project of the file.")] = False,
) -> None:
    """Print the entry of a server in the configuration of a desktop client or an editor, or write it there.

    A file is loaded before it is written to a configuration, so that no server is installed that cannot start. With
    --client, folders are made. Other entries and comments are kept; an entry of the same name is replaced.
    """
    if client is not None and config is not None:
        raise InputError.at("--client", "use only one of --client and --config")
    if is_url(server):
        usual_name, entry = _remote(server, env or [], uv)
    else:
        usual_name, entry = _local(server, env or [], _by_uv(server) if uv else (sys.executable,))
        if client or config:
            _load(server, entry)
    if client is not None:
        config, entry = Path(_PLACES[client]).expanduser(), _entry_of(client, server, entry, name or usual_name)
        key = key or _KEYS.get(client)
        with refuse_os_errors(config, "written"):
            config.parent.mkdir(parents=True, exist_ok=True)
    key, entries = key or "mcpServers", {name or usual_name: entry}
    if config is None:
        answer_json({key: entries})
        return
    written = with_yaml_entries if config.suffix in (".yaml", ".yml") else with_entries
    write_file(config, written(config, key, entries))
    print(f"wrote {shown(config)} ({next(iter(entries))})", file=sys.stderr)


def _local(server: str, env: list[str], python: tuple[str, ...]) -> tuple[str, dict[str, Any]]:
    """Return an entry that starts a file with an interpreter; clients start it in a folder of their choice."""
    path, variable = split_target(server)
    if not path.is_file():
        raise InputError.at(path, "no such file")
    target = f"{path.resolve()}:{variable}" if variable else str(path.resolve())
    entry: dict[str, Any] = {"command": python[0], "args": [*python[1:], "-m", "mcp_runtime", target]}
    return path.stem, entry | ({"env": variables(env)} if env else {})


def _by_uv(server: str) -> tuple[str, ...]:
    """Return the command that starts Python in the project of a file; by its path, as clients do not have yours."""
    file = split_target(server)[0].resolve()
    program = shutil.which("uv")
    if program is None:
        raise InputError.at("--uv", "uv is not installed")
    project = next((folder for folder in file.parents if (folder / "pyproject.toml").is_file()), None)
    if project is None:
        raise InputError.at("--uv", f"no pyproject.toml in {shown(file.parent)} or above, which names what uv installs")
    return program, "run", "--project", str(project), "python"


def _load(server: str, entry: Mapping[str, Any]) -> None:
    """Load a file with the interpreter of its entry, as the client will.

    Raises:
        InputError: it cannot be served.
    """
    command = [entry["command"], *entry["args"]]
    if entry["command"] == sys.executable:
        why = why_unusable(server)
    else:
        place = command.index("-m")
        done = subprocess.run(
            [*command[:place], "-c", _LOADS, command[-1]], capture_output=True, text=True, check=False
        )
        lines = done.stderr.strip().splitlines() or [f"it ended with {done.returncode}"]
        why = lines[-1] if done.returncode else ""
    if why:
        raise InputError.at(server, f"not installed, because it cannot be served: {why}")


_LOADS: Final = "import sys; from mcp_runtime.app.program import load_server; load_server(sys.argv[1])"


def _entry_of(client: ClientName, server: str, entry: dict[str, Any], name: str) -> dict[str, Any]:
    """Return an entry in the form of a client."""
    if client == "goose":
        usual: dict[str, Any] = {"name": name, "enabled": True, "timeout": 300}
        if is_url(server):
            return {**usual, "type": "streamable_http", "uri": server}
        return {**usual, "type": "stdio", "cmd": entry["command"], "args": entry["args"], "envs": entry.get("env", {})}
    if not is_url(server):
        return {"type": "stdio", **entry} if client == "vscode" else entry
    if client == "claude-desktop":
        raise InputError.at("--client", "claude-desktop reads no URLs from its configuration; add a connector there")
    return {"httpUrl": server} if client == "gemini-cli" else entry


def _remote(url: str, env: list[str], uv: bool) -> tuple[str, dict[str, Any]]:
    if env or uv:
        raise InputError.at("--env" if env else "--uv", "is for a server that the client starts, not for a URL")
    return urlsplit(url).hostname or url, {"type": "http", "url": url}
