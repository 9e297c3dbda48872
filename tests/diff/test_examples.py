"""Changes of official files whose verdicts were once wrong, each with its mirror image: both sides swapped."""

import json
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from mcp_bindgen.diff.compare import compare
from mcp_bindgen.diff.compatibility import Verdict, compatibility
from mcp_bindgen.diff.finding import Pair
from mcp_bindgen.diff.inputs import UNNAMED
from mcp_bindgen.diff.source.compare import compare_definitions
from mcp_bindgen.ingest.sources import SourceKind, SourceText
from mcp_bindgen.ir.diagnostics import Diagnostics
from mcp_bindgen.ir.nodes import Protocol
from mcp_bindgen.load.protocol import load_released, load_sources
from support.official import official_schema
from support.samples import REVISIONS

NOVEMBER, MODERN = REVISIONS[-2:]
OLD_CLIENT, NEW_CLIENT = Pair.OLD_CLIENT, Pair.NEW_CLIENT
MIRROR = {OLD_CLIENT: NEW_CLIENT, NEW_CLIENT: OLD_CLIENT}
BOTH, NEITHER = {OLD_CLIENT, NEW_CLIENT}, set[Pair]()
Edit = Callable[[dict[str, Any]], object]


@cache
def text(revision: str) -> str:
    return official_schema(revision).read_text("utf-8")


def read(tree: Any) -> Protocol:
    source = SourceText(name="schema.json", kind=SourceKind.JSON_SCHEMA, data=json.dumps(tree).encode())
    return load_sources([source], UNNAMED, Diagnostics())


@cache
def untouched(revision: str) -> Protocol:
    return read(json.loads(text(revision)))


def edited(edit: Edit, revision: str) -> Protocol:
    tree = json.loads(text(revision))
    edit(tree["$defs"] if "$defs" in tree else tree["definitions"])
    return read(tree)


def member(name: str, key: str, value: Any) -> Edit:
    """Replace the schema of a property."""
    return lambda definitions: definitions[name]["properties"].update({key: value})


def optional(name: str, key: str) -> Edit:
    return lambda definitions: definitions[name]["required"].remove(key)


def stated(name: str, **keywords: Any) -> Edit:
    """Add keywords to a definition."""
    return lambda definitions: definitions[name].update(keywords)


def renamed(name: str, old: str, new: str) -> Edit:
    def edit(definitions: dict[str, Any]) -> None:
        node = definitions[name]
        node["properties"][new] = node["properties"].pop(old)
        node["required"] = [new if key == old else key for key in node["required"]]

    return edit


def unlisted(root: str, message: str) -> Edit:
    """Take a message out of a root union."""

    def edit(definitions: dict[str, Any]) -> None:
        definitions[root]["anyOf"] = [m for m in definitions[root]["anyOf"] if not m["$ref"].endswith(f"/{message}")]

    return edit


def new_content(definitions: dict[str, Any]) -> None:
    definitions["VideoContent"] = {
        "type": "object",
        "properties": {"type": {"const": "video"}, "data": {"type": "string"}},
        "required": ["type", "data"],
    }
    definitions["ContentBlock"]["anyOf"].append({"$ref": "#/$defs/VideoContent"})


def no_integers(definitions: dict[str, Any]) -> None:
    (scalars,) = [member for member in definitions["JSONValue"]["anyOf"] if isinstance(member.get("type"), list)]
    scalars["type"].remove("integer")


def swapped_codes(definitions: dict[str, Any]) -> None:
    names = ("HeaderMismatchError", "MissingRequiredClientCapabilityError")
    codes = [_code(definitions[name]) for name in names]
    codes[0]["const"], codes[1]["const"] = codes[1]["const"], codes[0]["const"]


def _code(node: dict[str, Any]) -> dict[str, Any]:
    parts = [node["properties"]["error"], *node["properties"]["error"].get("allOf", ())]
    found: dict[str, Any] = next(p["properties"]["code"] for p in parts if "code" in p.get("properties", {}))
    return found


def notification_with_id(definitions: dict[str, Any]) -> None:
    """Add a request whose name ends like that of a notification."""
    definitions["DanceNotification"] = {
        "type": "object",
        "properties": {
            "jsonrpc": {"const": "2.0"},
            "id": {"$ref": "#/$defs/RequestId"},
            "method": {"const": "dance/start"},
        },
        "required": ["jsonrpc", "id", "method"],
    }
    definitions["ClientRequest"]["anyOf"].append({"$ref": "#/$defs/DanceNotification"})


def error_data(definitions: dict[str, Any]) -> None:
    own = definitions["UnsupportedProtocolVersionError"]["properties"]["error"]["allOf"][1]
    own["properties"]["data"]["properties"]["supported"] = {"type": "string"}


def prefix_items(definitions: dict[str, Any]) -> None:
    definitions["CompleteResult"]["properties"]["completion"]["properties"]["values"]["prefixItems"] = [
        {"type": "boolean"}
    ]


def reference_with_sibling(definitions: dict[str, Any]) -> None:
    definitions["CallToolResult"]["properties"]["_meta"]["required"] = ["trace"]


def other_result(definitions: dict[str, Any]) -> None:
    definitions["GetPromptResultResponse"]["properties"]["result"] = {"$ref": "#/$defs/CompleteResult"}


EXAMPLES: dict[str, tuple[str, Edit, set[Pair]]] = {
    # Results have several forms, chosen by their resultType
    "isError of tools/call is a string": (MODERN, member("CallToolResult", "isError", {"type": "string"}), BOTH),
    "contents of resources/read is renamed": (MODERN, renamed("ReadResourceResult", "contents", "parts"), BOTH),
    "messages of prompts/get is optional": (MODERN, optional("GetPromptResult", "messages"), {OLD_CLIENT}),
    "a new content block": (MODERN, new_content, BOTH),  # Tool results in sampling go the other way.
    "tools of tools/list is renamed": (MODERN, renamed("ListToolsResult", "tools", "items"), BOTH),
    # A message that no root union lists is sent by nobody
    "completion/complete left its root union": (NOVEMBER, unlisted("ClientRequest", "CompleteRequest"), {OLD_CLIENT}),
    "subscriptions/listen left its root union": (
        MODERN,
        unlisted("ClientRequest", "SubscriptionsListenRequest"),
        {OLD_CLIENT},
    ),
    "roots/list left its root union": ("2025-06-18", unlisted("ServerRequest", "ListRootsRequest"), {NEW_CLIENT}),
    "a notification left its root union": (
        NOVEMBER,
        unlisted("ServerNotification", "ToolListChangedNotification"),
        NEITHER,  # Peers ignore notifications that they do not know.
    ),
    # Keywords that no type expresses
    "unevaluatedProperties": (MODERN, stated("CallToolResult", unevaluatedProperties=False), {NEW_CLIENT}),
    "patternProperties": (
        MODERN,
        stated("CallToolResult", patternProperties={"^x-": {"type": "string"}}),
        {NEW_CLIENT},
    ),
    "dependentRequired": (
        MODERN,
        stated("CallToolResult", dependentRequired={"isError": ["structuredContent"]}),
        {NEW_CLIENT},
    ),
    "if": (
        MODERN,
        stated("CallToolResult", **{"if": {"required": ["isError"]}, "then": {"required": ["structuredContent"]}}),
        {NEW_CLIENT},
    ),
    "contains": (
        MODERN,
        lambda d: d["CallToolResult"]["properties"]["content"].update(contains={"required": ["annotations"]}),
        {NEW_CLIENT},
    ),
    "a reference with a sibling": (MODERN, reference_with_sibling, {NEW_CLIENT}),
    "a sibling of the reference to params": (
        NOVEMBER,
        lambda d: d["ListResourcesRequest"]["properties"]["params"].update(required=["cursor"]),
        {OLD_CLIENT},
    ),
    # Roles and witnesses
    "Tool.title is forbidden": (MODERN, member("Tool", "title", False), {NEW_CLIENT}),
    "prefixItems": (MODERN, prefix_items, BOTH),
    # Kinds and pairing come from unions and shapes, not from names
    "a request named like a notification": (NOVEMBER, notification_with_id, {NEW_CLIENT}),
    "prompts/get has another result": (MODERN, other_result, BOTH),
    # Values of any type, errors, and what is equal
    "JSON values without integers": (MODERN, no_integers, BOTH),
    "two error codes are swapped": (MODERN, swapped_codes, BOTH),
    "data of an error is retyped": (MODERN, error_data, BOTH),
    "a number between its bounds is an integer": (
        NOVEMBER,
        lambda d: d["Annotations"]["properties"]["priority"].update(type="integer"),
        BOTH,
    ),
    "a tag that its form cannot have": (
        MODERN,
        lambda d: d["ListResourcesResult"]["properties"]["resultType"].update(pattern="^[a-c]+$"),
        {NEW_CLIENT},
    ),
    "long names of properties": (
        NOVEMBER,
        lambda d: d["ClientCapabilities"]["properties"]["experimental"].update(propertyNames={"maxLength": 12}),
        {OLD_CLIENT},
    ),
    # What nobody can send
    "params that JSON-RPC refuses": ("2025-03-26", member("PingRequest", "params", {}), NEITHER),
    "a method that is not a name": (
        REVISIONS[0],
        member("JSONRPCNotification", "method", {"type": ["string", "null"]}),
        NEITHER,
    ),
    "a result without the tag of its form": (MODERN, optional("InputRequiredResult", "resultType"), NEITHER),
    "a keyword that its dialect does not have": (
        "2025-06-18",
        stated("CallToolResult", unevaluatedProperties=False),
        NEITHER,
    ),
    "undeclared properties are allowed in so many words": (
        MODERN,
        stated("CallToolResult", additionalProperties={}),
        NEITHER,
    ),
}
"""Name -> the revision, the change, and the pairs of peers that it breaks; all others are proven compatible."""


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_verdicts_are_true_both_ways(name: str) -> None:
    revision, edit, broken = EXAMPLES[name]
    sides = untouched(revision), edited(edit, revision)
    for there, back in ((sides, broken), (sides[::-1], {MIRROR[pair] for pair in broken})):
        findings = compare(*there)
        expected = {pair: Verdict.BREAKS if pair in back else Verdict.COMPATIBLE for pair in Pair}
        assert compatibility(findings).verdicts == expected
        assert all(finding.witnesses.keys() == finding.proven for finding in findings if finding.breaks)


def test_a_removed_result_is_found_under_the_name_that_its_response_keeps() -> None:
    found = compare(untouched(MODERN), edited(other_result, MODERN))
    errors = {(f.rule.id, f.place) for f in found if f.proven}
    assert ("property-removed-required", "GetPromptResult.messages") in errors
    assert ("result-alternative-removed", "GetPromptResult") in errors


@pytest.mark.parametrize("back", [False, True])
def test_params_of_a_removed_method_are_not_renamed(back: bool) -> None:
    """SubscribeRequestParams looks like ResourceRequestParams, but code cannot use that name instead."""
    sides = load_released(REVISIONS[0]), load_released(MODERN)
    findings = compare_definitions(*(reversed(sides) if back else sides))
    about = {f.rule.id for f in findings if "SubscribeRequestParams" in (f.old, f.new)}
    # The params of 2024-11-05 are inline, so that only their message has a name.
    assert about == {"definition-added" if back else "definition-removed"}


@pytest.mark.parametrize("back", [False, True])
def test_params_of_a_method_that_stays_are_renamed(back: bool) -> None:
    def edit(definitions: dict[str, Any]) -> None:
        names = "SubscribeRequestParams", "SubscriptionParams"
        changed = json.loads(json.dumps(definitions).replace(f'/{names[0]}"', f'/{names[1]}"'))
        changed[names[1]] = changed.pop(names[0])
        definitions.clear()
        definitions.update(changed)

    sides = untouched(NOVEMBER), edited(edit, NOVEMBER)
    names = "SubscribeRequestParams", "SubscriptionParams"
    findings = compare_definitions(*(reversed(sides) if back else sides))
    renames = [(f.old, f.new) for f in findings if f.rule.id == "definition-renamed"]
    assert (names[::-1] if back else names) in renames
