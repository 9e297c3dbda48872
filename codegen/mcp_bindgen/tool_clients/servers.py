"""The servers of a project: the tables [tool.mcp-bindgen.tools.NAME] of its pyproject.toml."""

import keyword
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcp_bindgen.diagnostics import InputError, Location
from mcp_bindgen.json_values import is_object
from mcp_bindgen.settings import TABLE, Table

LOCK = "tools.lock.json"
"""The default lock file, next to the module."""
_KEYS = ("command", "env", "cwd", "url", "headers", "from", "module", "lock", "class")


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """One server: where its tools are listed, and what is generated from them.

    Attributes:
        name: its name in the project; empty for one given on the command line.
        command: the program that is the server, and its arguments; empty if there is a `url` or a `source`.
        env: environment variables to set for it.
        cwd: its working directory; None for the current one.
        url: its URL, if it uses HTTP; otherwise empty.
        headers: headers of every request to it.
        source: a file with its tools.
        module: the module to write; None if the command needs none.
        lock: the lock file.
        client: the client class; None to name it after the server.
    """

    name: str = ""
    command: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    cwd: Path | None = None
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    source: Path | None = None
    module: Path | None = None
    lock: Path = Path(LOCK)
    client: str | None = None


def is_url(text: str) -> bool:
    """Whether a text is the URL of a server."""
    return text.lower().startswith(("http://", "https://"))


def module_path(out: Path, where: Location) -> Path:
    """Return the file of a module: itself, or ``__init__.py`` in the folder of a package.

    Raises:
        InputError: its name is not a valid module name.
    """
    name = out.stem if out.suffix == ".py" else out.name
    if not name.isidentifier() or keyword.iskeyword(name):
        raise InputError.at(where, f"{out.name!r} cannot be imported; use letters, digits and underscores")
    return out if out.suffix == ".py" else out / "__init__.py"


def read_servers(table: Mapping[str, Any], path: Path) -> tuple[Server, ...]:
    """Read the servers of a project from its table; `path` is the file that holds it.

    Raises:
        InputError: a table has an unknown key, a value of a wrong type, or sets too many or too few of them.
    """
    found = tuple(_Server(name, values, path).server() for name, values in table.items())
    locks: dict[Path, str] = {}
    for server in found:
        if locks.setdefault(server.lock, server.name) != server.name:
            raise InputError.at(path, f"{locks[server.lock]} and {server.name} share a lock file; choose another")
    return found


class _Server(Table):
    def __init__(self, name: str, values: object, path: Path) -> None:
        super().__init__(f"tool.{TABLE}.tools.{name}", values, path, _KEYS)
        self._server = name

    def server(self) -> Server:
        command, url, source = self._command(), self.text("url") or "", self.file("from")
        if [bool(command), bool(url), bool(source)].count(True) != 1:
            raise self.error("", "needs exactly one of a command, a url and a file (from)")
        if url and not is_url(url):
            raise self.error("url", "must begin with http:// or https://")
        out = self.file("module")
        module = None if out is None else module_path(out, Location(source=f"{self.path}: [{self.name}] module"))
        beside = (module or self.path).with_name(f"{self._server}.lock.json")
        return Server(
            name=self._server,
            command=command,
            env=self._variables("env"),
            url=url,
            headers=self._variables("headers"),
            cwd=self.file("cwd") or self.path.parent,
            source=source,
            module=module,
            lock=self.file("lock") or beside,
            client=self.text("class"),
        )

    def _command(self) -> tuple[str, ...]:
        if isinstance(self.values.get("command"), str):
            raise self.error("command", "must be a list of strings: the program and its arguments")
        return self.texts("command")

    def _variables(self, key: str) -> Mapping[str, str]:
        env = self.values.get(key, {})
        if not is_object(env) or not all(isinstance(value, str) for value in env.values()):
            raise self.error(key, "must be a table of strings")
        # The server gets only these variables.
        own = {name: os.environ.get(value[1:]) if value.startswith("$") else value for name, value in env.items()}
        return {name: value for name, value in own.items() if value is not None}
