"""Annotations for people: the types, without the metadata that tells pydantic how to validate."""

import inspect
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, get_type_hints


def simplify(values: Iterable[object]) -> None:
    """Replace ``Annotated[T, ...]`` by ``T`` in the annotations of functions, and of classes with their methods."""
    parts = {id(part): part for value in values for part in _parts(value)}
    for part in parts.values():
        try:
            hints = get_type_hints(part)
        except NameError:
            continue  # It names what only type checkers import; Sphinx prints it as it is written.
        part.__annotations__ = {name: hints[name] for name in part.__annotations__}


def addresses(pages: Iterable[Path]) -> list[str]:
    """Return a line for each page that prints an object which only has an address to show."""
    found = (path for path in pages if re.search(r"\b0x[0-9a-f]{8,}", path.read_text("utf-8")))
    return [f"{path.name} shows the address of an object" for path in found]


def _parts(value: object) -> Iterator[Any]:
    if inspect.isfunction(value):
        yield value
    elif inspect.isclass(value):
        for base in value.__mro__:
            if base.__module__.startswith("mcp_"):
                yield base
                yield from (inspect.unwrap(member) for member in vars(base).values() if inspect.isfunction(member))
