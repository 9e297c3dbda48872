"""What holds of every comparison: nothing is found in a revision itself, nor after a rewrite that keeps its meaning.

A single change that was made on purpose is found, where it was made, and against the right peer.
"""

import json
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any, TypeAlias, TypeGuard

import pytest

from mcp_bindgen.diff.compare import compare
from mcp_bindgen.diff.finding import Finding, Pair
from mcp_bindgen.diff.rules import Severity
from mcp_bindgen.ingest.revisions import shipped_source
from mcp_bindgen.ingest.sources import SourceKind, SourceText, read_source
from mcp_bindgen.ir.nodes import Protocol
from mcp_bindgen.load import load_released
from official import official_schema, seed_typescript
from samples import REVISIONS, load

Json: TypeAlias = Any
MUTATIONS = 40
"""Changes that are made to each revision, one at a time."""

_FINGERPRINTS = """
from mcp_bindgen.diff.compare import compare
from mcp_bindgen.load import load_released
for old, new in {pairs}:
    for finding in compare(load_released(old), load_released(new)):
        print(finding.fingerprint, finding.place, [(str(c), str(w)) for c, w in finding.carriers.items()])
"""


def lines(findings: tuple[Finding, ...]) -> list[str]:
    return [f"{f.rule.id} {f.place}: {f.old} -> {f.new}" for f in findings]


@cache
def schema(revision: str) -> str:
    """Return the text of the shipped schema.json."""
    return shipped_source(revision, SourceKind.JSON_SCHEMA).data.decode()


def alone(tree: Json) -> Protocol:
    """Load a schema.json as that of a revision which is not released, so without the shipped schema.ts."""
    source = SourceText(name="schema.json", kind=SourceKind.JSON_SCHEMA, data=json.dumps(tree).encode())
    return load(source, revision="2099-01-01")[0]


@cache
def untouched(revision: str) -> Protocol:
    return alone(json.loads(schema(revision)))


@pytest.mark.parametrize("revision", REVISIONS)
def test_a_revision_does_not_differ_from_itself(revision: str) -> None:
    protocol = load_released(revision)
    assert compare(protocol, protocol) == ()


@pytest.mark.parametrize("revision", REVISIONS)
def test_the_official_file_does_not_differ_from_the_shipped_one(revision: str) -> None:
    official, diagnostics = load(read_source(str(official_schema(revision))), revision=revision)
    assert not diagnostics
    assert lines(compare(official, load_released(revision))) == []
    assert lines(compare(load_released(revision), official)) == []


def test_the_first_published_file() -> None:
    """Its resources/templates/list is in no union and is derived all the same, so only Resource.size is new."""
    revision = REVISIONS[0]
    seed, diagnostics = load(read_source(str(seed_typescript())), revision=revision)
    assert any("ListResourceTemplatesRequest" in line for line in diagnostics)
    official, _ = load(read_source(str(official_schema(revision))), revision=revision)
    assert lines(compare(seed, official)) == ["property-added-optional Resource.size: - -> integer"]


def test_the_same_findings_whatever_the_hash_seed() -> None:
    program = _FINGERPRINTS.format(pairs=list(pairwise(REVISIONS)))
    outputs = [
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert outputs[0]
    assert outputs[0] == outputs[1]


# Rewrites that keep the meaning


def is_object(node: Json) -> TypeGuard[dict[str, Json]]:
    return isinstance(node, dict)


def is_list(node: Json) -> TypeGuard[list[Json]]:
    return isinstance(node, list)


def everywhere(change: Callable[[dict[str, Json]], dict[str, Json]], tree: Json) -> Json:
    """Apply a change to every object of a tree, innermost first."""
    if is_object(tree):
        return change({key: everywhere(change, value) for key, value in tree.items()})
    if is_list(tree):
        return [everywhere(change, value) for value in tree]
    return tree


def definitions(tree: Json) -> dict[str, Json]:
    """Return the definitions of a schema.json, in whichever container they are."""
    found: dict[str, Json] = tree["$defs"] if "$defs" in tree else tree["definitions"]
    return found


def prefix(tree: Json) -> str:
    return "#/$defs/" if "$defs" in tree else "#/definitions/"


def other_dialect(tree: Json) -> Json:
    old, new = ("$defs", "definitions") if "$defs" in tree else ("definitions", "$defs")
    uri = {
        "definitions": "http://json-schema.org/draft-07/schema#",
        "$defs": "https://json-schema.org/draft/2020-12/schema",
    }
    text = json.dumps({"$schema": uri[new], new: tree[old]})
    return json.loads(text.replace(f'"#/{old}/', f'"#/{new}/'))


def keys_reversed(tree: Json) -> Json:
    return everywhere(lambda node: dict(reversed(node.items())), tree)


def _listed(keyword: str) -> Callable[[Json], Json]:
    def reverse(node: dict[str, Json]) -> dict[str, Json]:
        listed = node.get(keyword)
        return {**node, keyword: listed[::-1]} if is_list(listed) else node

    return lambda tree: everywhere(reverse, tree)


def constants_respelled(tree: Json) -> Json:
    """Turn each constant into an enum of one, and each enum of one into a constant."""

    def respell(node: dict[str, Json]) -> dict[str, Json]:
        rest = {key: value for key, value in node.items() if key not in ("const", "enum")}
        if isinstance(node.get("const"), str):
            return {**rest, "enum": [node["const"]]}
        listed = node.get("enum")
        return {**rest, "const": listed[0]} if is_list(listed) and len(listed) == 1 else node

    return everywhere(respell, tree)


INLINED = ("Annotations", "ToolAnnotations", "Implementation", "ModelPreferences")
"""Objects of definitions, which members refer to."""


def inlined(tree: Json) -> Json:
    """Write some objects where a member refers to them."""
    copies = {prefix(tree) + name: definitions(tree)[name] for name in INLINED if name in definitions(tree)}
    assert copies

    def replaced(member: Json) -> Json:
        return copies.get(str(member.get("$ref")), member) if is_object(member) else member

    def put(node: dict[str, Json]) -> dict[str, Json]:
        properties = node.get("properties")
        if not is_object(properties):
            return node
        return {**node, "properties": {key: replaced(m) for key, m in properties.items()}}

    return everywhere(put, tree)


def named(tree: Json) -> Json:
    """Make a definition of each object that stands inline in a member."""
    found: dict[str, Json] = {}
    for name, definition in definitions(tree).items():
        for key, member in definition.get("properties", {}).items():
            if "properties" in member:
                own = f"{name}{key.lstrip('_$').capitalize()}Shape"
                found[own] = member
                definition["properties"][key] = {"$ref": prefix(tree) + own}
    assert found
    definitions(tree).update(found)
    return tree


REWRITES: Mapping[str, Callable[[Json], Json]] = {
    "other dialect": other_dialect,
    "keys reversed": keys_reversed,
    "enums reversed": _listed("enum"),
    "required reversed": _listed("required"),
    "types reversed": _listed("type"),
    "unions reversed": _listed("anyOf"),
    "constants respelled": constants_respelled,
    "objects inlined": inlined,
    "objects named": named,
}


@pytest.mark.parametrize("rewrite", REWRITES)
@pytest.mark.parametrize("revision", REVISIONS)
def test_a_rewrite_that_keeps_the_meaning(revision: str, rewrite: str) -> None:
    tree = json.loads(schema(revision))
    other = REWRITES[rewrite](json.loads(schema(revision)))
    before, after = untouched(revision), alone(other)
    assert json.dumps(other) != json.dumps(tree) or (
        rewrite == "types reversed" and '"type": [' not in schema(revision)
    )
    for findings in (compare(before, after), compare(after, before)):
        assert lines(tuple(f for f in findings if f.severity is Severity.ERROR)) == []
        assert lines(findings) == []


# Single changes


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutation:
    """One change of a schema.json: what it does, to which definition, and where it must be found."""

    rule: str
    definition: str
    places: frozenset[str]
    apply: Callable[[Json], None]


TO_SERVER = ("ClientRequest", "ClientNotification", "ClientResult")
TO_CLIENT = ("ServerRequest", "ServerNotification", "ServerResult")
NARROWING = ("property-now-required", "union-member-removed", "const-changed")
WIDENING = ("property-removed-required", "enum-value-added", "const-changed")


UNSENT = {"2026-07-28": {"Result"}}
"""Results that a union of results lists though no request is answered by one: an EmptyResult, since ping is gone."""


def reached(revision: str, tree: Json, roots: tuple[str, ...]) -> set[str]:
    """Return the definitions that messages of these unions carry, by following every reference."""
    pending, unsent = [root for root in roots if root in definitions(tree)], UNSENT.get(revision, set[str]())
    seen = set(unsent)
    while pending:
        name = pending.pop()
        if name not in seen:
            seen.add(name)
            pending += references(definitions(tree)[name])
    return seen - unsent


def references(node: Json) -> Iterator[str]:
    if is_object(node):
        for key, value in node.items():
            if key == "$ref":
                yield value.rpartition("/")[2]
            else:
                yield from references(value)
    elif is_list(node):
        for value in node:
            yield from references(value)


def expected_pairs(rule: str, to_server: bool, to_client: bool) -> set[Pair]:
    """Return who breaks: a new receiver refuses what was narrowed away, an old one what came in addition."""
    found = set[Pair]()
    if rule in NARROWING:
        found |= {pair for pair, there in ((Pair.OLD_CLIENT, to_server), (Pair.NEW_CLIENT, to_client)) if there}
    if rule in WIDENING:
        found |= {pair for pair, there in ((Pair.NEW_CLIENT, to_server), (Pair.OLD_CLIENT, to_client)) if there}
    return found


def mutations(revision: str, tree: Json) -> Iterator[Mutation]:
    """Iterate over the changes that can be made to the objects and the enums of a schema."""
    all_ = definitions(tree)
    roots = {*TO_SERVER, *TO_CLIENT}
    carried = (reached(revision, tree, TO_SERVER) | reached(revision, tree, TO_CLIENT)) - roots
    for name in sorted(carried):
        definition = all_[name]
        if "enum" in definition:
            ref = prefix(tree) + name
            users = frozenset(
                place.replace(source, user, 1)
                for user in carried
                for source in (user, *_bases(all_[user]))
                for place in _uses(source, all_[source], ref)
            )
            yield Mutation(
                rule="enum-value-added", definition=name, places=users, apply=lambda d: d["enum"].append("zzz")
            )
        if name.endswith(("Request", "Notification")) or "properties" not in definition:
            continue
        names = [name, *(other for other in sorted(carried) if name in _bases(all_[other]))]
        for key, member in definition["properties"].items():
            yield from _of_member(names, key, member, definition)


def _uses(user: str, definition: Json, ref: str) -> Iterator[str]:
    for key, member in definition.get("properties", {}).items():
        if member.get("$ref") == ref:
            yield f"{user}.{key}"
        elif member.get("items", {}).get("$ref") == ref:
            yield f"{user}.{key}[]"
        elif "properties" in member:
            own = f"{user}{key[:1].upper()}{key[1:]}"
            yield from _uses(own, member, ref)


def _bases(definition: Json) -> set[str]:
    return {part["$ref"].rpartition("/")[2] for part in definition.get("allOf", ()) if "$ref" in part}


def _of_member(names: list[str], key: str, member: Json, definition: Json) -> Iterator[Mutation]:
    """Iterate over the changes of one member; `names` are the definition and those that take the member from it."""
    name = names[0]
    here = frozenset(f"{n}.{key}" for n in names)

    def drop(d: Json) -> None:
        del d["properties"][key]
        d["required"].remove(key)

    def need(d: Json) -> None:
        d["required"] = [*d.get("required", ()), key]

    if key in definition.get("required", ()):
        if len(definition["properties"]) > 1:  # without any it is a map, which is another thing in a union
            yield Mutation(rule="property-removed-required", definition=name, places=here, apply=drop)
    else:
        yield Mutation(rule="property-now-required", definition=name, places=here, apply=need)
    if len(member.get("enum", ())) > 1:
        rule = "enum-value-added"
        yield Mutation(
            rule=rule, definition=name, places=here, apply=lambda d: d["properties"][key]["enum"].append("zzz")
        )
    if len(member.get("anyOf", ())) > 1:
        rule = "union-member-removed"
        yield Mutation(rule=rule, definition=name, places=here, apply=lambda d: d["properties"][key]["anyOf"].pop())
    if "const" in member:
        rule = "const-changed"
        yield Mutation(
            rule=rule, definition=name, places=here, apply=lambda d: d["properties"][key].update(const="zzz")
        )


@pytest.mark.parametrize("revision", REVISIONS)
def test_single_changes(revision: str) -> None:
    tree = json.loads(schema(revision))
    to_server, to_client = reached(revision, tree, TO_SERVER), reached(revision, tree, TO_CLIENT)
    by_rule: dict[str, list[Mutation]] = {}
    for mutation in mutations(revision, tree):
        by_rule.setdefault(mutation.rule, []).append(mutation)
    rng = random.Random(revision)
    wrong: list[str] = []
    for number in range(MUTATIONS):
        mutation = rng.choice(by_rule[sorted(by_rule)[number % len(by_rule)]])
        mutant = json.loads(schema(revision))
        mutation.apply(definitions(mutant)[mutation.definition])
        findings = compare(untouched(revision), alone(mutant))
        rules, places = {f.rule.id for f in findings}, {f.place for f in findings}
        pairs = {pair for f in findings for pair in f.breaks}
        expected = expected_pairs(mutation.rule, mutation.definition in to_server, mutation.definition in to_client)
        if rules != {mutation.rule} or not places <= mutation.places or pairs != expected:
            at = f"{mutation.rule} {sorted(mutation.places)} {sorted(expected)}"
            wrong.append(f"{at}: {lines(findings)} {sorted(pairs)}")
    assert wrong == []
