"""Find a message that proves a break: valid for its sender, refused by its receiver.

Candidates are built along the way from the root of the message to the changed value, the rest of it as small as the
sender's schema allows, and judged by `jsonschema` against the schemas of both sides.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.protocols import Validator

from mcp_bindgen.diff.compare import leaves
from mcp_bindgen.diff.finding import Carrier, Finding, Pair, Step, Travel, breaks
from mcp_bindgen.emit.json_schema import json_schema, reference
from mcp_bindgen.ir.nodes import (
    Direction,
    Kind,
    ListOf,
    Literal,
    MapOf,
    Method,
    Primitive,
    Protocol,
    Ref,
    Struct,
    TypeRef,
    Union,
)

MAX_CANDIDATES = 500
MAX_LENGTH = 10_000
"""The longest list or text that is tried, in items or characters."""

_NUMBER = re.compile(r"-?\d+")
_ANYTHING: tuple[Any, ...] = (None, True, 1, 1.5, "text", [], {})


class Witnesses:
    """Finds witnesses for the findings between two revisions."""

    def __init__(self, old: Protocol, new: Protocol) -> None:
        self._old = _Side(old)
        self._new = _Side(new)

    def testify(self, finding: Finding) -> Finding:
        """Return the finding with a message for each pair of peers that it breaks; where there is none, it says so."""
        found = {pair: message for pair in sorted(finding.breaks) if (message := self._witness(finding, pair))}
        return replace(finding, witnesses=found, unproven=finding.breaks - found.keys())

    def _witness(self, finding: Finding, pair: Pair) -> Any:
        hints = tuple(int(number) for number in _NUMBER.findall(f"{finding.old} {finding.new}"))
        for carrier, way in sorted(finding.carriers.items()):
            if pair not in breaks(finding.rule.change, carrier.travel):
                continue
            from_old = (pair is Pair.OLD_CLIENT) == (carrier.travel is Travel.TO_SERVER)
            sender, receiver = (self._old, self._new) if from_old else (self._new, self._old)
            for message in islice(sender.messages(carrier, way, hints), MAX_CANDIDATES):
                refused = not receiver.accepts(carrier, message)
                if sender.accepts(carrier, message) and (refused or finding.is_about_method):
                    return message
        return None


class _Side:
    """One revision, as a sender and as a receiver."""

    def __init__(self, protocol: Protocol) -> None:
        self._protocol = protocol
        self._methods = {method.name: method for method in protocol.methods}
        self._document: Any = Draft202012Validator(json_schema(protocol))
        self._validators: dict[tuple[str, str], Validator] = {}

    def accepts(self, carrier: Carrier, message: dict[str, Any]) -> bool:
        """Whether this side takes the message: it knows the method on that way, and the payload is valid."""
        method = self._methods.get(carrier.method)
        if method is None:
            return False
        if carrier.part not in message:
            return not method.params_required
        return self._validator(method, carrier.part).is_valid(message[carrier.part])

    def _validator(self, method: Method, part: str) -> Validator:
        key = (method.name, part)
        if key not in self._validators:
            branches = [{"$ref": reference(name)} for name in _payload(method, part)]
            schema: Any = {"anyOf": branches} if branches else True
            self._validators[key] = self._document.evolve(schema=schema)
        return self._validators[key]

    def messages(self, carrier: Carrier, way: tuple[Step, ...], hints: tuple[int, ...]) -> Iterator[dict[str, Any]]:
        """Iterate over messages that are worth a try."""
        method = self._methods.get(carrier.method)
        if method is None:
            return
        # An embedded request has no envelope of its own, nor has its answer.
        envelope: dict[str, Any] = {} if method.direction is Direction.EMBEDDED else {"jsonrpc": "2.0"}
        if method.is_request and envelope:
            envelope["id"] = 1
        if carrier.part == "params":
            envelope["method"] = method.name
            yield envelope
        names = _payload(method, carrier.part)
        if names:
            builder = _Builder(self._protocol, hints)
            for payload in builder.along(Union(members=tuple(Ref(name=name) for name in names)), way):
                yield {**envelope, carrier.part: payload}


class _Builder:
    """Builds values of one protocol's types."""

    def __init__(self, protocol: Protocol, hints: tuple[int, ...]) -> None:
        self._protocol = protocol
        self._sizes = sorted({size + more for size in hints for more in (-1, 0, 1)})

    def along(self, type_: TypeRef, way: tuple[Step, ...]) -> Iterator[Any]:
        """Iterate over values in which the way leads somewhere, and at its end over all that may stand there."""
        if not way:
            yield from self._samples(type_)
            return
        step, rest = way[0], way[1:]
        options = list(leaves(type_, self._protocol))
        if step.kind == "member":
            chosen = [leaf for leaf in options if isinstance(leaf, Ref) and leaf.name == step.name]
            for leaf in chosen or options:
                yield from self.along(leaf, rest)
            return
        for leaf in options:
            match self._protocol.resolve(leaf):
                case Struct() as struct if step.kind == "field":
                    yield from self._with_field(struct, step.name, rest)
                case ListOf(item=item) if step.kind == "item":
                    yield from ([value] for value in self.along(item, rest))
                case MapOf(value=inner) if step.kind == "value":
                    yield from ({"key": value} for value in self.along(inner, rest))
                case _:
                    continue

    def _with_field(self, struct: Struct, name: str, rest: tuple[Step, ...]) -> Iterator[Any]:
        smallest = self._smallest(Ref(name=struct.name))
        field = struct.field(name)
        if field is None or not field.required:
            yield smallest
        if field is not None:
            yield from ({**smallest, name: value} for value in self.along(field.type, rest))

    def _samples(self, type_: TypeRef) -> Iterator[Any]:
        for leaf in leaves(type_, self._protocol):
            target = self._protocol.resolve(leaf)
            yield self._smallest(leaf)
            match target:
                case Primitive(kind=Kind.ANY):
                    yield from _ANYTHING
                case Primitive(kind=Kind.STRING, known=known):
                    yield from (*known, "", "text", *("x" * size for size in self._sizes if 0 <= size <= MAX_LENGTH))
                case Primitive(kind=Kind.INTEGER):
                    yield from (-1, 1, *self._sizes)
                case Primitive(kind=Kind.NUMBER):
                    yield from (-1, 1, 1.5, *self._sizes)
                case Literal(values=values):
                    yield from values
                case ListOf(item=item):
                    one = self._smallest(item)
                    yield from ([one] * size for size in (1, *self._sizes) if 0 <= size <= MAX_LENGTH)
                case MapOf(value=value):
                    yield {"key": self._smallest(value)}
                case _:
                    continue

    def _smallest(self, type_: TypeRef, depth: int = 0) -> Any:
        """Return a small value of a type; one that is not quite valid is found out later."""
        leaf = next(leaves(type_, self._protocol))
        match self._protocol.resolve(leaf):
            case Struct(fields=fields):
                required = fields if depth < 20 else ()
                return {f.wire_name: self._smallest(f.type, depth + 1) for f in required if f.required}
            case Literal(values=values):
                return values[0]
            case Primitive(kind=kind, bounds=bounds):
                if kind in (Kind.INTEGER, Kind.NUMBER):
                    return max(0, int(bounds.minimum or 0))
                return {Kind.BOOLEAN: True, Kind.NULL: None}.get(kind, "x" * (bounds.min_length or 1))
            case ListOf(item=item, bounds=bounds):
                return [self._smallest(item, depth + 1) for _ in range(min(bounds.min_items or 0, 100))]
            case _:
                return {}


def _payload(method: Method, part: str) -> tuple[str, ...]:
    """The types that one half of a method's exchange may have."""
    if part == "params":
        return (method.params,) if method.params else ()
    return (method.result, *method.alternatives) if method.result else ()
