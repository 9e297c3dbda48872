"""Build values of one revision's types: small ones, with many variants at the end of a path."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from mcp_bindgen.ir.facts import admits
from mcp_bindgen.ir.leaves import forms, is_json_schema, leaves
from mcp_bindgen.ir.nodes import Bounds, Kind, ListOf, Literal, MapOf, Primitive, Protocol, Ref, Scalar, Struct, TypeRef
from mcp_bindgen.ir.scalars import fits
from mcp_bindgen.ir.spell import spell

MAX_LENGTH = 10_000
"""The longest list or string that is tried, in items or characters."""
MAX_PATTERN = 1_000
"""The longest pattern, in characters, that is followed."""
MAX_DEPTH = 20
"""The maximum depth of a value."""

MAX_FULL_DEPTH = 4
"""The maximum number of objects inside each other that have all their properties."""

ANY_KEY = "example"
"""The property name used in maps."""

_EXAMPLES: Mapping[str, Scalar] = {
    "CreateMessageResult.role": "assistant",
    "blob": "aGVsbG8=",
    "code": -32603,
    "createdAt": "2026-01-01T00:00:00Z",
    "cursor": "page-2",
    "data": "aGVsbG8=",
    "id": 1,
    "lastUpdatedAt": "2026-01-01T00:00:00Z",
    "maxTokens": 100,
    "message": "Which city?",
    "mimeType": "text/plain",
    "model": "model-1",
    "name": "get_weather",
    "progressToken": 1,
    "requestId": 1,
    "taskId": "task-1",
    "text": "Hello",
    "uri": "file:///readme.md",
    "uriTemplate": "file:///{path}",
    "url": "https://example.com/",
    "version": "1.0.0",
}
"""Realistic values by property name. Values that the type does not admit are not used."""

_ANYTHING: tuple[Any, ...] = (None, True, 1, 1.5, "text", [], {})
_GROUP = re.compile(r"\((?:\?:)?([^()|]*)(?:\|[^()]*)?\)")
_PART = re.compile(r"(\[[^\]]*\]|\\.|.)(?:\{(\d+)[^}]*\}|[*+?])?")
_CLASSES = {".": "x", "\\d": "0", "\\w": "a", "\\s": " ", "\\S": "x", "\\D": "x"}
"""What the classes of characters in a pattern stand for."""
_ANCHORS = re.compile(r"\\[AZbB]|[\^$]")


@dataclass(frozen=True, slots=True)
class Step:
    """One step from the root of a message to a value: a property, an item, a map's value, a union's member, an error.

    `name` is the name on the new side, `was` the name on the old side if it differs.
    """

    kind: str
    name: str = ""
    was: str = ""

    def __str__(self) -> str:
        return {"item": "[]", "value": "{}", "member": f"<{self.name}>", "code": f"<{self.name}>"}.get(
            self.kind, f".{self.name}"
        )


class Builder:
    """Builds values of one protocol's types; `hints` are candidates for sizes, values and names of properties."""

    def __init__(self, protocol: Protocol, hints: Sequence[float | str]) -> None:
        self._protocol = protocol
        self._words = [_ANCHORS.sub("", hint) for hint in hints if isinstance(hint, str)]
        numbers = [hint for hint in hints if not isinstance(hint, str)]
        self._numbers = sorted({number + more for number in numbers for more in (-1, -0.5, 0, 0.5, 1)})
        self._made: dict[tuple[TypeRef, int, str], Any] = {}
        self._sizes = [int(n) for n in self._numbers if n == int(n) and 0 <= n <= MAX_LENGTH]

    def along(self, type_: TypeRef, way: tuple[Step, ...]) -> Iterator[Any]:
        """Iterate over values that contain the path, with all candidates at its end."""
        if not way:
            yield from self._samples(type_)
            return
        step, rest = way[0], way[1:]
        options = list(leaves(type_, self._protocol))
        if step.kind == "member":
            named = {
                leaf.name if isinstance(leaf, Ref) else spell(leaf): leaf
                for leaf in (*options, *forms(type_, self._protocol))
            }
            chosen = [named[step.name]] if step.name in named else []
            # If this side has no form of that name, use any form that the rest of the path leads through.
            for leaf in chosen or options:
                yield from self.along(leaf, rest)
            return
        for leaf in options:
            match self._protocol.resolve(leaf):
                case Struct() as struct if step.kind == "field":
                    yield from self._with_field(struct, step.name, rest)
                case Struct(extra=extra) if step.kind == "value" and extra is not None:
                    smallest = self.smallest(leaf)
                    yield from ({**smallest, ANY_KEY: value} for value in self.along(extra, rest))
                case ListOf(item=item, bounds=bounds) if step.kind == "item":
                    size = max(1, min(bounds.min_items or 1, 100))
                    yield from ([value] * size for value in self.along(item, rest))
                case MapOf(value=inner) if step.kind in ("value", "field"):
                    if step.kind == "field" and not rest:
                        yield self.smallest(leaf)  # A map may lack a property that the other side requires.
                    key = ANY_KEY if step.kind == "value" else step.name
                    yield from ({key: value} for value in self.along(inner, rest))
                case Primitive(kind=Kind.ANY):
                    yield from _ANYTHING
                case _:
                    continue

    def _with_field(self, struct: Struct, name: str, rest: tuple[Step, ...]) -> Iterator[Any]:
        smallest = self.smallest(Ref(name=struct.name))
        field = struct.field(name)
        if not rest and (field is None or not field.required):
            yield smallest
        if field is not None:
            yield from ({**smallest, name: value} for value in self.along(field.type, rest))
        elif struct.extra is not None and (not rest or struct.indexed or is_json_schema(name, struct)):
            # The sender's object may have properties of any name, so it may have this one.
            yield from ({**smallest, name: value} for value in self.along(struct.extra, ()))

    def _samples(self, type_: TypeRef, within: frozenset[TypeRef] = frozenset()) -> Iterator[Any]:
        """Iterate over values of a type, one of each form first; `within` are the types around it."""
        if type_ in within:
            return
        options, within = list(leaves(type_, self._protocol)), within | {type_}
        yield from map(self.smallest, options)
        yield from _in_turn([self._more(leaf, within) for leaf in options])

    def _more(self, leaf: TypeRef, within: frozenset[TypeRef]) -> Iterator[Any]:
        """Iterate over further values of a type that is not a union."""
        match self._protocol.resolve(leaf):
            case Primitive(kind=Kind.ANY):
                yield from _ANYTHING
            case Primitive(kind=Kind.BOOLEAN):
                yield False
            case Primitive(kind=Kind.STRING, known=known, bounds=bounds):
                text = matching(bounds.pattern or "")
                yield from (*known, "", "text", text, *self._words, *("x" * size for size in self._sizes))
            case Primitive(kind=Kind.INTEGER, bounds=bounds):
                yield from (-1, 1, *(int(n) for n in (*self._numbers, *_edges(bounds)) if n == int(n)))
            case Primitive(kind=Kind.NUMBER, bounds=bounds):
                edges = (n + more for n in _edges(bounds) for more in (0, 0.5, -0.5))
                yield from (-1, 1, 1.5, *self._numbers, *edges)
            case Literal(values=values):
                yield from values
            case ListOf(item=item):
                one = self.smallest(item)
                yield from ([one] * size for size in (1, 2, *self._sizes))
                yield from ([value] for value in self._samples(item, within) if value != [])
            case MapOf(value=value):
                yield from self._filled(value, (1, *self._sizes))
                yield from ({word: each} for word in self._words for each in self._samples(value, within))
            case Struct() as struct:
                yield from self._objects(struct, within)
            case _:
                return

    def _filled(self, value: TypeRef, sizes: Sequence[int]) -> Iterator[dict[str, Any]]:
        """Iterate over maps of some sizes."""
        yield from ({f"{ANY_KEY}{n}": self.smallest(value) for n in range(size)} for size in sizes)

    def _objects(self, struct: Struct, within: frozenset[TypeRef]) -> Iterator[Any]:
        """Iterate over objects with all properties, with each optional one, and with undeclared ones."""
        small = self.smallest(Ref(name=struct.name))
        whole = {f.wire_name: self.smallest(f.type, 1, f"{struct.name}.{f.wire_name}") for f in struct.fields}
        yield whole
        for name in sorted(whole.keys() - small.keys()):
            yield {**small, name: whole[name]}
            yield {key: value for key, value in whole.items() if key != name}
        if struct.extra is not None:
            yield {ANY_KEY: self.smallest(struct.extra), **whole}
            for key in (ANY_KEY, *self._words):
                yield from ({**small, key: value} for value in self._samples(struct.extra, within) if key not in whole)
            yield from ({**more, **small} for more in self._filled(struct.extra, self._sizes))

    def smallest(self, type_: TypeRef, depth: int = 0, name: str = "") -> Any:
        """Return a small value of a type; it is validated later.

        Args:
            type_: the type.
            depth: the current depth within a value.
            name: the property that holds it (``Tool.name``), which may suggest a value.
        """
        # Build each part only once: types that contain each other twice would otherwise take exponential time.
        key = (type_, depth, name)
        if key not in self._made:
            self._made[key] = self._smallest(type_, depth, name)
        return self._made[key]

    def full(self, type_: TypeRef, path: tuple[str, ...] = (), name: str = "") -> Any:
        """Return a value with every declared property; a type inside itself, or deep inside, is as small as can be.

        Args:
            type_: the type.
            path: the definitions that contain the value.
            name: as for `smallest`.
        """
        options = list(leaves(type_, self._protocol))
        leaf = next((leaf for leaf in options if not (isinstance(leaf, Ref) and leaf.name in path)), options[0])
        match self._protocol.resolve(leaf):
            case Struct(name=owner, fields=fields) if fields and owner not in path and len(path) < MAX_FULL_DEPTH:
                inner = (*path, owner)
                return {f.wire_name: self.full(f.type, inner, f"{owner}.{f.wire_name}") for f in fields}
            case ListOf(item=item, bounds=bounds) if bounds.max_items != 0:
                return [self.full(item, path)] * max(1, min(bounds.min_items or 1, 100))
            case MapOf(value=value, bounds=bounds) if (bounds.min_properties or 0) < 2 and bounds.max_properties != 0:
                return {ANY_KEY: self.full(value, path)}
            case _:
                return self.smallest(type_, 0, name)

    def _smallest(self, type_: TypeRef, depth: int, name: str) -> Any:
        options = list(leaves(type_, self._protocol))
        example = self._example(name)
        if example is not None and any(admits(self._protocol, leaf, example) for leaf in options):
            return example
        leaf = options[0]
        match self._protocol.resolve(leaf):
            case Struct(name=owner, fields=fields):
                required = [f for f in fields if f.required and depth < MAX_DEPTH]
                names = {f.wire_name: f"{owner}.{f.wire_name}" for f in required}
                return {f.wire_name: self.smallest(f.type, depth + 1, names[f.wire_name]) for f in required}
            case Literal(values=values):
                return values[0]
            case Primitive() as scalar:
                return self._scalar(scalar, name)
            case ListOf(item=item, bounds=bounds):
                size = min(bounds.min_items or 0, 100) if depth < MAX_DEPTH else 0
                return [self.smallest(item, depth + 1)] * size if size else []
            case MapOf(value=value, bounds=bounds):
                size = min(bounds.min_properties or 0, 100) if depth < MAX_DEPTH else 0
                return {f"{ANY_KEY}{n}": self.smallest(value, depth + 1) for n in range(size)}
            case _:
                return {}

    def _example(self, name: str) -> Scalar:
        """Return a realistic value for a property, or None."""
        member = name.rpartition(".")[2].rpartition("/")[2]
        if member == "protocolVersion":
            return self._protocol.revision
        if name in self._protocol.defaults:
            return self._protocol.defaults[name]
        return _EXAMPLES.get(name, _EXAMPLES.get(member))

    def _scalar(self, type_: Primitive, name: str) -> Any:
        kind, bounds = type_.kind, type_.bounds
        if kind in (Kind.INTEGER, Kind.NUMBER):
            return next((n for n in (0, *_edges(bounds)) if fits(n, type_)), 0)
        if kind is not Kind.STRING:
            return {Kind.BOOLEAN: True, Kind.NULL: None}.get(kind, ANY_KEY)
        text = matching(bounds.pattern or "") or (type_.known[0] if type_.known else name.rpartition(".")[2] or ANY_KEY)
        return text.ljust(bounds.min_length or 1, "x")[: bounds.max_length]


def _in_turn(sources: Sequence[Iterator[Any]]) -> Iterator[Any]:
    """Iterate over one value of each source in turn, so that the first values are of all kinds."""
    end = object()
    return (value for row in zip_longest(*sources, fillvalue=end) for value in row if value is not end)


def matching(pattern: str) -> str:
    """Return a text that probably matches a pattern: it is validated later."""
    text = _GROUP.sub(r"\1", _ANCHORS.sub("", pattern[:MAX_PATTERN]))
    return "".join(_character(part[1]) * min(int(part[2] or 1), MAX_LENGTH) for part in _PART.finditer(text))


def _character(part: str) -> str:
    """Return a character that a part of a pattern matches."""
    if part.startswith("[") and part != "[":
        return "x" if part.startswith("[^") or part == "[]" else _CLASSES.get(part[1:3], part[1])
    return _CLASSES.get(part, part[-1])


def _edges(bounds: Bounds) -> Iterator[float]:
    """Iterate over the numbers at the bounds."""
    for number in (bounds.minimum, bounds.maximum, bounds.multiple_of):
        if number is not None:
            yield number
    if bounds.minimum is not None and bounds.maximum is not None:
        yield (bounds.minimum + bounds.maximum) / 2
    if bounds.exclusive_minimum is not None:
        yield from (bounds.exclusive_minimum + 1, bounds.exclusive_minimum + 0.5)
    if bounds.exclusive_maximum is not None:
        yield from (bounds.exclusive_maximum - 1, bounds.exclusive_maximum - 0.5)
