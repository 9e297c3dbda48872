"""Read schema/docs.toml: the project's own documentation of definitions, properties and constants."""

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias, cast

Key: TypeAlias = tuple[str, ...]
"""The path of a line in the file: ("properties", "Tool", "name"), perhaps below ("revisions", REVISION)."""


@dataclass(frozen=True, slots=True)
class DocBook:
    """The lines of docs.toml by their path."""

    lines: Mapping[Key, str] = field(default_factory=dict[Key, str])

    def definition(self, revision: str, name: str) -> tuple[Key, str] | None:
        """Return the line of a definition, and the key it was found under."""
        return self._first([("revisions", revision, "definitions", name), ("definitions", name)])

    def constant(self, name: str) -> tuple[Key, str] | None:
        """Return the line of a constant, and the key it was found under."""
        return self._first([("constants", name)])

    def property(self, revision: str, owners: Iterable[str], name: str) -> tuple[Key, str] | None:
        """Return the line of a property: `owners` are the struct and its ancestors, nearest first."""
        keys: list[Key] = []
        for owner in (*owners, "*"):
            keys += [("revisions", revision, "properties", owner, name), ("properties", owner, name)]
        return self._first(keys)

    def _first(self, keys: Iterable[Key]) -> tuple[Key, str] | None:
        return next(((key, self.lines[key]) for key in keys if key in self.lines), None)


def read_docs(text: str) -> DocBook:
    """Read the text of docs.toml.

    Raises:
        tomllib.TOMLDecodeError: the text is not TOML.
    """
    return DocBook(dict(_leaves(tomllib.loads(text), ())))


def _leaves(table: Mapping[str, Any], path: Key) -> Iterator[tuple[Key, str]]:
    for name, value in table.items():
        if isinstance(value, dict):
            yield from _leaves(cast(dict[str, Any], value), (*path, name))
        else:
            yield (*path, name), str(value)
