"""The settings of a project: the table [tool.mcp-bindgen] of its pyproject.toml."""

import keyword
import os
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, cast

from mcp_bindgen.diagnostics import InputError, Location

TABLE = "mcp-bindgen"
REVISION_FIELD = "{revision}"
"""What stands for the revision in the path of an extra file."""


@dataclass(frozen=True, slots=True)
class Extra:
    """A file of the project that is rendered once per revision: its path in the project, and its template."""

    path: str
    template: Path

    def path_of(self, revision: str) -> str:
        """Return the path of the file of one revision."""
        return self.path.replace(REVISION_FIELD, revision)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a project says about its bindings; None or empty where it says nothing.

    Paths in the file are relative to its folder; here they are joined with it.
    """

    source: Path | None = None
    revisions: tuple[str, ...] = ()
    schema: tuple[str, ...] = ()
    out: Path | None = None
    package: str | None = None
    templates: Path | None = None
    baseline: Path | None = None
    extra: tuple[Extra, ...] = ()
    tools: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def folder(self) -> Path:
        """The folder of the project; the current one without a project."""
        return self.source.parent if self.source else Path()


def find_settings(start: Path) -> Settings:
    """Read the settings of the nearest pyproject.toml, from a folder upwards; without one, or without the table, none.

    The search ends at the top of the repository; outside a repository at the home folder, or at `start` itself if that
    is not below it. A file that another user owns is ignored: settings name templates, and templates are code.

    Raises:
        InputError: the file is not TOML, or the table has an unknown key or a value of a wrong type.
    """
    for folder in _searched(start):
        path = folder / "pyproject.toml"
        if path.is_file() and _is_trusted(path):
            return read_settings(path)
    return Settings()


def _searched(start: Path) -> list[Path]:
    """Return the folders to search for settings, the nearest first."""
    upwards = [start, *start.parents]
    top = next((folder for folder in upwards if (folder / ".git").exists()), None)
    if top is None:
        home = _home()
        top = home if home in upwards else start
    return upwards[: upwards.index(top) + 1]


def _home() -> Path | None:
    try:
        return Path.home().resolve()
    except RuntimeError:
        return None


def _is_trusted(path: Path) -> bool:
    """Whether a file belongs to the user who runs us, where the system knows owners."""
    return not hasattr(os, "getuid") or path.stat().st_uid == os.getuid()


def read_settings(path: Path) -> Settings:
    """Read the settings of one pyproject.toml.

    Raises:
        InputError: as `find_settings` says.
    """
    where = Location(source=str(path))
    try:
        document = tomllib.loads(path.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError.at(where, f"not valid TOML: {error}") from None
    except OSError as error:
        raise InputError.at(where, f"cannot be read: {error.strerror}") from None
    tool = document.get("tool", {})
    table: object = cast(dict[str, Any], tool).get(TABLE) if isinstance(tool, dict) else None
    if table is None:
        return Settings()
    keys = [known.name for known in fields(Settings) if known.name != "source"]
    return _Settings(f"tool.{TABLE}", table, path, keys).settings()


def is_package_name(text: str) -> bool:
    """Whether a text can name a package: identifiers joined by dots, none of them a keyword of Python."""
    return all(part.isidentifier() and not keyword.iskeyword(part) for part in text.split("."))


class Table:
    """Reads the values of one table of a pyproject.toml; `name` is that of the table, `keys` are those it may have."""

    def __init__(self, name: str, values: object, path: Path, keys: Collection[str]) -> None:
        self.path = path
        self.name = name
        if not isinstance(values, dict):
            raise self.error("", "must be a table")
        self.values = cast(dict[str, Any], values)
        for key in self.values.keys() - set(keys):
            raise self.error(key, f"unknown key; the keys are {', '.join(keys)}")

    def error(self, key: str, message: str) -> InputError:
        """Make an error of what is wrong with a key, or with the table."""
        return InputError.at(Location(source=str(self.path)), f"[{self.name}] {key}: {message}".replace(" :", ":"))

    def text(self, key: str) -> str | None:
        """Return a text, None if there is none."""
        value: object = self.values.get(key)
        if value is None or (isinstance(value, str) and value):
            return value
        raise self.error(key, "must be a string that is not empty")

    def texts(self, key: str) -> tuple[str, ...]:
        """Return a list of texts, or one text as a list."""
        value: object = self.values.get(key, [])
        values = [value] if isinstance(value, str) else value
        if isinstance(values, list) and all(isinstance(v, str) and v for v in cast(list[object], values)):
            return tuple(cast(list[str], values))
        raise self.error(key, "must be a string or a list of strings, none of them empty")

    def file(self, key: str) -> Path | None:
        """Return a path, which is relative to the folder of the file, None if there is none."""
        text = self.text(key)
        return self.path.parent / text if text else None


class _Settings(Table):
    def settings(self) -> Settings:
        package = self.text("package")
        if package is not None and not is_package_name(package):
            raise self.error("package", f"{package!r} cannot name a Python package")
        return Settings(
            source=self.path,
            revisions=self.texts("revisions"),
            schema=tuple(self._place(place) for place in self.texts("schema")),
            out=self.file("out"),
            package=package,
            templates=self.file("templates"),
            baseline=self.file("baseline"),
            extra=self._extra(),
            tools=self._servers(),
        )

    def _extra(self) -> tuple[Extra, ...]:
        table: object = self.values.get("extra", {})
        if not isinstance(table, dict):
            raise self.error("extra", "must be a table of paths and templates")
        found: list[Extra] = []
        for path, template in cast(dict[str, object], table).items():
            if not path or not isinstance(template, str) or not template:
                raise self.error(f"extra.{path}", "is the path of a template, relative to this file")
            found.append(Extra(path=path, template=self.path.parent / template))
        return tuple(found)

    def _servers(self) -> Mapping[str, Any]:
        """Return the tables of servers as they are; `tool_clients.servers` reads them."""
        table: object = self.values.get("tools", {})
        if not isinstance(table, dict):
            raise self.error("tools", "must be a table of servers ([tool.mcp-bindgen.tools.NAME])")
        return cast(dict[str, Any], table)

    def _place(self, text: str) -> str:
        return text if text.startswith(("http://", "https://")) else str(self.path.parent / text)
