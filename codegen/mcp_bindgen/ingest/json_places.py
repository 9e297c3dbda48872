"""The places that a schema.json refers to: its definitions, and any other schema in the file."""

import re
from collections.abc import Iterator
from urllib.parse import unquote

from mcp_bindgen.diagnostics import escape_pointer
from mcp_bindgen.ingest.json_keywords import Node
from mcp_bindgen.ir.names import pascal, unique
from mcp_bindgen.json_values import as_object, is_list, is_object

MAX_PLACES = 1000
"""How many schemas that are not definitions may be referred to; far above any real file."""


class Places:
    """Names the schemas of one file that references lead to, those below the definitions when they are asked for."""

    def __init__(self, root: Node, containers: list[str]) -> None:
        self._root = root
        self._names: dict[str, str] = {}
        self._nodes: dict[str, tuple[str, object]] = {}
        for container in containers:
            for name, node in as_object(root[container]).items():
                if name not in self._nodes:
                    self.add(name, f"/{escape_pointer(container)}/{escape_pointer(name)}", node)
        self._defined = len(self._nodes)

    def add(self, name: str, pointer: str, node: object) -> None:
        """Name the schema at a pointer."""
        self._names[pointer] = name
        self._nodes[name] = (pointer, node)

    def __iter__(self) -> Iterator[tuple[str, str, object]]:
        """Iterate over name, pointer and schema; what is named meanwhile comes last."""
        done: set[str] = set()
        while fresh := [name for name in self._nodes if name not in done]:
            for name in fresh:
                done.add(name)
                yield (name, *self._nodes[name])

    def name(self, target: str) -> str | None:
        """Return the name of the schema that a reference in this file leads to, or None."""
        if not target.startswith("#/"):
            return self._names.get("") if target == "#" else None
        pointer = target[1:]
        if pointer not in self._names:
            pointer = unquote(pointer)
        if pointer in self._names:
            return self._names[pointer]
        node = find(self._root, pointer)
        if node is None or len(self._nodes) - self._defined >= MAX_PLACES:
            return None
        name = unique(pascal(_below(pointer)) or "Schema", self._nodes)
        self.add(name, pointer, node)
        return name


def find(root: object, pointer: str) -> Node | bool | None:
    """Return the schema at a JSON pointer (RFC 6901), or None."""
    node = root
    for token in pointer.split("/")[1:]:
        node = _child(node, token.replace("~1", "/").replace("~0", "~"))
    return node if is_object(node) or isinstance(node, bool) else None


def _child(node: object, key: str) -> object:
    """Return the member or item of a JSON value that a token of a pointer names, or None."""
    if is_object(node):
        return node.get(key)
    return node[int(key)] if is_list(node) and re.fullmatch("[0-9]{1,9}", key) and int(key) < len(node) else None


def _below(pointer: str) -> str:
    """Return the tokens of a pointer that name something: not the keywords on the way."""
    tokens = pointer.split("/")[1:]
    keywords = {"$defs", "definitions", "properties", "items", "additionalProperties", "anyOf", "oneOf", "allOf"}
    return " ".join(token for token in tokens if token not in keywords)
