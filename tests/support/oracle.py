"""An independent judge of two schemas: draws messages from one and validates them against the other.

It shares no code with the diff. A message is drawn from the schema.json of its sender, validated by jsonschema as
given, and then read as its receiver does: requests by the root unions, results by their `resultType`.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import jsonschema
from referencing.exceptions import Unresolvable

from support.mutants import Json, is_list, is_object, listed, references

TO_SERVER, TO_CLIENT = "client to server", "server to client"
UNIONS = {TO_SERVER: ("ClientRequest", "ClientNotification"), TO_CLIENT: ("ServerRequest", "ServerNotification")}
BACK = {TO_SERVER: TO_CLIENT, TO_CLIENT: TO_SERVER}
TAGS = {"InputRequiredResult": "input_required"}
MAX_DEPTH = 7
DRAWS = 24
"""How many messages are drawn from one part of the protocol."""
PARTS = 5
"""How many parts are drawn from, of those that a change reaches."""
ENVELOPE = ("JSONRPCRequest", "JSONRPCNotification")


class Part(NamedTuple):
    """A part of the protocol that messages are drawn from: a message, a result or an error, and its definition."""

    kind: str
    method: str
    name: str


class Side:
    """One schema.json: what it lets either peer send."""

    def __init__(self, tree: Json) -> None:
        self.container = "$defs" if "$defs" in tree else "definitions"
        self.all: dict[str, Json] = {**tree[self.container], **dict(_inline(tree[self.container]))}
        dialect: Any = jsonschema.Draft7Validator if "draft-07" in tree["$schema"] else jsonschema.Draft202012Validator
        self._root = dialect(tree)
        self._validators: dict[str, Any] = {}
        self.references = {name: frozenset(references(node)) for name, node in self.all.items()}
        self.messages = {travel: dict(self._messages(unions)) for travel, unions in UNIONS.items()}
        self.errors = dict(self._errors())

    def _messages(self, unions: tuple[str, str]) -> Iterator[tuple[str, tuple[str, bool]]]:
        for root in reversed(unions):
            for name in (*listed(self.all, root), *(name for name in self.all if name.startswith(f"{root}/"))):
                method = self.all.get(name, {}).get("properties", {}).get("method", {})
                values = [method["const"]] if "const" in method else method.get("enum", [])
                yield from ((value, (name, root == unions[0])) for value in values)

    def _errors(self) -> Iterator[tuple[int, str]]:
        for name, node in self.all.items():
            for part in (node, *node.get("allOf", ())):
                inner = part.get("properties", {}).get("error", part if part is node else {})
                for nested in (inner, *inner.get("allOf", ())):
                    code = nested.get("properties", {}).get("code", {}).get("const")
                    if isinstance(code, int) and code > -32600:  # The others are those of JSON-RPC itself.
                        yield code, name

    def responds(self, travel: str) -> bool:
        """Whether peers send responses in a direction: without a handshake, only servers do."""
        return travel == TO_CLIENT or "server/discover" not in self.messages[TO_SERVER]

    def accepts(self, name: str, value: Json) -> bool:
        if name not in self._validators:
            schema = self.all[name] if "/" in name else {"$ref": f"#/{self.container}/{name}"}
            self._validators[name] = self._root.evolve(schema=schema)
        try:
            return bool(self._validators[name].is_valid(value))
        except (Unresolvable, RecursionError):
            return False

    def forms(self, message: str) -> list[str]:
        """Return the forms of the result of a request."""
        own = self._name(message) + "Result"
        stated = self.all.get(f"{own}Response", {}).get("properties", {}).get("result", {})
        names = [name for name in references(stated) if name in self.all]
        return names or [next(n for n in (own, "EmptyResult", "Result") if n in self.all)]

    def _name(self, message: str) -> str:
        """Return the name of a message without its kind; an inline one is named after its method."""
        method: Any = self.all[message]["properties"]["method"] if "/" in message else {}
        words: list[str] = method.get("const", "").split("/")
        return "".join(w[:1].upper() + w[1:] for w in reversed(words)) or message.removesuffix("Request")

    def tag(self, name: str) -> str:
        node = self.all.get(name, {}).get("properties", {}).get("resultType", {})
        return str(node.get("const") or TAGS.get(name, "complete"))

    def _makes_tasks(self, message: str) -> bool:
        """Whether a request may be answered with a task: its params ask."""
        params = self.all[message].get("properties", {}).get("params", {})
        own = [params, self.all.get(params.get("$ref", "").rpartition("/")[2], {})]
        return "CreateTaskResult" in self.all and any("task" in node.get("properties", {}) for node in own)

    def takes_frame(self, message: Json) -> bool:
        """Whether a frame is valid: receivers tell the kinds apart by their properties."""
        keys = message.keys() if is_object(message) else set[str]()
        names = {
            "JSONRPCRequest": {"method", "id"} <= keys,
            "JSONRPCNotification": "method" in keys,
            "JSONRPCErrorResponse": "error" in keys,
            "JSONRPCError": "error" in keys,
            "JSONRPCResultResponse": "result" in keys,
            "JSONRPCResponse": "result" in keys,
            "JSONRPCMessage": True,
        }
        name = next((name for name, fits in names.items() if fits and name in self.all), "")
        return not name or self.accepts(name, message)

    def takes(self, travel: str, method: str, message: Json, *, sends: bool = False) -> bool:
        """Whether a peer accepts a message, or may send it; `method` is that of the request that a result answers."""
        if sends and is_object(message) and "method" not in message and not self.responds(travel):
            return False
        if not is_object(message) or not {"method", "result", "error"} & message.keys():
            # The results in a batch are those of requests, and objects whatever the frame says.
            batch = message if is_list(message) and sends else ()
            are_real = all(is_object(one.get("result", {})) for one in batch if is_object(one))
            return are_real and self.takes_frame(message)
        if "error" in message:
            code: Json = message["error"].get("code") if is_object(message["error"]) else None
            known = self.errors.get(code) if isinstance(code, int) else None
            of_error = known and "error" not in self.all[known].get("properties", {}) and "allOf" not in self.all[known]
            return (
                self.accepts(known, message["error"] if of_error else message) if known else self.takes_frame(message)
            )
        if "method" in message:
            if not self.takes_frame(message):
                return False
            called: Json = message["method"]
            name, is_request = self.messages[travel].get(called if isinstance(called, str) else "", ("", False))
            if is_request != ("id" in message):
                return not sends and "id" not in message
            return (bool(name) and self.accepts(name, message)) or (not name and "id" not in message and not sends)
        result, (name, is_request) = message["result"], self.messages[BACK[travel]].get(method, ("", False))
        # The frame says little about the result of this request: it takes the least of objects, or this very value.
        usual = {**message, "result": {"resultType": "complete"}}
        if not is_request or not (self.takes_frame(usual) or self.takes_frame(message)):
            return not sends and not is_request
        tag = result.get("resultType", "complete") if is_object(result) else "complete"
        forms = self.forms(name)
        if is_object(result) and "task" in result and self._makes_tasks(name):
            return self.accepts("CreateTaskResult", result)
        tag = tag if isinstance(tag, str) and tag in TAGS.values() else "complete"
        fitting = [form for form in forms if self.tag(form) == tag]
        return any(self.accepts(form, result) for form in fitting)


def _inline(all_: dict[str, Json]) -> Iterator[tuple[str, Json]]:
    """Iterate over the messages that are written out in a root union, under names of their own."""
    for root in (root for unions in UNIONS.values() for root in unions):
        members = all_.get(root, {}).get("anyOf", ())
        yield from ((f"{root}/{n}", member) for n, member in enumerate(members) if "properties" in member)


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
        yield Part("frame", "", "JSONRPCMessage")


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
                return value

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
