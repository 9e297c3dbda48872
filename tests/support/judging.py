"""An independent judge of two schemas: draws messages from one and validates them against the other."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from support.mutants import Json, is_list, is_object, references
from support.oracle import BACK, Side

MAX_DEPTH = 7
DRAWS = 24
"""How many messages are drawn from one part of the protocol."""
PARTS = 5
"""How many parts are drawn from, of those that a change reaches."""


class Part(NamedTuple):
    """A part of the protocol that messages are drawn from: a message, a result or an error, and its definition.

    `travel` is the direction of a frame, which may be a batch of messages.
    """

    kind: str
    method: str
    name: str
    travel: str = ""


@dataclass
class Judge:
    """Looks for messages that one side may send and the other rejects."""

    old: Side
    new: Side
    draws: int = DRAWS

    @cached_property
    def changed(self) -> set[str]:
        """The definitions that differ."""
        names = {*self.old.all, *self.new.all}
        return {name for name in names if self.old.all.get(name) != self.new.all.get(name)}

    @cached_property
    def hot(self) -> set[str]:
        """The definitions that lead to those."""
        return reaching(self.old, self.changed) | reaching(self.new, self.changed)

    @cached_property
    def near(self) -> set[str]:
        """The definitions that refer to those."""
        users = (n for side in (self.old, self.new) for n, names in side.references.items() if names & self.changed)
        return {*self.changed, *users}

    def counterexample(self, *, from_old: bool, travel: str, rng: random.Random) -> Json | None:
        """Return a message of one side, in one direction, that the other rejects; None if none was found."""
        sender, receiver = (self.old, self.new) if from_old else (self.new, self.old)
        changed, hot, near = self.changed, self.hot, self.near
        parts = [p for p in parts_of(sender, travel) if p.name in hot or not knows(receiver, p, travel)]
        rng.shuffle(parts)
        drawer = Drawer(
            sender, receiver, hot, [word for name in sorted(changed) for word in words(sender, receiver, name)], rng
        )
        for part in sorted(
            parts, key=lambda p: (knows(receiver, p, travel), p.name not in changed, p.name not in near)
        )[:PARTS]:
            for _ in range(self.draws):
                message = drawer.message(part)
                if sender.takes(travel, part.method, message, sends=True) and not receiver.takes(
                    travel, part.method, message
                ):
                    return message
        return None


def knows(side: Side, part: Part, travel: str) -> bool:
    """Whether the receiver has the request; it ignores notifications that it does not know."""
    return part.kind != "request" or side.messages[travel].get(part.method, ("", False))[1]


def parts_of(side: Side, travel: str) -> Iterator[Part]:
    for method, (name, is_request) in side.messages[travel].items():
        yield Part("request" if is_request else "notification", method, name)
    for method, (name, is_request) in side.messages[BACK[travel]].items():
        if is_request:
            yield from (Part("result", method, form) for form in side.forms(name))
    if side.responds(travel):
        yield from (Part("error", str(code), name) for code, name in side.errors.items())
    if "JSONRPCMessage" in side.all:
        yield Part("frame", "", "JSONRPCMessage", travel)


def reaching(side: Side, targets: set[str]) -> set[str]:
    """Return the definitions that lead to some of others."""
    users: dict[str, list[str]] = {}
    for name, others in side.references.items():
        for target in others:
            users.setdefault(target, []).append(name)
    pending, seen = list(targets), set[str]()
    while pending:
        name = pending.pop()
        if name not in seen:
            seen.add(name)
            pending += users.get(name, [])
    return seen


def words(old: Side, new: Side, name: str) -> list[Json]:
    """Return the constants that a definition states on either side: values at which a change shows."""

    def inside(node: Json) -> Iterator[Json]:
        if is_object(node):
            for key, value in node.items():
                if key not in ("description", "$ref", "type", "required", "title"):
                    yield from inside(value)
        elif is_list(node):
            for value in node:
                yield from inside(value)
        else:
            yield node

    return list(dict.fromkeys(v for s in (old, new) for v in inside(s.all.get(name)) if not isinstance(v, bool)))


class Drawer:
    """Draws values from the schemas of a sender, preferring what leads to a change."""

    def __init__(self, sender: Side, receiver: Side, hot: set[str], constants: list[Json], rng: random.Random) -> None:
        self._side, self._other, self._hot, self._rng = sender, receiver, hot, rng
        strings = [value for value in constants if isinstance(value, str)]
        numbers = [value for value in constants if isinstance(value, int | float)]
        self._strings = ["text", "a", "", "abcabc", "x" * 40, "2026-01-01", *strings]
        self._numbers = [0, 1, -1, 2, 10, *(n + d for n in numbers for d in (-1, 0, 1))]

    def message(self, part: Part) -> Json:
        value = self.value(self._side.all[part.name], part.name)
        frame: dict[str, Any] = {"jsonrpc": "2.0", "id": 1}
        match part.kind:
            case "request":
                return {**frame, **value} if is_object(value) else value
            case "notification":
                return {"jsonrpc": "2.0", **value} if is_object(value) else value
            case "result":
                if is_object(value) and "resultType" in value:
                    value["resultType"] = self._side.tag(part.name)
                return {**frame, "result": value}
            case "error":
                return value if is_object(value) and "error" in value else {**frame, "error": value}
            case _:
                if is_list(value):
                    return [self._real(one, part.travel) for one in value]
                return self._real(value, part.travel)

    def _real(self, message: Json, travel: str) -> Json:
        """Return a frame with a method that the peer sends, and with the params of that method."""
        if not is_object(message) or not isinstance(message.get("method"), str):
            return message
        names = [(m, name) for m, (name, has_id) in self._side.messages[travel].items() if has_id is ("id" in message)]
        if not names:
            return message
        method, name = self._rng.choice(names)
        real = self.value(self._side.all[name], name)
        return {**message, **real, "method": method} if is_object(real) else message

    def value(self, node: Json, place: str, depth: int = 0, seen: tuple[str, ...] = ()) -> Json:
        """Draw a value of a schema; its validity is checked later."""
        rng = self._rng
        if not is_object(node):
            return "text"
        if "$ref" in node:
            name = node["$ref"].rpartition("/")[2]
            return self.value(self._side.all.get(name, {}), name, depth + 1)
        if "const" in node:
            return node["const"]
        if "enum" in node:
            return rng.choice(node["enum"])
        for word in ("anyOf", "oneOf"):
            if word in node:
                return self._branch(node[word], place, depth)
        drawn: Json = None
        types = node.get("type", "object" if "properties" in node or "allOf" in node else "any")
        kind = rng.choice(types) if is_list(types) else types
        match kind:
            case "object":
                drawn = self._object(node, place, depth)
            case "array":
                drawn = self._array(node, place, depth)
            case "string":
                drawn = self._string(node)
            case "integer":
                drawn = int(rng.choice(self._numbers))
            case "number":
                drawn = rng.choice([*self._numbers, 1.5, 6.5])
            case "boolean":
                drawn = rng.random() < 0.5
            case "null":
                drawn = None
            case _:
                drawn = rng.choice([None, True, 1, 1.5, "text", ["a"], {}, {"a": 1}])
        for part in node.get("allOf", ()):
            more = self.value(part, place, depth + 1)
            if is_object(drawn) and is_object(more):
                drawn = _merged(drawn, more)
        return drawn

    def _is_hot(self, node: Json) -> bool:
        return any(name in self._hot for name in references(node))

    def _branch(self, branches: list[Json], place: str, depth: int) -> Json:
        hot = [branch for branch in branches if self._is_hot(branch)]
        calm = [branch for branch in branches if not list(references(branch))]
        if depth > MAX_DEPTH and calm:
            return self.value(self._rng.choice(calm), place, depth)
        chosen = self._rng.choice(hot if hot and self._rng.random() < 0.7 else branches)
        return self.value(chosen, place, depth)

    def _object(self, node: Json, place: str, depth: int) -> Json:
        rng, declared = self._rng, node.get("properties", {})
        required = node.get("required", ())
        eager = rng.choice([0.1, 0.5, 0.9])
        found: dict[str, Json] = {}
        for key, child in declared.items():
            chance = 1.0 if key in required else 0.0 if depth > MAX_DEPTH else 0.85 if self._is_hot(child) else eager
            if rng.random() < chance and child is not False:
                found[key] = self.value(child, f"{place}/{key}", depth + 1)
        rest = node.get("additionalProperties", {})
        for key in required:
            if key not in declared and rest is not False:
                found[key] = self.value(rest, place, depth + 1)
        if rest is not False and depth <= MAX_DEPTH and (rng.random() < (0.8 if self._is_hot(rest) else 0.25)):
            found[rng.choice(["extraKey", "x-1", "anotherExtraKey"])] = self.value(
                rest if is_object(rest) else {}, place, depth + 1
            )
        if rest in ({}, True) and ("$schema" in declared or _is_of_objects(declared)):
            known = {k for n in self._hot for k in _keywords(self._other.all.get(n))} - declared.keys()
            if known and rng.random() < 0.5:
                found[rng.choice(sorted(known))] = rng.choice([1, "text", [], {}, {"a": True}, [1]])
        return found

    def _array(self, node: Json, place: str, depth: int) -> Json:
        least, most = node.get("minItems", 0), node.get("maxItems", 4)
        sizes = {least, most, least + 1, 0, 1, 2} if depth <= MAX_DEPTH else {least}
        size = self._rng.choice(sorted(s for s in sizes if s >= least))
        prefix = node.get("prefixItems", ())
        items = [self.value(part, place, depth + 1) for part in prefix]
        rest = node.get("items", {})
        if size > 10:
            return [*items, *[self.value(rest, place, depth + 1)] * (size - len(items))]
        count = size - len(items) if rest is not False else 0
        return [*items, *(self.value(rest, place, depth + 1) for _ in range(count))]

    def _string(self, node: Json) -> str:
        text = str(self._rng.choice(self._strings))
        if "pattern" in node:
            text = self._rng.choice(["abc", "a", text])
        return text.ljust(node.get("minLength", 0), "x")[: node.get("maxLength", 10_000)]


def _is_of_objects(declared: dict[str, Json]) -> bool:
    type_ = declared.get("type")
    return is_object(type_) and type_.get("const") == "object"


def _keywords(node: Json) -> Iterator[str]:
    """Iterate over the properties that JSON Schemas in a definition declare."""
    if is_object(node):
        declared = node.get("properties", {})
        if is_object(declared) and ("$schema" in declared or _is_of_objects(declared)):
            yield from (name for name in declared if not name.startswith("$"))
        for child in node.values():
            yield from _keywords(child)


def _merged(one: Json, other: Json) -> Json:
    if is_object(one) and is_object(other):
        shared = {key: _merged(one[key], other[key]) for key in one if key in other}
        return {**one, **other, **shared}
    return other
