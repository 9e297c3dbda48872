"""The generated packages of all released revisions."""

import sys
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

from mcp_bindgen.ingest.revisions import released, revision_folder
from mcp_bindgen.ir.diagnostics import InputError
from mcp_bindgen.project.settings import find_settings, is_package_name


def package_of(revision: str) -> Any:
    """Return the generated package of a released revision."""
    return import_module(f"mcp_bindings.{revision_folder(revision)}")


def revisions(only: str | None = None) -> tuple[str, ...]:
    """Return the released revisions, oldest first, or the only one that is asked for.

    Raises:
        InputError: there is no such revision.
    """
    if only is None:
        return tuple(released())
    if only not in released():
        message = f"{only!r} is not a released revision; these are {', '.join(released())}"
        raise InputError.at("--revision", message)
    return (only,)


def packages_of(names: Iterable[str]) -> tuple[Any, ...]:
    """Return the generated packages of some revisions, in the same order."""
    return tuple(package_of(name) for name in names)


def own_package(name: str) -> Any:
    """Return the package that a user generated for one revision, from the current folder or the path of imports.

    Raises:
        InputError: there is no such package, or it is not one of bindings.
    """
    if not is_package_name(name):
        raise InputError.at("--package", f"{name!r} is not a package name: write identifiers joined by dots")
    sys.path.insert(0, str(find_settings(Path.cwd()).out or Path.cwd()))
    try:
        package = import_module(name)
    except ImportError as error:
        raise InputError.at("--package", f"{name} cannot be imported: {error}") from None
    if not hasattr(package, "BINDING") or not hasattr(package, "Client"):
        raise InputError.at("--package", f"{name} has no bindings of one revision; generate it with --package {name}")
    return package
