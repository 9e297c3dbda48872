"""The servers of a project: the tables [tool.mcp-bindgen.tools.NAME] of its pyproject.toml."""

import keyword
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from mcp_bindgen.diagnostics import InputError, Location
from mcp_bindgen.tool_clients.kinds import is_list, is_object

LOCK = "tools.lock.json"
"""The lock file beside a module, unless another one is named."""
_KEYS = ("command", "env", "cwd", "from", "module", "lock", "class")


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """One server: where its tools are listed, and what is made of them.

    Attributes:
        name: what the project calls it; empty for one that the command line describes.
        command: the program that is the server, and its arguments; empty if there is a `source`.
        env: environment variables to set for it.
        cwd: its working directory; None for the current one.
        source: a file with its tools.
        module: the module to write; None if the command needs none.
        lock: the lock file.
        client: the client class; None to name it after the server.
    """

    name: str = ""
    command: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    cwd: Path | None = None
    source: Path | None = None
    module: Path | None = None
    lock: Path = Path(LOCK)
    client: str | None = None


def module_path(out: Path, where: Location) -> Path:
    """Return the file of a module: itself, or ``__init__.py`` in the folder of a package.

    Raises:
        InputError: Python cannot import it by its name.
    """
    name = out.stem if out.suffix == ".py" else out.name
    if not name.isidentifier() or keyword.iskeyword(name):
        raise InputError.at(where, f"{out.name!r} cannot be imported; use letters, digits and underscores")
    return out if out.suffix == ".py" else out / "__init__.py"


def read_servers(table: Mapping[str, Any], path: Path) -> tuple[Server, ...]:
    """Read the servers of a project from its table; `path` is the file that holds it.

    Raises:
        InputError: a table has an unknown key, a value of a wrong type, or says too much or too little.
    """
    found = tuple(_Table(name, values, path).server() for name, values in table.items())
    locks: dict[Path, str] = {}
    for server in found:
        if locks.setdefault(server.lock, server.name) != server.name:
            where = Location(source=str(path))
            raise InputError.at(where, f"{locks[server.lock]} and {server.name} have the same lock file; name another")
    return found


class _Table:
    def __init__(self, name: str, values: object, path: Path) -> None:
        self._name = name
        self._path = path
        self._values: dict[str, Any] = values if is_object(values) else self._fail("", "must be a table")

    def server(self) -> Server:
        for key in self._values.keys() - set(_KEYS):
            self._fail(key, f"unknown key; the keys are {', '.join(_KEYS)}")
        command, source = self._command(), self._file("from")
        if bool(command) == bool(source):
            self._fail("", "needs a command or a file (from), one of the two")
        out = self._file("module")
        module = None if out is None else module_path(out, self._where("module"))
        beside = (
            module.with_name(f"{self._name}.lock.json") if module else self._path.parent / f"{self._name}.lock.json"
        )
        return Server(
            name=self._name,
            command=command,
            env=self._env(),
            cwd=self._file("cwd") or self._path.parent,
            source=source,
            module=module,
            lock=self._file("lock") or beside,
            client=self._text("class"),
        )

    def _where(self, key: str) -> Location:
        place = ".".join(part for part in ("tool.mcp-bindgen.tools", self._name) if part)
        return Location(source=f"{self._path}: [{place}]{f' {key}' if key else ''}")

    def _fail(self, key: str, message: str) -> NoReturn:
        raise InputError.at(self._where(key), message)

    def _text(self, key: str) -> str | None:
        value = self._values.get(key)
        if value is not None and not (isinstance(value, str) and value):
            self._fail(key, "must be a string that is not empty")
        return value

    def _file(self, key: str) -> Path | None:
        text = self._text(key)
        return None if text is None else self._path.parent / text

    def _command(self) -> tuple[str, ...]:
        words = self._values.get("command", [])
        if not is_list(words) or not all(isinstance(word, str) and word for word in words):
            self._fail("command", "must be a list of strings: the program and its arguments")
        return tuple(words)

    def _env(self) -> Mapping[str, str]:
        env = self._values.get("env", {})
        if not is_object(env) or not all(isinstance(value, str) for value in env.values()):
            self._fail("env", "must be a table of strings")
        # What is not set here is not set there.
        own = {name: os.environ.get(value[1:]) if value.startswith("$") else value for name, value in env.items()}
        return {name: value for name, value in own.items() if value is not None}
