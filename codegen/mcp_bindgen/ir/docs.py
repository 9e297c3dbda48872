"""The project's own documentation of definitions, properties and constants (schema/docs.toml)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

Key: TypeAlias = tuple[str, ...]
"""The path of a line in docs.toml: ("properties", "Tool", "name"), perhaps below ("revisions", REVISION)."""


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
