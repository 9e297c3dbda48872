"""Servers: those of a project, in the tables [tool.mcp-bindgen.tools.NAME] of its pyproject.toml, and a command's."""

import keyword
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcp_bindgen.ingest.sources import is_url
from mcp_bindgen.ir.diagnostics import InputError, Location
from mcp_bindgen.ir.json_values import is_object
from mcp_bindgen.project.settings import TABLE, Table, find_settings

ONE_OF = "give a URL, a server to start (-- COMMAND...) or a file (--from FILE)"
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_VALUE = re.compile(r"[\x21-\x7e](?:[\x20-\x7e\t]*[\x21-\x7e])?")
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


def servers_of_project(names: Sequence[str] | None) -> tuple[Server, ...]:
    """Return the servers of the project, or those with the given names.

    Raises:
        InputError: the project has none, or none with a given name.
    """
    settings = find_settings(Path.cwd())
    servers = read_servers(settings.tools, settings.source) if settings.source else ()
    if not servers:
        raise InputError.at("tools", f"{ONE_OF}; this project has no [tool.mcp-bindgen.tools.NAME]")
    known = {server.name: server for server in servers}
    for name in names or ():
        if name not in known:
            message = f"{name!r} is not a server of this project; its servers are {', '.join(known)}"
            raise InputError.at("--server", message)
    return tuple(known[name] for name in dict.fromkeys(names or known))


def described(
    words: Sequence[str], source: Path | None, *, env: Sequence[str], cwd: Path | None, header: Sequence[str], by: str
) -> Server | None:
    """Return the server that a URL, a command or a file on the command line gives; None without any.

    Raises:
        InputError: there are two, or options for starting a server without a server.
    """
    if source is not None and words:
        raise InputError.at(by, f"{ONE_OF}, but only one of these")
    url = words[0] if words and is_url(words[0]) else ""
    if header and not url:
        raise InputError.at(by, "--header is for a server with a URL")
    if url:
        if len(words) > 1 or env or cwd:
            raise InputError.at(by, "a server with a URL is not started: it takes no arguments, --env or --cwd")
        return Server(url=url, headers=headers(header))
    if (env or cwd) and not words:
        raise InputError.at(by, "--env and --cwd are for a server to start (-- COMMAND...)")
    if source is None and not words:
        return None
    return Server(command=tuple(words), source=source, env=variables(env), cwd=cwd)


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
            where = " ".join((name, "from", variable))
            raise InputError.at("--header", f"{where} is not a valid header")
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
