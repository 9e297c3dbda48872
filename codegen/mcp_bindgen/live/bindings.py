"""The generated packages of all released revisions."""

from collections.abc import Iterable
from importlib import import_module
from typing import Any

from mcp_bindgen.diagnostics import InputError
from mcp_bindgen.ingest.revisions import released, revision_folder


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
