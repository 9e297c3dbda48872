"""Changes to the official files, each with all expected findings: rule, place, severity, and the peers that break."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from mcp_bindgen.diff.finding import Pair
from support.samples import LEGACY, REVISIONS

Definitions: TypeAlias = dict[str, Any]
Edit: TypeAlias = Callable[[Definitions], None]

BOTH = frozenset(Pair)
NOBODY = frozenset[Pair]()
OLD_CLIENT, NEW_CLIENT = frozenset({Pair.OLD_CLIENT}), frozenset({Pair.NEW_CLIENT})


@dataclass(frozen=True, slots=True)
class Expected:
    """One finding: its rule, place, severity, and the pairs of peers that it breaks."""

    rule: str
    place: str
    severity: str = "error"
    breaks: frozenset[Pair] = BOTH


@dataclass(frozen=True, slots=True)
class Mutation:
    """One change to the file of one revision, and the complete list of findings."""

    revision: str
    name: str
    edit: Edit
    expected: tuple[Expected, ...]


def params(definitions: Definitions, message: str) -> dict[str, Any]:
    """Return the params of a message: a definition, or inline in older revisions."""
    found: dict[str, Any] = definitions[message]["properties"]["params"]
    return definitions[found["$ref"].rpartition("/")[2]] if "$ref" in found else found


def _at(place: str, change: Callable[[dict[str, Any]], None]) -> Edit:
    """Change an object: a definition, or the params of a message (``CallToolRequest()``)."""

    def edit(definitions: Definitions) -> None:
        is_params = place.endswith("()")
        change(params(definitions, place.removesuffix("()")) if is_params else definitions[place])

    return edit


def _property(place: str, key: str, change: Callable[[dict[str, Any]], None]) -> Edit:
    return _at(place, lambda node: change(node["properties"][key]))


def _added(place: str, *, required: bool) -> Edit:
    def change(node: dict[str, Any]) -> None:
        node.setdefault("properties", {})["extra"] = {"type": "string"}
        if required:
            node["required"] = [*node.get("required", ()), "extra"]

    return _at(place, change)


def _dropped(place: str, key: str) -> Edit:
    def change(node: dict[str, Any]) -> None:
        del node["properties"][key]
        node["required"] = [name for name in node.get("required", ()) if name != key]

    return _at(place, change)


def _needed(place: str, key: str) -> Edit:
    return _at(place, lambda node: node.update(required=[*node.get("required", ()), key]))


def _freed(place: str, key: str) -> Edit:
    return _at(place, lambda node: node["required"].remove(key))


def _renamed(place: str, old: str, new: str) -> Edit:
    def change(node: dict[str, Any]) -> None:
        node["properties"][new] = node["properties"].pop(old)

    return _at(place, change)


def _method(message: str) -> Edit:
    return _property(message, "method", lambda node: node.update(const="zzz/zzz"))


def _unlisted(root: str, message: str) -> Edit:
    def edit(definitions: Definitions) -> None:
        members = definitions[root]["anyOf"]
        definitions[root]["anyOf"] = [one for one in members if not one["$ref"].endswith(f"/{message}")]

    return edit


def _everywhere() -> Iterator[tuple[str, Edit, tuple[Expected, ...]]]:
    """Iterate over the changes that are possible in every revision."""
    tool, call = "Tool", "CallToolRequest()"
    yield "required result", _added("ListToolsResult", required=True), _one(
        "property-added-required", "ListToolsResult.extra", NEW_CLIENT
    )
    yield "optional in a tool", _added(tool, required=False), _mild("property-added-optional", "Tool.extra", "info")
    yield "required in a tool", _added(tool, required=True), _one("property-added-required", "Tool.extra", NEW_CLIENT)
    yield "dropped description", _dropped(tool, "description"), _mild(
        "property-removed-optional", "Tool.description", "warning"
    )
    yield "dropped name", _dropped(tool, "name"), _one("property-removed-required", "Tool.name", OLD_CLIENT)
    yield "needed description", _needed(tool, "description"), _one(
        "property-now-required", "Tool.description", NEW_CLIENT
    )
    yield "freed name", _freed(tool, "name"), _one("property-now-optional", "Tool.name", OLD_CLIENT)
    boolean = _property(tool, "description", lambda node: node.update(type="boolean"))
    yield "boolean description", boolean, _one("type-changed", "Tool.description", BOTH)
    bound = _property(tool, "description", lambda node: node.update(maxLength=9))
    yield "bounded description", bound, _one("constraint-added", "Tool.description", NEW_CLIENT)
    null = _property(tool, "description", lambda node: node.update(type=["string", "null"]))
    yield "null description", null, _one("nullable-added", "Tool.description", OLD_CLIENT)
    closed = _at(tool, lambda node: node.update(additionalProperties=False))
    yield "closed tool", closed, _one("additional-properties-closed", "Tool{}", NEW_CLIENT)
    yield "required argument", _added(call, required=True), _one(
        "property-added-required", "CallToolRequestParams.extra", OLD_CLIENT
    )
    yield "optional argument", _added(call, required=False), _mild(
        "property-added-optional", "CallToolRequestParams.extra", "info"
    )
    yield "needed arguments", _needed(call, "arguments"), _one(
        "property-now-required", "CallToolRequestParams.arguments", OLD_CLIENT
    )
    yield "freed tool name", _freed(call, "name"), _one(
        "property-now-optional", "CallToolRequestParams.name", NEW_CLIENT
    )
    yield "renamed method", _method("ListPromptsRequest"), _one("method-renamed", "ListPromptsRequest", BOTH)
    notification = "ResourceUpdatedNotification"
    yield "renamed notification", _method(notification), _mild("method-renamed", notification, "warning")
    few = _property("ListToolsResult", "tools", lambda node: node.update(minItems=1))
    yield "some tools", few, _one("constraint-added", "ListToolsResult.tools", NEW_CLIENT)
    yield "no tools", _dropped("ListToolsResult", "tools"), _one(
        "property-removed-required", "ListToolsResult.tools", OLD_CLIENT
    )
    cursor = _renamed("ListToolsResult", "nextCursor", "next_cursor")
    yield "renamed cursor", cursor, _mild("property-renamed", "ListToolsResult.nextCursor", "warning")
    constant = _property("TextContent", "type", lambda node: node.update(const="words"))
    yield "other constant", constant, _one("union-discriminator-changed", "TextContent.type", BOTH)
    unlisted = _unlisted("ClientRequest", "ListPromptsRequest")
    yield "unlisted request", unlisted, _one("request-method-removed", "ListPromptsRequest", OLD_CLIENT)
    deprecated = _at(tool, lambda node: node["properties"].update(extra={"type": "string", "deprecated": True}))
    yield "deprecated at birth", deprecated, (
        *_mild("property-added-optional", "Tool.extra", "info"),
        *_mild("deprecated-added", "Tool.extra", "info"),
    )
    true = _at("PromptArgument", lambda node: node["properties"].update(required={"const": True}))
    yield "true alone", true, (
        *_one("type-narrowed", "PromptArgument.required", NEW_CLIENT),
        *_mild("description-removed", "PromptArgument.required", "info"),
    )
    progress = _property("ProgressNotification()", "progress", lambda node: node.update(type="string"))
    yield "progress as text", progress, _one("type-changed", "ProgressNotificationParams.progress", BOTH)


def _of_legacy() -> Iterator[tuple[str, Edit, tuple[Expected, ...]]]:
    """Iterate over the changes of revisions with a handshake."""
    yield "freed version", _freed("Implementation", "version"), _one(
        "property-now-optional", "Implementation.version", BOTH
    )
    yield "no image", _dropped("ImageContent", "data"), _one("property-removed-required", "ImageContent.data", BOTH)
    yield "renamed ping", _method("PingRequest"), _one("method-renamed", "PingRequest", BOTH)


def _one(rule: str, place: str, breaks: frozenset[Pair]) -> tuple[Expected, ...]:
    return (Expected(rule, place, "error", breaks),)


def _mild(rule: str, place: str, severity: str) -> tuple[Expected, ...]:
    return (Expected(rule, place, severity, NOBODY),)


def mutations() -> Iterator[Mutation]:
    """Iterate over all changes of all revisions."""
    for revision in REVISIONS:
        rows = [*_everywhere(), *(_of_legacy() if revision in LEGACY else ())]
        yield from (Mutation(revision, name, edit, expected) for name, edit, expected in rows)
