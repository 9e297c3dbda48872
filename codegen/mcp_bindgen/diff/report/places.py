"""Find the line of a file that a JSON pointer refers to, so that annotations appear next to the change."""

import json
import re
from collections.abc import Iterator, Mapping
from functools import cached_property

from mcp_bindgen.diagnostics import Location, escape_pointer
from mcp_bindgen.ingest.sources import SourceKind, SourceText

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],\n]|[^\s{}\[\],:"]+')
_CONTAINERS = {"definitions": "$defs", "$defs": "definitions"}
_DECLARATION = re.compile(r"^\s*(?:export\s+)?(?:declare\s+)?(?:interface|type|class|const|enum)\s+(\w+)")
_MEMBER = re.compile(r"^\s+(?:readonly\s+)?[\"'\[]?([^\s\"'\]?:]+)[\"'\]]?\??\s*:")


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
        text = self._source.data.decode("utf-8-sig", "replace")
        lines = _json_lines if self._source.kind is SourceKind.JSON_SCHEMA else _typescript_lines
        found: dict[str, int] = {}
        for pointer, line in lines(text):
            found.setdefault(pointer, line)
        return found


def _json_lines(text: str) -> Iterator[tuple[str, int]]:
    """Iterate over the pointers of a JSON text that is known to be valid, each with its line."""
    line = 1
    stack: list[tuple[str, bool]] = []
    here, index, is_key = "", [0], False
    for match in _TOKEN.finditer(text):
        token = match[0]
        if token == "\n":
            line += 1
            continue
        if token in "]}":
            here = stack.pop()[0] if stack else ""
            index.pop()
            continue
        if token == ",":
            here, is_object = stack[-1] if stack else ("", False)
            index[-1] += 1
            is_key = is_object
            continue
        if is_key:
            here = f"{stack[-1][0]}/{escape_pointer(json.loads(token))}"
            yield here, line
            is_key = False
            continue
        if stack and not stack[-1][1]:
            here = f"{stack[-1][0]}/{index[-1]}"
            yield here, line
        if token in "{[":
            stack.append((here, token == "{"))
            index.append(0)
            is_key = token == "{"


def _typescript_lines(text: str) -> Iterator[tuple[str, int]]:
    """Iterate over the declarations of a schema.ts and their members, by their JSON pointers in schema.json."""
    name = ""
    yield "/definitions", 1
    for number, line in enumerate(text.splitlines(), 1):
        if found := _DECLARATION.match(line):
            name = found[1]
            yield f"/definitions/{name}", number
        elif name and (member := _MEMBER.match(line)):
            yield f"/definitions/{name}/properties/{escape_pointer(member[1])}", number
