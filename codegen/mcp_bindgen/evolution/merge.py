"""Apply what proposals change to a schema.ts, one after the other: a three-way merge of structures, not of lines."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from mcp_bindgen.ingest.typescript_facts import render_typescript
from mcp_bindgen.ir.diagnostics import InputError

Tree: TypeAlias = dict[str, Any]
"""Facts of a schema.ts with names in place of positions: declarations, members, and the alternatives of unions."""

_GONE: Any = object()
"""Stands for what a side does not have."""
_INDEX = "[index]"
_OPENING = {"(": ")", "[": "]", "{": "}", "<": ">"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposed:
    """A proposal: its name, and the facts of the schema.ts before and after it."""

    name: str
    base: Mapping[str, Any]
    head: Mapping[str, Any]


class _Conflict(Exception):
    """Both sides change a place, given by its names from the root, to different values."""

    def __init__(self, path: tuple[str, ...]) -> None:
        super().__init__(path)
        self.path = path


def merge(name: str, onto: Mapping[str, Any], proposals: Sequence[Proposed]) -> str:
    """Return the schema.ts that results if each proposal is applied in turn to the one called `name`.

    Raises:
        InputError: two of them change the same place differently; names both.
    """
    states = [(name, _tree(onto))]
    for proposed in proposals:
        try:
            merged = _merged(_tree(proposed.base), states[-1][1], _tree(proposed.head), ())
        except _Conflict as conflict:
            message = f"changes {_place(conflict.path)}, which {_author(states, conflict.path)}; leave one of them out"
            raise InputError.at(proposed.name, message) from None
        states.append((proposed.name, merged))
    return render_typescript(_facts(states[-1][1]))


def overlay(base: Mapping[str, Any], fragment: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the facts of a base with the declarations of a fragment: interfaces gain members, others are replaced.

    A union that names itself gains alternatives.
    """
    found, new = _tree(base), _tree(fragment)
    for name, declaration in new["declarations"].items():
        known = found["declarations"].get(name, {})
        joined = declaration
        if known.get("kind") == declaration["kind"] == "interface":
            joined = known | {part: known[part] | declaration[part] for part in ("extends", "members")}
        elif known.get("kind") == declaration["kind"] == "type" and name in declaration["value"]:
            added = {part: True for part in declaration["value"] if part != name}
            joined = known | {"value": known["value"] | added}
        found["declarations"][name] = joined
    found["constants"] |= new["constants"]
    return _facts(found)


def _merged(base: Any, ours: Any, theirs: Any, path: tuple[str, ...]) -> Any:
    if theirs in (base, ours):
        return ours
    if ours == base:
        return theirs
    if not (isinstance(base, dict) and isinstance(ours, dict) and isinstance(theirs, dict)):
        raise _Conflict(path)
    before, mine, other = cast(Tree, base), cast(Tree, ours), cast(Tree, theirs)
    merged = {
        key: _merged(before.get(key, _GONE), mine.get(key, _GONE), other.get(key, _GONE), (*path, key))
        for key in {**mine, **other}
    }
    return {key: value for key, value in merged.items() if value is not _GONE}


def _author(states: Sequence[tuple[str, Tree]], path: tuple[str, ...]) -> str:
    """Return who changed a place before, the last proposal or the schema that all are applied to, and how."""
    values = [_at(tree, path) for _, tree in states]
    changed = [
        name for (name, _), value, before in zip(states[1:], values[1:], values, strict=False) if value != before
    ]
    return f"{changed[-1] if changed else states[0][0]} {'does not have' if values[-1] is _GONE else 'changed too'}"


def _at(tree: Tree, path: tuple[str, ...]) -> Any:
    value: Any = tree
    for name in path:
        value = cast(Tree, value).get(name, _GONE) if isinstance(value, dict) else _GONE
    return value


def _place(path: tuple[str, ...]) -> str:
    """Spell a place as the reports do, such as ``Tool.title``."""
    kind, *names = path
    if kind != "declarations":
        return names[0] if names else kind
    return ".".join(name for name in names if name not in {"members", "type", "value", "optional", "tags", "extends"})


def _tree(facts: Mapping[str, Any]) -> Tree:
    declarations = {each["name"]: _declaration(each) for each in facts["declarations"]}
    return {**facts, "constants": dict(facts["constants"]), "declarations": declarations}


def _declaration(facts: Mapping[str, Any]) -> Tree:
    tree = dict(facts)
    if "value" in tree and tree["kind"] == "type":
        tree["value"] = _alternatives(tree["value"])
    if "members" in tree:
        members = {each.get("name", _INDEX): dict(each) for each in tree["members"]}
        for member in members.values():
            if "type" in member:
                member["type"] = _alternatives(member["type"])
        tree |= {"members": members, "extends": dict.fromkeys(tree["extends"], True)}
    return tree


def _facts(tree: Tree) -> dict[str, Any]:
    return {**tree, "declarations": [_declared(each) for each in tree["declarations"].values()]}


def _declared(tree: Tree) -> Tree:
    facts = dict(tree)
    if isinstance(facts.get("value"), dict):
        facts["value"] = " | ".join(facts["value"])
    if "members" in facts:
        facts["extends"] = list(facts["extends"])
        facts["members"] = [
            member | {"type": " | ".join(member["type"])} if "type" in member else member
            for member in facts["members"].values()
        ]
    return facts


def _alternatives(type_: str) -> Tree:
    """Return the alternatives of a type in TypeScript: whoever adds one to a union changes nothing else."""
    return dict.fromkeys((part for part in map(str.strip, _split(type_)) if part), True)


def _split(type_: str) -> Iterator[str]:
    """Split a type at each ``|`` outside quotes and brackets."""
    part, ends = "", list[str]()
    for token in re.findall(r"""=>|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|`(?:\\.|[^`\\])*`|.""", type_):
        if ends and token == ends[-1]:
            ends.pop()
        elif token in _OPENING:
            ends.append(_OPENING[token])
        elif token == "|" and not ends:
            yield part
            part = ""
            continue
        part += token
    yield part
