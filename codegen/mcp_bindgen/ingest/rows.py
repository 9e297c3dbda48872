"""Read the rows of schema/*.toml, which say what no schema file does, and the lines of docs.toml."""

import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

from mcp_bindgen.ir.document import Key
from mcp_bindgen.json_values import is_object


def read_rows(text: str, key: str, what: str) -> dict[str, Any]:
    """Read one value of each row, such as its direction; `what` names it in an error.

    Raises:
        ValueError: a row gives no reason.
    """
    rows = tomllib.loads(text)
    for name, row in rows.items():
        if not str(row.get("reason", "")).strip():
            raise ValueError(f"the {what} of {name} has no reason")
    return {name: row[key] for name, row in rows.items()}


def read_docs(text: str) -> dict[Key, str]:
    """Read the text of docs.toml: its lines by their path.

    Raises:
        tomllib.TOMLDecodeError: the text is not TOML.
    """
    return dict(_lines(tomllib.loads(text), ()))


def _lines(table: Mapping[str, Any], path: Key) -> Iterator[tuple[Key, str]]:
    for name, value in table.items():
        if is_object(value):
            yield from _lines(value, (*path, name))
        else:
            yield (*path, name), str(value)
