"""Build values of one revision's types: small ones, and many different ones at the end of a way."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from mcp_bindgen.diff.finding import Step
from mcp_bindgen.diff.types.leaves import leaves
from mcp_bindgen.ir.nodes import Bounds, Kind, ListOf, Literal, MapOf, Primitive, Protocol, Ref, Struct, TypeRef

MAX_LENGTH = 10_000
"""The longest list or text that is tried, in items or characters."""
MAX_DEPTH = 20
"""How deep a value is built before it is cut off."""

ANY_KEY = "key"
"""The name of a member of a map."""

_ANYTHING: tuple[Any, ...] = (None, True, 1, 1.5, "text", [], {})
_ANCHORS = re.compile(r"\\[AZbB]|[\^$]")


class Builder:
    """Builds values of one protocol's types; `numbers` are worth a try, as a size and as a value."""

    def __init__(self, protocol: Protocol, numbers: Sequence[float]) -> None:
        self._protocol = protocol
        self._numbers = sorted({number + more for number in numbers for more in (-1, -0.5, 0, 0.5, 1)})
        self._sizes = [int(n) for n in self._numbers if n == int(n) and 0 <= n <= MAX_LENGTH]

    def along(self, type_: TypeRef, way: tuple[Step, ...]) -> Iterator[Any]:
        """Iterate over values in which the way leads somewhere, and at its end over all that may stand there."""
        if not way:
            yield from self._samples(type_)
            return
        step, rest = way[0], way[1:]
        options = list(leaves(type_, self._protocol))
        if step.kind == "member":
            chosen = [leaf for leaf in options if isinstance(leaf, Ref) and leaf.name == step.name]
            # A form that this side calls otherwise is what the rest of the way leads through.
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
                case ListOf(item=item) if step.kind == "item":
                    yield from ([value] for value in self.along(item, rest))
                case MapOf(value=inner) if step.kind in ("value", "field"):
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
        elif struct.extra is not None and struct.indexed:
            # The sender's object is said to have members of any name, so this one too.
            yield from ({**smallest, name: value} for value in self.along(struct.extra, ()))

    def _samples(self, type_: TypeRef) -> Iterator[Any]:
        for leaf in leaves(type_, self._protocol):
            target = self._protocol.resolve(leaf)
            yield self.smallest(leaf)
            match target:
                case Primitive(kind=Kind.ANY):
                    yield from _ANYTHING
                case Primitive(kind=Kind.STRING, known=known, bounds=bounds):
                    text = _ANCHORS.sub("", bounds.pattern or "")
                    yield from (*known, "", "text", text, *("x" * size for size in self._sizes))
                case Primitive(kind=Kind.INTEGER, bounds=bounds):
                    yield from (-1, 1, *(int(n) for n in (*self._numbers, *_edges(bounds)) if n == int(n)))
                case Primitive(kind=Kind.NUMBER, bounds=bounds):
                    yield from (-1, 1, 1.5, *self._numbers, *_edges(bounds))
                case Literal(values=values):
                    yield from values
                case ListOf(item=item):
                    one = self.smallest(item)
                    yield from ([one] * size for size in (1, 2, *self._sizes))
                    yield from ([value] for value in self._samples(item) if value != [])
                case MapOf(value=value):
                    one = self.smallest(value)
                    yield from ({f"key{n}": one for n in range(size)} for size in (1, *self._sizes))
                case Struct(fields=fields):
                    yield {f.wire_name: self.smallest(f.type, 1) for f in fields}
                case _:
                    continue

    def smallest(self, type_: TypeRef, depth: int = 0) -> Any:
        """Return a small value of a type; one that is not quite valid is found out later."""
        leaf = next(leaves(type_, self._protocol))
        match self._protocol.resolve(leaf):
            case Struct(fields=fields):
                required = fields if depth < MAX_DEPTH else ()
                return {f.wire_name: self.smallest(f.type, depth + 1) for f in required if f.required}
            case Literal(values=values):
                return values[0]
            case Primitive(kind=kind, bounds=bounds):
                if kind in (Kind.INTEGER, Kind.NUMBER):
                    return next((n for n in (0, *_edges(bounds)) if n >= (bounds.minimum or 0)), 0)
                text = _ANCHORS.sub("", bounds.pattern or "").ljust(bounds.min_length or 1, "x")
                return {Kind.BOOLEAN: True, Kind.NULL: None}.get(kind, text)
            case ListOf(item=item, bounds=bounds):
                size = min(bounds.min_items or 0, 100) if depth < MAX_DEPTH else 0
                return [self.smallest(item, depth + 1) for _ in range(size)]
            case MapOf(value=value, bounds=bounds):
                size = min(bounds.min_properties or 0, 100) if depth < MAX_DEPTH else 0
                return {f"key{n}": self.smallest(value, depth + 1) for n in range(size)}
            case _:
                return {}


def _edges(bounds: Bounds) -> Iterator[float]:
    """Iterate over the numbers at the bounds."""
    for number in (bounds.minimum, bounds.maximum, bounds.multiple_of):
        if number is not None:
            yield number
    if bounds.exclusive_minimum is not None:
        yield from (bounds.exclusive_minimum + 1, bounds.exclusive_minimum + 0.5)
    if bounds.exclusive_maximum is not None:
        yield from (bounds.exclusive_maximum - 1, bounds.exclusive_maximum - 0.5)
