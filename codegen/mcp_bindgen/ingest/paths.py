"""Paths: those of the files shipped with the generator, those shown to people, and those written."""

import errno
import json
import os
import stat
import tempfile
import tomllib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from mcp_bindgen.ir.diagnostics import InputError, refuse_os_errors


@cache
def shipped(folder: str) -> Path:
    """Return a shipped folder (``schema``, ``templates``, ``docs``): in a wheel or in the repository."""
    package = Path(__file__).resolve().parents[1]
    inside = package / folder
    return inside if inside.is_dir() else package.parents[1] / folder


def shown(path: Path | str) -> str:
    """Return a path relative to the current folder if it is below that."""
    here = Path.cwd()
    whole = here / path
    return (whole.relative_to(here) if whole.is_relative_to(here) else Path(path)).as_posix()


def read_regular(path: Path, max_bytes: int) -> bytes:
    """Return the contents of a file of a tree that may come from anywhere.

    Raises:
        OSError: it cannot be read, is a device or a pipe, or is too large.
    """
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))  # opening a pipe must not block
    with open(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", str(path))
        data = file.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise OSError(errno.EFBIG, f"larger than {max_bytes:,} bytes", str(path))
    return data


def write_file(path: Path, text: str) -> None:
    """Write a file atomically.

    Raises:
        InputError: it cannot be written, or the path is not a regular file (a folder, a device).
    """
    where, path = path, path.resolve()  # Keep a symbolic link.
    if path.exists() and not path.is_file():
        raise InputError.at(where, "cannot be written: not a regular file")
    temporary = tempfile.NamedTemporaryFile
    with refuse_os_errors(where, "written"), temporary(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
        try:
            file.write(text.encode("utf-8", "backslashreplace"))
            file.flush()
            mode = path.stat().st_mode & 0o7777 if path.exists() else 0o666 & ~_umask()
            os.chmod(file.name, mode)
            os.replace(file.name, path)
        except BaseException:
            os.unlink(file.name)
            raise


def read_toml(path: Path) -> dict[str, Any]:
    """Read a TOML file.

    Raises:
        InputError: it cannot be read, or is not valid TOML.
    """
    found: dict[str, Any] = _read(path, "TOML", tomllib.loads)
    return found


def read_json(path: Path) -> Any:
    """Read a JSON file.

    Raises:
        InputError: it cannot be read, or is not valid JSON.
    """
    return _read(path, "JSON", json.loads)


def _read(path: Path, language: str, parse: Callable[[str], Any]) -> Any:
    try:
        with refuse_os_errors(path):
            return parse(path.read_text("utf-8"))
    except (ValueError, RecursionError) as error:
        raise InputError.at(path, f"not valid {language}: {error}") from None


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current
