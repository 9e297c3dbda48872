"""Single changes to a schema.json, each with the rule that must find it, the place, and the pairs that it breaks."""

import json
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeGuard

from mcp_bindgen.diff.finding import Pair, Travel, breaks
from mcp_bindgen.diff.rule import Change

Json: TypeAlias = Any
Path: TypeAlias = tuple[str, ...]

ROOTS = {
    Travel.TO_SERVER: ("ClientRequest", "ClientNotification", "ClientResult"),
    Travel.TO_CLIENT: ("ServerRequest", "ServerNotification", "ServerResult"),
}
UNSENT = {"2026-07-28": {"Result"}}
"""Results that are in a union of results, but answer no request: EmptyResult, since ping was removed."""

_NEW = {"type": "string"}
_OTHER = {"string": "boolean", "boolean": "string"}
_BOUNDS = {"string": ("maxLength", 5), "integer": ("maximum", 7), "number": ("maximum", 7), "array": ("minItems", 2)}


_FIRST = ("initialize", "server/discover")
"""The methods of a first request; every MCP schema has one of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutation:
    """One change: its kind, its definition, how to make it, and the rules and places of the expected findings.

    At least one of `rules` must be found, and nothing else.
    """

    kind: str
    definition: str
    path: Path
    apply: Callable[[Json], None]
    rules: frozenset[str]
    change: Change
    places: frozenset[str]

    def made_in(self, text: str) -> Json:
        """Return the schema.json with the change in it."""
        tree = json.loads(text)
        node = definitions(tree)[self.definition]
        for step in self.path:
            node = node[step]
        self.apply(node)
        return tree


def is_object(node: Json) -> TypeGuard[dict[str, Json]]:
    """Whether it is a JSON object."""
    return isinstance(node, dict)


def is_list(node: Json) -> TypeGuard[list[Json]]:
    """Whether it is a JSON array."""
    return isinstance(node, list)


def definitions(tree: Json) -> dict[str, Json]:
    """Return the definitions of a schema.json, whatever its container is called."""
    found: dict[str, Json] = tree["$defs"] if "$defs" in tree else tree["definitions"]
    return found


def prefix(tree: Json) -> str:
    """Return the prefix of a reference to a definition."""
    return "#/$defs/" if "$defs" in tree else "#/definitions/"


def reached(revision: str, tree: Json, travel: Travel) -> set[str]:
    """Return the definitions used by messages in that direction, by following every reference."""
    pending = [root for root in ROOTS[travel] if root in definitions(tree)]
    unsent = UNSENT.get(revision, set[str]())
    seen = set(unsent)
    while pending:
        name = pending.pop()
        if name not in seen:
            seen.add(name)
            pending += references(definitions(tree)[name])
    return seen - unsent


def references(node: Json) -> Iterator[str]:
    """Iterate over the names of the definitions that a schema refers to."""
    if is_object(node):
        for key, value in node.items():
            if key == "$ref":
                yield value.rpartition("/")[2]
            else:
                yield from references(value)
    elif is_list(node):
        for value in node:
            yield from references(value)


def broken(change: Change, ways: Sequence[Travel]) -> set[Pair]:
    """Return the peers that break if a type used in those directions changes in this way."""
    return {pair for travel in ways for pair in breaks(change, travel)}


def choose(by_kind: dict[str, list[Mutation]], number: int, seed: str) -> Iterator[Mutation]:
    """Iterate over a sample of the changes: equally many of each kind, and the same ones each time."""
    rng = random.Random(seed)
    kinds = sorted(by_kind)
    for count in range(number):
        yield rng.choice(by_kind[kinds[count % len(kinds)]])


def mutations(revision: str, tree: Json) -> dict[str, list[Mutation]]:
    """Return the possible changes to definitions that messages use, by kind."""
    found: dict[str, list[Mutation]] = {}
    for mutation in _Mutations(revision, tree).all():
        found.setdefault(mutation.kind, []).append(mutation)
    return found


@dataclass(frozen=True, slots=True)
class _Member:
    """A property of an object: its definition, the path to the object, and the names of the object."""

    definition: str
    path: Path
    owners: tuple[str, ...]
    key: str
    node: Json
    owner: Json

    @property
    def places(self) -> frozenset[str]:
        return frozenset(f"{owner}.{self.key}" for owner in self.owners)

    def mutation(
        self, kind: str, apply: Callable[[Json], None], rules: str, change: Change, mark: str = ""
    ) -> Mutation:
        return Mutation(
            kind=kind,
            definition=self.definition,
            path=self.path,
            apply=apply,
            rules=frozenset(rules.split()),
            change=change,
            places=frozenset(place + mark for place in self.places),
        )


class _Mutations:
    def __init__(self, revision: str, tree: Json) -> None:
        self._tree = tree
        self._all = definitions(tree)
        roots = {root for names in ROOTS.values() for root in names}
        self._carried = {name for travel in Travel for name in reached(revision, tree, travel)} - roots

    def all(self) -> Iterator[Mutation]:
        for name in sorted(self._carried):
            definition = self._all[name]
            if "enum" in definition:
                yield from self._of_enum(name)
            yield from self._of_message(name)
            for node, path, owners in self._objects(name):
                yield from self._of_object(name, path, owners, node)
                for key, member in node["properties"].items():
                    yield from _of_member(_Member(name, path, owners, key, member, node))

    def _objects(self, name: str) -> Iterator[tuple[Json, Path, tuple[str, ...]]]:
        """Iterate over the objects of a definition, each with its path and its names in findings."""
        definition = self._all[name]
        if name.endswith(("Request", "Notification")):
            params = definition.get("properties", {}).get("params", {})
            if "properties" in params:
                yield from _nested(params, ("properties", "params"), (f"{name}Params",))
        elif "properties" in definition:
            heirs = [other for other in sorted(self._carried) if name in self._bases(other)]
            yield from _nested(definition, (), (name, *heirs))

    def _bases(self, name: str) -> set[str]:
        return {part["$ref"].rpartition("/")[2] for part in self._all[name].get("allOf", ()) if "$ref" in part}

    def _of_enum(self, name: str) -> Iterator[Mutation]:
        """Iterate over the changes of a named closed set, which is found at each property of its type."""
        ref = prefix(self._tree) + name
        places = frozenset(
            f"{owner}.{key}{mark}"
            for user in self._carried
            for node, _, owners in self._objects(user)
            for owner in owners
            for key, member in node["properties"].items()
            for mark, target in (("", member.get("$ref")), ("[]", member.get("items", {}).get("$ref")))
            if target == ref
        )

        def add(d: Json) -> None:
            d["enum"].append("zzz")

        def remove(d: Json) -> None:
            d["enum"].pop()

        for kind, rule, change, apply in (
            ("enum added", "enum-value-added", Change.WIDENS, add),
            ("enum removed", "enum-value-removed", Change.NARROWS, remove),
        ):
            yield Mutation(
                kind=kind,
                definition=name,
                path=(),
                apply=apply,
                rules=frozenset({rule}),
                change=change,
                places=places,
            )

    def _of_message(self, name: str) -> Iterator[Mutation]:
        """Iterate over the changes of a whole message: its method is renamed."""
        method = self._all[name].get("properties", {}).get("method", {})
        roots = [self._all.get(root, {}) for names in ROOTS.values() for root in names]
        listed = sum(name in set(references(root)) for root in roots)
        is_copied = any(root.get("properties", {}).get("method") == method for root in roots)
        if (
            method.get("const", "initialize") not in _FIRST
            and not is_copied
            and listed == sum(name in set(references(d)) for d in self._all.values())
        ):
            yield Mutation(
                kind="method renamed",
                definition=name,
                path=("properties", "method"),
                apply=lambda d: d.update(const="zzz/zzz"),
                rules=frozenset({"method-renamed"}),
                change=Change.BOTH if name.endswith("Request") else Change.NONE,
                places=frozenset({name}),
            )

    def _of_object(self, definition: str, path: Path, owners: tuple[str, ...], node: Json) -> Iterator[Mutation]:
        """Iterate over the changes of a whole object: it gains a property, or is closed."""
        new = _Member(definition, path, owners, "zzz", _NEW, node)
        rule, change = _optional(new, "added")

        def add(d: Json) -> None:
            d["properties"]["zzz"] = _NEW

        def demand(d: Json) -> None:
            add(d)
            d["required"] = [*d.get("required", ()), "zzz"]

        def close(d: Json) -> None:
            d["additionalProperties"] = False

        yield new.mutation("optional added", add, rule, change)
        yield new.mutation("required added", demand, "property-added-required", Change.NARROWS)
        if len(owners) == 1 and node.get("additionalProperties", {}) in ({}, True):
            yield Mutation(
                kind="closed",
                definition=definition,
                path=path,
                apply=close,
                rules=frozenset({"additional-properties-closed"}),
                change=Change.NARROWS,
                places=frozenset({f"{owners[0]}{{}}"}),
            )


def _nested(node: Json, path: Path, owners: tuple[str, ...]) -> Iterator[tuple[Json, Path, tuple[str, ...]]]:
    yield node, path, owners
    for key, member in node["properties"].items():
        if member.get("properties"):
            name = key.lstrip("_$")
            inner = (*path, "properties", key)
            yield from _nested(member, inner, tuple(f"{owner}{name[:1].upper()}{name[1:]}" for owner in owners))


def _optional(member: _Member, verb: str) -> tuple[str, Change]:
    """Return the rule that finds an added or removed optional property."""
    declared = member.owner["properties"]
    is_schema = "$schema" in declared or declared.get("type", {}).get("const") == "object"
    if is_schema and "additionalProperties" in member.owner and member.key != "$schema":
        added = verb == "added"
        change = Change.NARROWS if added else Change.WIDENS
        return f"property-constraint-{'added' if added else 'dropped'}", change
    if any("Capabilities" in owner for owner in member.owners):
        return f"capability-{verb}", Change.NONE
    return f"property-{verb}-optional", Change.NONE


def _of_member(member: _Member) -> Iterator[Mutation]:
    yield from _of_need(member)
    yield from _of_value(member)
    yield from _of_elements(member)


def _of_need(member: _Member) -> Iterator[Mutation]:
    """Iterate over the changes that add, remove or require a property."""
    key = member.key

    def drop(d: Json) -> None:
        del d["properties"][key]
        d["required"] = [name for name in d.get("required", ()) if name != key]

    def need(d: Json) -> None:
        d["required"] = [*d.get("required", ()), key]

    def free(d: Json) -> None:
        d["required"].remove(key)

    is_required = key in member.owner.get("required", ())
    if is_required:
        yield member.mutation("freed", free, "property-now-optional", Change.WIDENS)
    else:
        yield member.mutation("needed", need, "property-now-required", Change.NARROWS)
    # Without properties it is a map, which differs in a union; a JSON Schema is recognized by some of them.
    if len(member.owner["properties"]) > 1 and key not in ("$schema", "type"):
        if is_required:
            yield member.mutation("required dropped", drop, "property-removed-required", Change.WIDENS)
        else:
            rule, change = _optional(member, "removed")
            yield member.mutation("optional dropped", drop, rule, change)


def _of_value(member: _Member) -> Iterator[Mutation]:
    """Iterate over the changes of the value of a property."""
    key, node = member.key, member.node

    def put(**changes: Json) -> Callable[[Json], None]:
        return lambda d: d["properties"][key].update(**changes)

    def within(change: Callable[[Json], None]) -> Callable[[Json], None]:
        return lambda d: change(d["properties"][key])

    type_ = node.get("type")
    if "const" in node and key != "method":
        rules = "const-changed union-discriminator-changed"
        yield member.mutation("constant", put(const="zzz"), rules, Change.BOTH)
    elif len(node.get("enum", ())) > 1:
        added, removed = within(lambda d: d["enum"].append("zzz")), within(lambda d: d["enum"].pop())
        yield member.mutation("enum added", added, "enum-value-added", Change.WIDENS)
        yield member.mutation("enum removed", removed, "enum-value-removed", Change.NARROWS)
    elif is_list(node.get("anyOf")) and len(node["anyOf"]) > 1:
        form = {"type": "array", "items": {"type": "array", "items": {"type": "boolean"}}}
        yield member.mutation(
            "form removed", within(lambda d: d["anyOf"].pop()), "union-member-removed", Change.NARROWS
        )
        yield member.mutation(
            "form added", within(lambda d: d["anyOf"].append(form)), "union-member-added", Change.WIDENS
        )
    elif isinstance(type_, str) and "enum" not in node and type_ != "object":
        yield member.mutation("null", put(type=[type_, "null"]), "nullable-added", Change.WIDENS)
        if type_ in _OTHER and node.keys() <= {"type", "description"}:
            yield member.mutation("type", put(type=_OTHER[type_]), "type-changed", Change.BOTH)
        if type_ in _BOUNDS and not node.keys() & {"maximum", "maxLength", "minItems"}:
            word, value = _BOUNDS[type_]
            yield member.mutation("bound", put(**{word: value}), "constraint-added", Change.NARROWS)
        if type_ == "integer":
            yield member.mutation("number", put(type="number"), "integer-to-number", Change.WIDENS)
        if type_ == "string" and "format" not in node:
            yield member.mutation("format", put(format="uri"), "format-added", Change.NONE)


def _of_elements(member: _Member) -> Iterator[Mutation]:
    """Iterate over the changes of the items of a list or the values of a map."""
    key, node = member.key, member.node

    def put(word: str, value: Json) -> Callable[[Json], None]:
        return lambda d: d["properties"][key].update({word: value})

    item = node.get("items", {})
    if item.get("type") in _OTHER and not item.keys() - {"type"}:
        other = {"type": _OTHER[item["type"]]}
        yield member.mutation("item", put("items", other), "type-changed", Change.BOTH, "[]")
    value = node.get("additionalProperties")
    if node.get("type") == "object" and not node.get("properties") and value is not None:
        rule, change = ("type-narrowed", Change.NARROWS) if value in ({}, True) else ("type-changed", Change.BOTH)
        yield member.mutation("map value", put("additionalProperties", {"type": "boolean"}), rule, change, "{}")
