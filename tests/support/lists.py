"""Servers that list what is not valid, and seeded lists in which some items are not."""

import random
from collections.abc import Callable
from typing import Any, Final

from pydantic import RootModel

from mcp_bindings import v2024_11_05, v2025_03_26, v2025_06_18, v2025_11_25, v2026_07_28
from mcp_runtime.core.settings import ServerOptions

PACKAGES: Final[tuple[Any, ...]] = (v2024_11_05, v2025_03_26, v2025_06_18, v2025_11_25, v2026_07_28)
VALID: Final[dict[str, dict[str, Any]]] = {
    "tools": {"name": "", "description": "d", "inputSchema": {"type": "object", "required": ["a"]}},
    "resources": {"name": "", "uri": "r://a", "annotations": {"priority": 1}},
    "resourceTemplates": {"name": "", "uriTemplate": "r://{a}", "mimeType": "text/plain"},
    "prompts": {"name": "", "arguments": [{"name": "a", "required": True}]},
}
"""A valid item of each list; its name is set when it is used."""
CALLS: Final = {
    "tools": "list_tools",
    "resources": "list_resources",
    "resourceTemplates": "list_resource_templates",
    "prompts": "list_prompts",
}
ATTRIBUTES: Final = {"resourceTemplates": "resource_templates"}
WRONG: Final[dict[str, tuple[tuple[str, Any], ...]]] = {
    "tools": (
        ("inputSchema", None),
        ("inputSchema", {"type": "array"}),
        ("inputSchema", {"properties": {}}),
        ("inputSchema", True),
        ("inputSchema", [{"type": "object"}]),
        ("description", ["d"]),
    ),
    "resources": (("uri", None), ("uri", 5), ("annotations", {"priority": "high"}), ("mimeType", {})),
    "resourceTemplates": (("uriTemplate", None), ("uriTemplate", []), ("mimeType", 5), ("description", {})),
    "prompts": (("arguments", {}), ("arguments", [{"required": True}]), ("arguments", ["a"]), ("description", 1)),
}
"""Values that no revision allows for a property of an item; each property of which None is one is required."""
NO_ITEMS: Final[tuple[Any, ...]] = (None, 5, "x", [], True, {})


class Raw(RootModel[dict[str, Any]]):
    """A result that is sent as it is."""


def server_of(package: Any, lists: dict[str, Any]) -> Any:
    """Return a server of one revision that lists these items, valid or not."""

    def handler(kind: str) -> Callable[..., Any]:
        async def handle(self: Any, params: Any, ctx: Any) -> Any:
            modern = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
            return Raw({kind: lists[kind], **(modern if package is v2026_07_28 else {})})

        return handle

    handlers: dict[str, Any] = {CALLS[kind]: handler(kind) for kind in lists}
    return type("Lists", (package.Server,), handlers | {"options": ServerOptions(revisions="own")})()


def draw(dice: random.Random, kind: str, size: int) -> tuple[list[Any], list[str], list[str]]:
    """Return a list in which some items are not valid, the names of those that are, and the pointers of the others."""
    items: list[Any] = []
    names: list[str] = []
    pointers: list[str] = []
    for number in range(size):
        item: Any = VALID[kind] | {"name": f"n{number}"}
        match dice.choice(("valid", "valid", "property", "missing", "none")):
            case "valid":
                names.append(f"n{number}")
            case "property":
                item |= dict([dice.choice(WRONG[kind])])
            case "missing":
                required = [name for name, value in WRONG[kind] if value is None]
                del item[dice.choice((*required, "name"))]
            case _:
                item = dice.choice(NO_ITEMS)
        items.append(item)
        if len(names) + len(pointers) == number:
            pointers.append(f"/{kind}/{number}")
    return items, names, pointers
