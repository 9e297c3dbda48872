"""The settings of a project: [tool.mcp-bindgen] in its pyproject.toml."""

import keyword
import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from mcp_bindgen.ingest.paths import read_toml
from mcp_bindgen.ir.diagnostics import InputError
from mcp_bindgen.ir.json_values import as_object, is_list, is_object

TABLE = "mcp-bindgen"
REVISION_FIELD = "{revision}"
"""The placeholder for the revision in the path of an extra file."""


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
    """The settings of a project's bindings; None or empty if not set.

    Paths in the file are relative to its folder; here they are joined with it.
    """

    source: Path | None = None
    revisions: tuple[str, ...] = ()
    schema: tuple[str, ...] = ()
    out: Path | None = None
    package: str | None = None
    templates: Path | None = None
    source_lines: bool = False
    baseline: Path | None = None
    extra: tuple[Extra, ...] = ()
    tools: Mapping[str, Any] = field(default_factory=dict[str, Any])
    extensions: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def folder(self) -> Path:
        """The project's folder, or the current folder without a project."""
        return self.source.parent if self.source else Path()


def find_settings(start: Path) -> Settings:
    """Read the settings of the nearest pyproject.toml, searching from a folder upwards.

    Without a file or the table, the settings are empty. The search ends at the top of the repository; outside a
    repository, at the home folder, or at `start` itself if that is not below it. A file that another user owns is
    ignored: settings name templates, and templates are code.

    Raises:
        InputError: the file is not TOML, or the table has an unknown key or a value of the wrong type.
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
    """Whether a file belongs to the current user, on systems with file owners."""
    return not hasattr(os, "getuid") or path.stat().st_uid == os.getuid()


def read_settings(path: Path) -> Settings:
    """Read the settings of one pyproject.toml.

    Raises:
        InputError: as for `find_settings`.
    """
    table = as_object(read_toml(path).get("tool")).get(TABLE)
    if table is None:
        return Settings()
    keys = [known.name for known in fields(Settings) if known.name != "source"]
    return _Settings(f"tool.{TABLE}", table, path, keys).settings()


def is_package_name(text: str) -> bool:
    """Whether a string is a valid package name: identifiers joined by dots, none of them a Python keyword."""
    return all(part.isidentifier() and not keyword.iskeyword(part) for part in text.split("."))


class Table:
    """Reads the values of the table `name` of a pyproject.toml; `keys` are the keys that it may have."""

    def __init__(self, name: str, values: object, path: Path, keys: Collection[str]) -> None:
        self.path = path
        self.name = name
        if not is_object(values):
            raise self.error("", "must be a table")
        self.values = values
        for key in self.values.keys() - set(keys):
            raise self.error(key, f"unknown key; the keys are {', '.join(keys)}")

    def error(self, key: str, message: str) -> InputError:
        """Create an error about a key or about the table."""
        return InputError.at(self.path, f"[{self.name}] {key}: {message}".replace(" :", ":"))

    def text(self, key: str) -> str | None:
        """Return a string, or None if the key is missing."""
        value: object = self.values.get(key)
        if value is None or (isinstance(value, str) and value):
            return value
        raise self.error(key, "must be a non-empty string")

    def texts(self, key: str) -> tuple[str, ...]:
        """Return a list of strings; a single string becomes a list."""
        value: object = self.values.get(key, [])
        values = [value] if isinstance(value, str) else value
        if is_list(values) and all(isinstance(v, str) and v for v in values):
            return tuple(values)
        raise self.error(key, "must be a non-empty string or a list of such strings")

    def flag(self, key: str) -> bool:
        """Return a boolean, false if the key is missing."""
        value: object = self.values.get(key, False)
        if isinstance(value, bool):
            return value
        raise self.error(key, "must be true or false")

    def file(self, key: str) -> Path | None:
        """Return a path, relative to the file's folder, or None if the key is missing."""
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
            source_lines=self.flag("source_lines"),
            baseline=self.file("baseline"),
            extra=self._extra(),
            tools=self._tables("tools", "servers", "NAME"),
            extensions=self._tables("extensions", "extensions", '"com.acme/orders"'),
        )

    def _extra(self) -> tuple[Extra, ...]:
        table: object = self.values.get("extra", {})
        if not is_object(table):
            raise self.error("extra", "must be a table of paths and templates")
        found: list[Extra] = []
        for path, template in table.items():
            if not path or not isinstance(template, str) or not template:
                raise self.error(f"extra.{path}", "must be the path of a template, relative to this file")
            found.append(Extra(path=path, template=self.path.parent / template))
        return tuple(found)

    def _tables(self, key: str, of: str, name: str) -> Mapping[str, Any]:
        """Return a table of tables unparsed; `tool_clients.servers` and `ingest.extensions` read them."""
        table: object = self.values.get(key, {})
        if not is_object(table):
            raise self.error(key, f"must be a table of {of} ([tool.mcp-bindgen.{key}.{name}])")
        return table

    def _place(self, text: str) -> str:
        return text if text.startswith(("http://", "https://")) else str(self.path.parent / text)
