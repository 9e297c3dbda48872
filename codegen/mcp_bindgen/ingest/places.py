"""The places of definitions and properties in the files that a revision was read from.

A path is the names that lead to something: ``("Tool", "inputSchema", "type")``. What is inside a list, a union or the
values of a map belongs to the property that holds it.
"""

import json
import re
from collections.abc import Iterable, Iterator
from typing import TypeAlias

from mcp_bindgen.ingest.sources import SourceText, decode
from mcp_bindgen.ingest.typescript_types import Body, TypeScriptDocument, Written, children
from mcp_bindgen.ir.diagnostics import Location
from mcp_bindgen.ir.json_values import escaped, unescaped

Names: TypeAlias = tuple[str, ...]
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],\n]|[^\s{}\[\],:"]+')
_CONTAINERS = ("$defs", "definitions")
_LISTED = ("allOf", "anyOf", "oneOf")
_VALUE = "*"
"""What follows the path of an object in that of its undeclared properties."""


def by_path(places: Iterable[tuple[Names, Location]]) -> dict[str, Location]:
    """Return places by their paths, joined by dots (``Tool.inputSchema.type``); of several with one path, the first."""
    found: dict[str, Location] = {}
    for names, where in places:
        found.setdefault(".".join(names), where)
    return found


def typescript_places(document: TypeScriptDocument) -> Iterator[tuple[Names, Location]]:
    """Iterate over the declarations of a schema.ts and their members, inline ones included."""
    for declaration in document.declarations:
        path = (declaration.name,)
        yield path, declaration.where
        yield from _members(declaration.body, path)


def _members(type_: Written, path: Names) -> Iterator[tuple[Names, Location]]:
    if not isinstance(type_, Body):
        for part in children(type_):
            yield from _members(part, path)
        return
    for member in type_.properties:
        yield (*path, member.wire_name), member.where
        yield from _members(member.type, (*path, member.wire_name))
    if type_.index is not None:
        yield from _members(type_.index, (*path, _VALUE))


def schema_places(source: SourceText) -> Iterator[tuple[Names, Location]]:
    """Iterate over the definitions of a schema.json, which is known to be valid, and their properties."""
    for pointer, line in json_lines(decode(source)):
        path = _path(pointer.split("/")[1:])
        if path:
            yield path, Location(source=source.name, pointer=pointer, line=line)


def _path(tokens: list[str]) -> Names:
    """Return the path that a JSON pointer leads to; empty if it leads to something else."""
    if len(tokens) < 2 or tokens[0] not in _CONTAINERS:
        return ()
    path, rest = [tokens[1]], iter(tokens[2:])
    for token in rest:
        if token == "additionalProperties":
            path.append(_VALUE)
        elif token == "properties" or token in _LISTED:
            following = next(rest, None)
            if following is None:
                return ()
            path += [following] if token == "properties" else []
        elif token != "items":
            return ()
    return tuple(map(unescaped, path))


def json_lines(text: str) -> Iterator[tuple[str, int]]:
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
            here = f"{stack[-1][0]}/{escaped(json.loads(token))}"
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
