"""An unreleased revision: the newest one plus a new method, notification, capability, content and type."""

import json
from typing import Any

from mcp_bindgen.ingest.revisions import released, shipped_source
from mcp_bindgen.ingest.sources import SourceKind
from mcp_bindgen.ingest.typescript_facts import render_typescript

NEW = "2099-12-31"

_ADDED = """
export interface Tree { value: string; children?: Tree[]; }
export interface ThingContent { type: "thing"; thing: Tree; }
export interface ListThingsRequest extends PaginatedRequest { method: "things/list"; }
export interface ListThingsResult extends PaginatedResult, CacheableResult { things: Tree[]; }
export interface ThingListChangedNotification extends JSONRPCNotification {
  method: "notifications/things/list_changed"; params?: NotificationParams;
}
"""
DOCS = """
[revisions."2099-12-31".definitions]
Tree = "A text, and further ones that hang below it."
ThingContent = "Carries one tree inside a message, as text and images are carried."
ListThingsRequest = "Asks a server which trees it offers."
ListThingsResult = "One page of the trees that the server offers."
ThingListChangedNotification = "Sent after the trees on offer became others."
ServerCapabilitiesThings = "Details of how trees are offered."

[revisions."2099-12-31".properties.ServerCapabilities]
things = "Present if the server offers trees."

[revisions."2099-12-31".properties.ServerCapabilitiesThings]
listChanged = "Whether a message is sent once other trees are on offer."

[revisions."2099-12-31".properties.Tree]
value = "The text at this place of the tree."
children = "Whatever hangs directly below this place."

[revisions."2099-12-31".properties.ThingContent]
type = "Tells this kind of content from others."
thing = "The tree that is carried."

[revisions."2099-12-31".properties.ListThingsResult]
things = "The trees on this page, from their roots down."
"""
"""What a person adds to docs.toml."""
CAPABILITIES = {
    '"completion/complete"': '"things/list" = "server.things"\n"completion/complete"',
    '"elicitation/create"': '"notifications/things/list_changed" = "server.things.listChanged"\n"elicitation/create"',
}
"""What a person adds to capabilities.toml, each row before another."""
_TREE: dict[str, Any] = {
    "type": "object",
    "properties": {
        "value": {"type": "string"},
        "children": {"type": "array", "items": {"$ref": "#/$defs/Tree"}},
    },
    "required": ["value"],
}


def new_typescript() -> str:
    """Return the schema.ts of the new revision."""
    newest = list(released())[-1]
    text = render_typescript(json.loads(shipped_source(newest, SourceKind.TYPESCRIPT).data)).replace(newest, NEW)
    for union, member in (
        ("ClientRequest", "ListThingsRequest"),
        ("ServerNotification", "ThingListChangedNotification"),
        ("ContentBlock", "ThingContent"),
    ):
        text = text.replace(f"export type {union} =\n", f"export type {union} = {member} |\n")
    opening = "export interface ServerCapabilities\n{\n"
    assert opening in text
    return text.replace(opening, f'{opening}  "things"?: {{ listChanged?: boolean }};\n') + _ADDED


def new_schema() -> dict[str, Any]:
    """Return the schema.json of the new revision."""
    newest = list(released())[-1]
    root: dict[str, Any] = json.loads(shipped_source(newest, SourceKind.JSON_SCHEMA).data)
    definitions = root["$defs"]
    things = {"type": "object", "properties": {"listChanged": {"type": "boolean"}}}
    definitions["ServerCapabilities"]["properties"]["things"] = things
    definitions["Tree"] = _TREE
    definitions["ThingContent"] = {
        "type": "object",
        "properties": {"type": {"const": "thing", "type": "string"}, "thing": {"$ref": "#/$defs/Tree"}},
        "required": ["thing", "type"],
    }
    definitions["ListThingsRequest"] = _like(definitions["ListToolsRequest"], method="things/list")
    result = json.loads(
        json.dumps(definitions["ListToolsResult"]).replace('"tools"', '"things"').replace("/Tool", "/Tree")
    )
    definitions["ListThingsResult"] = result
    changed = _like(definitions["ToolListChangedNotification"], method="notifications/things/list_changed")
    definitions["ThingListChangedNotification"] = changed
    for union, member in (
        ("ClientRequest", "ListThingsRequest"),
        ("ServerNotification", "ThingListChangedNotification"),
        ("ContentBlock", "ThingContent"),
    ):
        definitions[union]["anyOf"].append({"$ref": f"#/$defs/{member}"})
    for name, definition in definitions.items():
        # The official file has prose.
        definition["description"] = f"Official words on {name}."
        for wire_name, inner in definition.get("properties", {}).items():
            inner["description"] = f"Official words on `{wire_name}`."
    return root


def _like(definition: dict[str, Any], *, method: str) -> dict[str, Any]:
    copy: dict[str, Any] = json.loads(json.dumps(definition))
    copy["properties"]["method"]["const"] = method
    return copy
