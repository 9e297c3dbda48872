"""Find the line of a file that a JSON pointer refers to, so that annotations appear next to the change."""

from collections.abc import Iterator, Mapping
from functools import cached_property

from mcp_bindgen.ingest.places import json_lines, typescript_places
from mcp_bindgen.ingest.sources import SourceKind, SourceText, decode
from mcp_bindgen.ingest.typescript import read_typescript
from mcp_bindgen.ir.diagnostics import Diagnostics, Location
from mcp_bindgen.ir.json_values import escaped

_CONTAINERS = {"definitions": "$defs", "$defs": "definitions"}


class SourceFile:
    """A schema file that a side was read from; `path` is its path, without a commit in front."""

    def __init__(self, path: str, source: SourceText) -> None:
        self.path = path
        self._source = source

    def has(self, pointer: str) -> bool:
        """Whether the file has a line for exactly this JSON pointer."""
        return "".join(f"/{token}" for token in self._tokens(pointer)) in self._lines

    def locate(self, pointer: str) -> Location:
        """Return the line of a JSON pointer, or of its nearest parent; at worst, that of the whole file."""
        tokens = self._tokens(pointer)
        while tokens:
            here = "".join(f"/{token}" for token in tokens)
            if here in self._lines:
                return Location(source=self.path, pointer=here, line=self._lines[here])
            tokens.pop()
        return Location(source=self.path, line=1)

    def _tokens(self, pointer: str) -> list[str]:
        """Split a JSON pointer, with the container of definitions that the file uses."""
        tokens = pointer.split("/")[1:]
        if tokens and f"/{tokens[0]}" not in self._lines and tokens[0] in _CONTAINERS:
            tokens[0] = _CONTAINERS[tokens[0]]
        return tokens

    @cached_property
    def _lines(self) -> Mapping[str, int]:
        is_json = self._source.kind is SourceKind.JSON_SCHEMA
        found: dict[str, int] = {}
        for pointer, line in json_lines(decode(self._source)) if is_json else _typescript_lines(self._source):
            found.setdefault(pointer, line)
        return found


def _typescript_lines(source: SourceText) -> Iterator[tuple[str, int]]:
    """Iterate over the declarations of a schema.ts and their members, by their JSON pointers in schema.json."""
    yield "/definitions", 1
    for path, where in typescript_places(read_typescript(decode(source), source.name, Diagnostics())):
        if where.line is not None:
            yield "/definitions/" + "/properties/".join(map(escaped, path)), where.line
