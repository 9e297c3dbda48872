"""Rewrites of a schema.json that keep its meaning: other spellings of the same messages."""

import json
from collections.abc import Callable, Mapping

from mcp_bindgen.ir.json_values import escaped
from support.mutations import Json, definitions, is_list, is_object, prefix

Rewrite = Callable[[Json], Json]


def everywhere(change: Callable[[dict[str, Json]], dict[str, Json]], tree: Json) -> Json:
    """Apply a change to every object of a tree, innermost first."""
    if is_object(tree):
        return change({key: everywhere(change, value) for key, value in tree.items()})
    if is_list(tree):
        return [everywhere(change, value) for value in tree]
    return tree


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


def _listed(keyword: str) -> Rewrite:
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
    """Inline some objects at the properties that refer to them."""
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
    """Make a definition of each object that is inline in a property."""
    found: dict[str, Json] = {}
    for name, definition in definitions(tree).items():
        for key, member in definition.get("properties", {}).items():
            if "properties" in member:
                own = f"{name}{key.lstrip('_$').capitalize()}Shape"
                found[own] = member
                definition["properties"][key] = {"$ref": prefix(tree) + escaped(own)}
    assert found
    definitions(tree).update(found)
    return tree


def scalars_named(tree: Json) -> Json:
    """Make a definition of each scalar, list and closed set that is inline in a property."""
    found: dict[str, Json] = {}
    for name, definition in definitions(tree).items():
        for key, member in definition.get("properties", {}).items():
            if key != "method" and "properties" not in member and "$ref" not in member and member:
                own = f"{name}{key.lstrip('_$').capitalize()}Alias"
                found[own] = member
                definition["properties"][key] = {"$ref": prefix(tree) + escaped(own)}
    definitions(tree).update(found)
    return tree


def aliases_inlined(tree: Json) -> Json:
    """Inline types other than objects at their references, except unions of messages, which name the senders."""
    all_ = definitions(tree)
    kinds = ("Request", "Notification", "Result", "Message", "Params")
    aliases = {n: d for n, d in all_.items() if "properties" not in d and "$ref" not in json.dumps(d)}
    copies = {prefix(tree) + n: d for n, d in aliases.items() if not n.endswith(kinds) and d.get("type") != "object"}
    assert copies
    return everywhere(lambda node: copies.get(str(node.get("$ref")), node), tree)


def types_in_branches(tree: Json) -> Json:
    """Spell a list of types as a union of them, and a union of bare types as a list."""

    def respell(node: dict[str, Json]) -> dict[str, Json]:
        names, branches = node.get("type"), node.get("anyOf")
        if is_list(names) and not node.keys() - {"type", "description"}:
            return {**{k: v for k, v in node.items() if k != "type"}, "anyOf": [{"type": name} for name in names]}
        if is_list(branches) and all(is_object(b) and b.keys() == {"type"} for b in branches):
            return {**{k: v for k, v in node.items() if k != "anyOf"}, "type": [b["type"] for b in branches]}
        return node

    return everywhere(respell, tree)


def openness_respelled(tree: Json) -> Json:
    """Replace an empty schema for undeclared properties with `true`, and the reverse."""

    def respell(node: dict[str, Json]) -> dict[str, Json]:
        rest = node.get("additionalProperties")
        return {**node, "additionalProperties": True if rest == {} else {}} if rest in ({}, True) else node

    return everywhere(respell, tree)


def described(tree: Json) -> Json:
    """Add a description to every type, beside references too."""
    return everywhere(lambda node: {**node, "description": "See 2001-01-01."} if _is_type(node) else node, tree)


def _is_type(node: dict[str, Json]) -> bool:
    return isinstance(node.get("type"), str) or isinstance(node.get("$ref"), str)


def integers_respelled(tree: Json) -> Json:
    """Spell an integer as a number that is a multiple of 1."""

    def respell(node: dict[str, Json]) -> dict[str, Json]:
        return {**node, "type": "number", "multipleOf": 1} if node.get("type") == "integer" else node

    return everywhere(respell, tree)


def required_in_branches(tree: Json) -> Json:
    """Move what an object requires to branches of an intersection."""

    def respell(node: dict[str, Json]) -> dict[str, Json]:
        names, is_free = node.get("required"), "allOf" not in node and node.get("type") == "object"
        if not is_list(names) or not is_free or "method" in node.get("properties", {}):
            return node
        rest = {key: value for key, value in node.items() if key != "required"}
        return {**rest, "allOf": [{"required": [name]} for name in names]}

    return everywhere(respell, tree)


def idle_keywords(tree: Json) -> Json:
    """Add keywords that every value satisfies."""
    newer: dict[str, Json] = (
        {} if "draft-07" in tree["$schema"] else {"unevaluatedProperties": True, "dependentRequired": {}}
    )
    added: Mapping[str, dict[str, Json]] = {
        "object": {"not": False, "patternProperties": {}, "propertyNames": {"type": "string"}, **newer},
        "string": {"pattern": ".*"},
    }

    def respell(node: dict[str, Json]) -> dict[str, Json]:
        kind = node.get("type")
        return {**(added.get(kind, {}) if isinstance(kind, str) else {}), **node}

    return everywhere(respell, tree)


def lists_respelled(tree: Json) -> Json:
    """State the first item of each list apart, and the fewest items by what any item is."""
    is_newer = "draft-07" not in tree["$schema"]

    def respell(node: dict[str, Json]) -> dict[str, Json]:
        if node.get("type") != "array" or "items" not in node:
            return node
        prefix = {"prefixItems": [node["items"]]} if is_newer else {"uniqueItems": False}
        some: dict[str, Json] = {"contains": {}} if node.get("minItems") == 1 else {}
        return {**{word: value for word, value in node.items() if not some or word != "minItems"}, **prefix, **some}

    return everywhere(respell, tree)


def unions_repeated(tree: Json) -> Json:
    """Repeat a member of each union, in other words."""

    def respell(node: dict[str, Json]) -> dict[str, Json]:
        members = node.get("anyOf")
        return {**node, "anyOf": [*members, {**members[0], "title": "Again"}]} if is_list(members) else node

    return everywhere(respell, tree)


REWRITES: Mapping[str, Rewrite] = {
    "other dialect": other_dialect,
    "keys reversed": keys_reversed,
    "enums reversed": _listed("enum"),
    "required reversed": _listed("required"),
    "types reversed": _listed("type"),
    "unions reversed": _listed("anyOf"),
    "constants respelled": constants_respelled,
    "objects inlined": inlined,
    "objects named": named,
    "scalars named": scalars_named,
    "aliases inlined": aliases_inlined,
    "types in branches": types_in_branches,
    "openness respelled": openness_respelled,
    "described": described,
    "integers respelled": integers_respelled,
    "required in branches": required_in_branches,
    "unions repeated": unions_repeated,
    "idle keywords": idle_keywords,
    "lists respelled": lists_respelled,
}
