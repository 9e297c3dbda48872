"""The settings of a project: the table [tool.mcp-bindgen] of its pyproject.toml."""

import keyword
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from mcp_bindgen.diagnostics import InputError, Location

TABLE = "mcp-bindgen"


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


def find_settings(start: Path) -> Settings:
    """Read the settings of the nearest pyproject.toml, from a folder upwards; without one, or without the table, none.

    Raises:
        InputError: the file is not TOML, or the table has an unknown key or a value of a wrong type.
    """
    for folder in (start, *start.parents):
        if (folder / "pyproject.toml").is_file():
            return read_settings(folder / "pyproject.toml")
    return Settings()


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
    if not isinstance(table, dict):
        raise InputError.at(where, f"tool.{TABLE} is a table")
    return _Table(cast(dict[str, Any], table), path).settings()


def is_package_name(text: str) -> bool:
    """Whether a text can name a package: identifiers joined by dots, none of them a keyword of Python."""
    return all(part.isidentifier() and not keyword.iskeyword(part) for part in text.split("."))


class _Table:
    def __init__(self, values: Mapping[str, Any], path: Path) -> None:
        self._values = values
        self._path = path

    def settings(self) -> Settings:
        known = [name for name in Settings.__slots__ if name != "source"]
        for key in self._values.keys() - set(known):
            raise self._error(key, f"is not a key of it; the keys are {', '.join(known)}")
        package = self._text("package")
        if package is not None and not is_package_name(package):
            raise self._error("package", f"{package!r} cannot name a Python package")
        return Settings(
            source=self._path,
            revisions=self._texts("revisions"),
            schema=tuple(self._place(place) for place in self._texts("schema")),
            out=self._joined("out"),
            package=package,
            templates=self._joined("templates"),
            baseline=self._joined("baseline"),
        )

    def _error(self, key: str, message: str) -> InputError:
        return InputError.at(Location(source=str(self._path)), f"[tool.{TABLE}] {key}: {message}")

    def _text(self, key: str) -> str | None:
        value: object = self._values.get(key)
        if value is None or (isinstance(value, str) and value):
            return value
        raise self._error(key, "is a text that is not empty")

    def _texts(self, key: str) -> tuple[str, ...]:
        value: object = self._values.get(key, [])
        values = [value] if isinstance(value, str) else value
        if isinstance(values, list) and all(isinstance(v, str) and v for v in cast(list[object], values)):
            return tuple(cast(list[str], values))
        raise self._error(key, "is a text or a list of texts, none of them empty")

    def _joined(self, key: str) -> Path | None:
        text = self._text(key)
        return self._path.parent / text if text else None

    def _place(self, text: str) -> str:
        return text if text.startswith(("http://", "https://")) else str(self._path.parent / text)
