"""Random single changes to a schema.json: classes of changes, none of which knows what the diff makes of it."""

import random
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from functools import partial
from typing import Any, TypeAlias, TypeGuard

Json: TypeAlias = Any
Op: TypeAlias = Callable[["Draft"], bool]
"""Changes a schema in place; false if it has no place for the change."""

OPS: dict[str, Op] = {}
"""The classes of changes by name."""
REQUESTS = ("ClientRequest", "ServerRequest")
NOTIFICATIONS = ("ClientNotification", "ServerNotification")
ROOTS = (*REQUESTS, *NOTIFICATIONS, "ClientResult", "ServerResult", "JSONRPCMessage")


def is_object(node: Json) -> TypeGuard[dict[str, Json]]:
    """Whether it is a JSON object."""
    return isinstance(node, dict)


def is_list(node: Json) -> TypeGuard[list[Json]]:
    """Whether it is a JSON array."""
    return isinstance(node, list)


class Draft:
    """A schema that is about to change, and a source of chance."""

    def __init__(self, tree: Json, rng: random.Random) -> None:
        self.tree, self.rng = tree, rng
        self.container = "$defs" if "$defs" in tree else "definitions"
        self.all: dict[str, Json] = tree[self.container]
        self.sent = reached(self.all)

    def ref(self, name: str) -> Json:
        return {"$ref": f"#/{self.container}/{name}"}

    def nodes(self, fits: Callable[[Json], bool]) -> list[Json]:
        """Return the schemas of values that messages carry and that a change fits."""
        names = sorted(self.sent - set(ROOTS))
        return [node for name in names for node in below(self.all[name]) if fits(node)]

    def pick(self, fits: Callable[[Json], bool]) -> Json | None:
        found = self.nodes(fits)
        return self.rng.choice(found) if found else None

    def members(self, fits: Callable[[Json, str, Json], bool]) -> tuple[Json, str] | None:
        """Choose an object and one of its properties, apart from those of JSON-RPC."""
        rows = [
            (node, key)
            for node in self.nodes(lambda n: "properties" in n)
            for key, value in node["properties"].items()
            if key not in ("jsonrpc", "id", "method") and is_object(value) and fits(node, key, value)
        ]
        return self.rng.choice(rows) if rows else None

    def messages(self, *roots: str) -> list[tuple[str, str]]:
        """Return the messages that root unions of several members list."""
        return [(root, name) for root in roots for name in listed(self.all, root) if "anyOf" in self.all.get(root, {})]


def below(node: Json) -> Iterator[Json]:
    """Iterate over a schema and those of the values in its values."""
    if not is_object(node):
        return
    yield node
    for word in ("properties",):
        for child in node.get(word, {}).values():
            yield from below(child)
    for word in ("items", "additionalProperties"):
        yield from below(node.get(word))
    for word in ("anyOf", "allOf"):
        for child in node.get(word, ()):
            yield from below(child)


def references(node: Json) -> Iterator[str]:
    """Iterate over the names that a schema refers to."""
    if is_object(node):
        if isinstance(node.get("$ref"), str):
            yield node["$ref"].rpartition("/")[2]
        for child in node.values():
            yield from references(child)
    elif is_list(node):
        for child in node:
            yield from references(child)


def reached(all_: Mapping[str, Json]) -> set[str]:
    """Return the definitions that messages use: those of the root unions, and their results."""
    pending = [name for name in ROOTS if name in all_]
    for root in REQUESTS:
        for name in listed(all_, root):
            pending += [n for n in (name[:-7] + "Result", name[:-7] + "ResultResponse") if n in all_]
    seen: set[str] = set()
    while pending:
        name = pending.pop()
        if name not in seen and name in all_:
            seen.add(name)
            pending += references(all_[name])
    return {name for name in seen if not name.endswith("ResultResponse") or name == "JSONRPCResultResponse"}


def listed(all_: Mapping[str, Json], root: str) -> list[str]:
    """Return the messages in a root union; a union of one message may be a copy of it."""
    node = all_.get(root, {})
    if "method" in node.get("properties", {}):
        method = node["properties"]["method"]
        return [n for n, d in all_.items() if n != root and d.get("properties", {}).get("method") == method]
    return list(dict.fromkeys(references(node)))


def op(name: str) -> Callable[[Op], Op]:
    def register(function: Op) -> Op:
        OPS[name] = function
        return function

    return register


def is_open(node: Json) -> bool:
    return "properties" in node and node.get("additionalProperties", {}) in ({}, True)


def of(*types: str) -> Callable[[Json], bool]:
    return lambda node: node.get("type") in types and not {"enum", "const", "$ref"} & node.keys()


def on(name: str, fits: Callable[[Json], bool], change: Callable[[Json], object]) -> None:
    """Register a class that changes one schema in place."""

    def run(draft: Draft) -> bool:
        node = draft.pick(fits)
        if node is not None:
            change(node)
        return node is not None

    OPS[name] = run


def become(value: Json) -> Callable[[Json], None]:
    def change(node: Json) -> None:
        node.clear()
        node.update(deepcopy(value))

    return change


def wrap(word: str, *others: Json) -> Callable[[Json], None]:
    def change(node: Json) -> None:
        become({word: [deepcopy(node), *others]})(node)

    return change


# Properties


def _property(name: str, schema: Json, *, required: bool) -> None:
    def change(node: Json) -> None:
        node["properties"]["zzz"] = deepcopy(schema)
        if required:
            node["required"] = [*node.get("required", ()), "zzz"]

    on(name, lambda n: "properties" in n, change)


_property("add optional string", {"type": "string"}, required=False)
_property("add optional any", {}, required=False)
_property("add optional object", {"type": "object", "properties": {"a": {"type": "integer"}}}, required=False)
_property("add required string", {"type": "string"}, required=True)
_property("add required list", {"type": "array", "items": {"type": "integer"}}, required=True)
_property("add forbidden property", False, required=False)


@op("add definition")
def _(draft: Draft) -> bool:
    draft.all["ZzzThing"] = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    return True


def member(name: str, fits: Callable[[Json, str, Json], bool], change: Callable[[Json, str], object]) -> None:
    """Register a class that changes an object and one of its properties."""

    def run(draft: Draft) -> bool:
        found = draft.members(fits)
        if found:
            change(*found)
        return found is not None

    OPS[name] = run


def drop(node: Json, key: str) -> Json:
    gone = node["properties"].pop(key)
    if key in node.get("required", ()):
        node["required"] = [name for name in node["required"] if name != key]
    return gone


def rename(node: Json, key: str, new: str) -> None:
    node["properties"] = {new if name == key else name: value for name, value in node["properties"].items()}
    node["required"] = [new if name == key else name for name in node.get("required", ())]


def _needs(node: Json, key: str, _: Json) -> bool:
    return key in node.get("required", ())


def _free(node: Json, key: str, _: Json) -> bool:
    return key not in node.get("required", ())


member("remove optional", _free, drop)
member("remove required", _needs, drop)
member("require", _free, lambda n, k: n.update(required=[*n.get("required", ()), k]))
member("free", _needs, lambda n, k: n["required"].remove(k))
member("rename required", _needs, lambda n, k: rename(n, k, "zzz"))
member("rename optional", _free, lambda n, k: rename(n, k, "zzz"))
member("rename slightly", lambda n, k, v: len(k) > 4, lambda n, k: rename(n, k, f"{k}_"))
member("forbid property", _free, lambda n, k: n["properties"].update({k: False}))
member("forbid by not", _free, lambda n, k: n["properties"].update({k: {"not": {}}}))
member("any property", lambda n, k, v: bool(v), lambda n, k: n["properties"].update({k: {}}))
member("deprecate", lambda n, k, v: True, lambda n, k: n["properties"][k].update(deprecated=True))


def _move_in(node: Json, key: str) -> None:
    hosts = [k for k, v in node["properties"].items() if k != key and is_object(v) and "properties" in v]
    value = drop(node, key)
    if hosts:
        node["properties"][hosts[0]]["properties"][key] = value
    else:
        node["properties"]["zzz"] = {"type": "object", "properties": {key: value}}


def _move_out(node: Json, key: str) -> None:
    inner = node["properties"][key]
    name = next(iter(inner["properties"]))
    value = drop(inner, name)
    node["properties"].setdefault(name, value)


def _swap(node: Json, key: str) -> None:
    other = next(name for name in node["properties"] if name != key)
    names = node["properties"]
    names[key], names[other] = names[other], names[key]


member("move inwards", lambda n, k, v: "$ref" not in v, _move_in)
member("move outwards", lambda n, k, v: bool(v.get("properties")), _move_out)
member("swap types", lambda n, k, v: len(n["properties"]) > 1, _swap)

# Types

on("string to boolean", of("string"), become({"type": "boolean"}))
on("boolean to string", of("boolean"), become({"type": "string"}))
on("integer to number", of("integer"), lambda n: n.update(type="number"))
on("number to integer", of("number"), lambda n: n.update(type="integer"))
on("string to any", of("string"), become({}))
on("any to string", lambda n: n == {}, become({"type": "string"}))
on("object to string", of("object"), become({"type": "string"}))
on("object to map", lambda n: is_open(n) and "method" not in n["properties"], become({"type": "object"}))
on("list to item", of("array"), lambda n: become(n.get("items", {}))(n))
on("scalar to list", of("string", "integer"), lambda n: become({"type": "array", "items": deepcopy(n)})(n))
on("scalar or list", of("string", "integer"), lambda n: wrap("anyOf", {"type": "array", "items": deepcopy(n)})(n))
on("items any", of("array"), lambda n: n.update(items={}))
on("items string", of("array"), lambda n: n.update(items={"type": "string"}))
on("reference to string", lambda n: "$ref" in n, become({"type": "string"}))
on("null added", of("string", "integer", "boolean"), lambda n: n.update(type=[n["type"], "null"]))
on("null in union", lambda n: "anyOf" in n, lambda n: n["anyOf"].append({"type": "null"}))
on("type list longer", lambda n: isinstance(n.get("type"), list), lambda n: n["type"].append("null"))
on("type list shorter", lambda n: isinstance(n.get("type"), list), lambda n: n["type"].pop())

# Unions


on(
    "union member added",
    lambda n: "anyOf" in n,
    lambda n: n["anyOf"].append({"type": "array", "items": {"type": "null"}}),
)
on("union member removed", lambda n: len(n.get("anyOf", ())) > 1, lambda n: n["anyOf"].pop())
on("first union member removed", lambda n: len(n.get("anyOf", ())) > 1, lambda n: n["anyOf"].pop(0))
on("union member repeated", lambda n: "anyOf" in n, lambda n: n["anyOf"].append(deepcopy(n["anyOf"][0])))
on(
    "union nested",
    lambda n: len(n.get("anyOf", ())) > 2,
    lambda n: n.update(anyOf=[n["anyOf"][0], {"anyOf": n["anyOf"][1:]}]),
)
on("union with any", lambda n: "anyOf" in n, lambda n: n["anyOf"].append({}))
on("anyOf to oneOf", lambda n: "anyOf" in n, lambda n: n.update(oneOf=n.pop("anyOf")))
on(
    "closed member of union",
    lambda n: "anyOf" in n,
    lambda n: n["anyOf"].append(
        {
            "type": "object",
            "properties": {"zzz": {"type": "string"}},
            "required": ["zzz"],
            "additionalProperties": False,
        }
    ),
)


@op("union member by reference")
def _(draft: Draft) -> bool:
    node = draft.pick(lambda n: "anyOf" in n)
    objects = [n for n in sorted(draft.sent) if "properties" in draft.all[n] and n not in ROOTS]
    if node is not None:
        node["anyOf"].append(draft.ref(draft.rng.choice(objects)))
    return node is not None


# Constants and closed sets


def has_enum(node: Json) -> bool:
    return len(node.get("enum", ())) > 1


on("enum value added", lambda n: "enum" in n, lambda n: n["enum"].append("zzz"))
on("enum value removed", has_enum, lambda n: n["enum"].pop())
on("enum value replaced", has_enum, lambda n: n["enum"].__setitem__(0, "zzz"))
on("enum opened", lambda n: "enum" in n, become({"type": "string"}))
on("string closed", of("string"), lambda n: n.update(enum=["a", "b"]))
on("constant changed", lambda n: "const" in n, lambda n: n.update(const="zzz"))
on("constant opened", lambda n: "const" in n, become({"type": "string"}))
on("constant to enum", lambda n: "const" in n, lambda n: n.update(enum=[n.pop("const"), "zzz"]))
on("string to constant", of("string"), lambda n: n.update(const="zzz"))
member("tag optional", lambda n, k, v: "const" in v and _needs(n, k, v), lambda n, k: n["required"].remove(k))

# Bounds


def _set(word: str, value: object, node: Json) -> None:
    node[word] = value


for _word, _value, _types in (
    ("minLength", 3, ("string",)),
    ("maxLength", 4, ("string",)),
    ("pattern", "^[a-c]+$", ("string",)),
    ("minimum", 5, ("integer", "number")),
    ("maximum", 7, ("integer", "number")),
    ("exclusiveMinimum", 0, ("integer", "number")),
    ("multipleOf", 5, ("integer", "number")),
    ("minItems", 1, ("array",)),
    ("maxItems", 1, ("array",)),
    ("uniqueItems", True, ("array",)),
    ("minProperties", 1, ("object",)),
    ("maxProperties", 2, ("object",)),
):
    on(f"{_word} set", of(*_types), partial(_set, _word, _value))
_BOUNDS = ("minimum", "maximum", "maxItems", "minLength", "maxLength", "minItems")
on("bound removed", lambda n: any(w in n for w in _BOUNDS), lambda n: n.pop(next(w for w in _BOUNDS if w in n)))
on("bound lowered", lambda n: any(w in n for w in _BOUNDS), lambda n: _shift(n, -1))
on("bound raised", lambda n: any(w in n for w in _BOUNDS), lambda n: _shift(n, 1))


def _shift(node: Json, by: int) -> None:
    word = next(w for w in _BOUNDS if w in node)
    node[word] = max(0, node[word] + by)
