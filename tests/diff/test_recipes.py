"""Edits of the official files that were once misjudged, each and its mirror image: which programs break, and why."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import pytest

from mcp_bindgen.diff.compare import compare
from mcp_bindgen.diff.compatibility import Verdict, compatibility
from mcp_bindgen.diff.finding import Finding, Pair
from mcp_bindgen.diff.inputs import UNNAMED
from mcp_bindgen.diff.rule import View
from mcp_bindgen.diff.rules import RULES
from mcp_bindgen.ingest.sources import SourceKind, SourceText
from mcp_bindgen.ir.diagnostics import Diagnostics
from mcp_bindgen.ir.nodes import Protocol
from mcp_bindgen.load.protocol import load_sources
from support.official import official_schema, official_typescript

NOVEMBER, JULY = "2025-11-25", "2026-07-28"
CLIENT, SERVER = frozenset((Pair.OLD_CLIENT,)), frozenset((Pair.NEW_CLIENT,))
BOTH, NEITHER = CLIENT | SERVER, frozenset[Pair]()
"""Which pairs of peers break: a client, or a server, written for the official file that meets the edited one."""
STRING: Mapping[str, Any] = {"type": "string"}
MAYBE: Mapping[str, Any] = {"type": ["string", "null"]}


def in_json(*path: str, is_: Any) -> Callable[[str], str]:
    """Return an edit that sets a place of a schema.json, below its definitions."""

    def edit(text: str) -> str:
        tree = json.loads(text)
        node = tree["$defs"]
        for key in path[:-1]:
            node = node[key]
        node[path[-1]] = is_
        return json.dumps(tree)

    return edit


def tagged(declaration: str, member: str, tag: str) -> Callable[[str], str]:
    """Return an edit that adds a tag to the comment of a member in a schema.ts."""

    def edit(text: str) -> str:
        start = text.index(f"export interface {declaration} ")
        at = start + re.search(rf"\n *{member}\??:", text[start:]).start()  # type: ignore[union-attr]
        comment = text.rindex("*/", start, at)
        return f"{text[:comment]}* @{tag}\n   {text[comment:]}"

    return edit


def replaced(old: str, new: str) -> Callable[[str], str]:
    """Return an edit that replaces what a pattern matches, once."""

    def edit(text: str) -> str:
        edited, count = re.subn(old, new, text, count=1)
        assert count == 1
        return edited

    return edit


def inline_request(text: str) -> str:
    """Write tools/list out where the root union lists it."""
    text = replaced(r'export interface ListToolsRequest extends PaginatedRequest \{\s*method: "tools/list";\s*\}', "")(
        text
    )
    return replaced(r"\| ListToolsRequest\b", '| (PaginatedRequest & { method: "tools/list" })')(text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """An edit of an official file, the wire rules that find it with their places, and the programs that it breaks."""

    revision: str
    edit: Callable[[str], str]
    rules: frozenset[tuple[str, str]] = frozenset()
    breaks: frozenset[Pair] = NEITHER
    kind: SourceKind = SourceKind.JSON_SCHEMA


def bound(declaration: str, member: str, tag: str, breaks: frozenset[Pair], *places: str) -> Recipe:
    return Recipe(
        revision=JULY,
        edit=tagged(declaration, member, tag),
        rules=frozenset(("constraint-added", place) for place in places or (f"{declaration}.{member}",)),
        breaks=breaks,
        kind=SourceKind.TYPESCRIPT,
    )


def description(is_: Any, rule: str = "property-forbidden", breaks: frozenset[Pair] = SERVER) -> Recipe:
    """A recipe that changes what the description of a tool may be."""
    edit = in_json("Tool", "properties", "description", is_=is_)
    rules = frozenset({(rule, "Tool.description")} if rule else ())
    return Recipe(revision=NOVEMBER, edit=edit, rules=rules, breaks=breaks)


CACHED = tuple(
    f"{name}.ttlMs"
    for name in (
        *("DiscoverResult", "ListPromptsResult", "ListResourceTemplatesResult", "ListResourcesResult"),
        *("ListToolsResult", "ReadResourceResult"),
    )
)
ERRORS = tuple(
    f"{name}.message"
    for name in (
        *("Error", "HeaderMismatchErrorError"),
        *("MissingRequiredClientCapabilityErrorError", "UnsupportedProtocolVersionErrorError"),
    )
)

RECIPES: dict[str, Recipe] = {
    "items of a list": bound("CallToolResult", "content", "minItems 1", SERVER),
    "a multiple": bound("CacheableResult", "ttlMs", "multipleOf 1000", SERVER, *CACHED),
    "unique items": bound("DiscoverResult", "supportedVersions", "uniqueItems true", SERVER),
    "the length of a string": bound("Implementation", "version", "maxLength 8", BOTH),
    "a bound in schema.ts is gone": Recipe(
        revision=JULY,
        edit=replaced(r"\n *\* @maxItems 100", ""),
        rules=frozenset({("constraint-removed", "CompleteResultCompletion.values")}),
        breaks=CLIENT,
        kind=SourceKind.TYPESCRIPT,
    ),
    "a request written out in its union": Recipe(revision=NOVEMBER, edit=inline_request, kind=SourceKind.TYPESCRIPT),
    "a method with two constants": Recipe(
        revision=NOVEMBER,
        edit=in_json("ListToolsRequest", "properties", "method", is_={"enum": ["tools/list", "tools/enumerate"]}),
        rules=frozenset({("request-method-added", "ListToolsRequest")}),
        breaks=SERVER,
    ),
    "errors of an era without responses of clients": Recipe(
        revision=JULY,
        edit=in_json("Error", "properties", "message", "maxLength", is_=50),
        rules=frozenset(("constraint-added", place) for place in ERRORS),
        breaks=SERVER,
    ),
    "a property of an open object is forbidden": Recipe(
        revision=NOVEMBER,
        edit=in_json("Tool", "properties", "cost", is_=False),
        rules=frozenset({("property-forbidden", "Tool.cost")}),
        breaks=SERVER,
    ),
    "one of two equal members": description({"oneOf": [STRING, STRING]}),
    "one of two members that differ in words": description({"oneOf": [STRING, {**STRING, "description": "Words."}]}),
    "one of two, or null in both": description({"oneOf": [MAYBE, {"type": "null"}]}, rule="", breaks=NEITHER),
    "any of two, and null": description(
        {"anyOf": [MAYBE, {"type": "null"}]}, rule="nullable-added", breaks=CLIENT
    ),
    "one of equal references": Recipe(
        revision=NOVEMBER,
        edit=lambda text: json.dumps(_one_of(json.loads(text))),
        rules=frozenset(
            ("union-member-removed", place)
            for place in ("CallToolResult.content[]", "PromptMessage.content", "ToolResultContent.content[]")
        ),
        breaks=BOTH,
    ),
}  # fmt: skip


def _one_of(tree: Any) -> Any:
    block = tree["$defs"]["ContentBlock"]
    members = block.pop("anyOf")
    block["oneOf"] = [*members, {"$ref": "#/$defs/TextContent"}]
    return tree


@cache
def official(revision: str, kind: SourceKind) -> str:
    path = official_schema(revision) if kind is SourceKind.JSON_SCHEMA else official_typescript(revision)
    return path.read_text("utf-8")


def read(text: str, kind: SourceKind) -> Protocol:
    return load_sources([SourceText(name="schema", kind=kind, data=text.encode())], UNNAMED, Diagnostics())


@cache
def sides(name: str) -> tuple[Protocol, Protocol]:
    recipe = RECIPES[name]
    text = official(recipe.revision, recipe.kind)
    edited = recipe.edit(text)
    assert edited != text
    return read(text, recipe.kind), read(edited, recipe.kind)


def judged(findings: tuple[Finding, ...]) -> tuple[frozenset[tuple[str, str]], frozenset[Pair]]:
    """Return the findings on messages that are worth a line, and the pairs of peers that break."""
    found = [f for f in findings if f.rule.view is View.WIRE and (f.breaks or f.rule.breaks_source)]
    verdicts = compatibility(findings).verdicts
    assert Verdict.NOT_PROVEN not in verdicts.values()
    return frozenset((f.rule.id, f.place) for f in found), frozenset(p for p in Pair if verdicts[p] is Verdict.BREAKS)


@pytest.mark.parametrize("name", RECIPES)
def test_an_edit_breaks_the_programs_that_it_breaks(name: str) -> None:
    recipe = RECIPES[name]
    assert judged(compare(*sides(name))) == (recipe.rules, recipe.breaks)


@pytest.mark.parametrize("name", RECIPES)
def test_its_mirror_image_breaks_the_others(name: str) -> None:
    """What narrows for one direction widens in the other, by the mirrors of the rules."""
    recipe = RECIPES[name]
    old, new = sides(name)
    rules = frozenset((RULES[rule].mirror, place) for rule, place in recipe.rules)
    swapped = dict(zip(Pair, reversed(tuple(Pair)), strict=True))
    assert judged(compare(new, old)) == (rules, frozenset(swapped[pair] for pair in recipe.breaks))
