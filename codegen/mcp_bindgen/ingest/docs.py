"""Read schema/docs.toml: the project's own documentation of definitions, properties and constants."""

import tomllib
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias, cast

Key: TypeAlias = tuple[str, ...]
"""The path of a line in the file: ("properties", "Tool", "name"), perhaps below ("revisions", REVISION)."""


def read_docs(text: str) -> dict[Key, str]:
    """Read the text of docs.toml: its lines by their path.

    Raises:
        tomllib.TOMLDecodeError: the text is not TOML.
    """
    return dict(_leaves(tomllib.loads(text), ()))


def _leaves(table: Mapping[str, Any], path: Key) -> Iterator[tuple[Key, str]]:
    for name, value in table.items():
        if isinstance(value, dict):
            yield from _leaves(cast(dict[str, Any], value), (*path, name))
        else:
            yield (*path, name), str(value)
