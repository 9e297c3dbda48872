"""The exported OpenRPC documents: complete, without dangling references, and unable to make a reader fetch anything."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mcp_bindgen.export.openrpc import openrpc
from mcp_bindgen.ir.json_values import is_list, is_object
from mcp_bindgen.load.protocol import load_released
from support.command import Cli
from support.samples import REVISIONS


def references(value: Any) -> Iterator[str]:
    """Iterate over the references of a document."""
    if is_object(value):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        for inner in value.values():
            yield from references(inner)
    elif is_list(value):
        for inner in value:
            yield from references(inner)


def target(document: Any, reference: str) -> Any:
    """Return what a reference in a document leads to."""
    assert reference.startswith("#/")
    for token in reference[2:].split("/"):
        document = document[token.replace("~1", "/").replace("~0", "~")]
    return document


@pytest.mark.parametrize("revision", REVISIONS)
def test_a_revision(revision: str) -> None:
    protocol = load_released(revision)
    found = openrpc(protocol)
    assert [method["name"] for method in found["methods"]] == [method.name for method in protocol.methods]
    for reference in references(found):
        assert target(found, reference) is not None
    for shown, method in zip(found["methods"], protocol.methods, strict=True):
        assert ("result" in shown) is method.is_request
        assert shown["x-mcp-direction"] == method.direction.value
        assert shown.get("x-mcp-capability", "") == method.capability
        names = [param["name"] for param in shown["params"]]
        assert len(set(names)) == len(names)
    assert {error["code"] for error in found.get("components", {}).get("errors", {}).values()} == {
        constant.value for constant in protocol.constants if isinstance(constant.value, int) and constant.value < 0
    }


def test_alternatives_gates_and_forms() -> None:
    found = {method["name"]: method for method in openrpc(load_released("2025-11-25"))["methods"]}
    call = found["tools/call"]
    assert [each["$ref"].rpartition("/")[2] for each in call["result"]["schema"]["anyOf"]] == [
        "CallToolResult",
        "CreateTaskResult",
    ]
    params = {param["name"]: param for param in call["params"]}
    assert params["name"]["required"] and not params["arguments"]["required"]
    assert params["task"]["x-mcp-capability"] == "server.tasks.requests.tools.call"
    asked = {param["name"]: param for param in found["elicitation/create"]["params"]}
    assert asked["message"]["required"] and not asked["url"]["required"]


def test_types_that_contain_themselves_are_named() -> None:
    assert openrpc(load_released("2026-07-28"))["x-mcp-recursive"] == ["JSONValue", "JSONObject", "JSONArray"]


def test_the_contract_of_a_server(cli: Cli, tmp_path: Path) -> None:
    tree = {"type": "object", "properties": {"children": {"type": "array", "items": {"$ref": "#/$defs/Tree"}}}}
    tools = [
        {
            "name": "weather/now",
            "description": "The weather <script>now</script>.",
            "inputSchema": {
                "$schema": "https://json-schema.org/draft/2020-12/schema",
                "type": "object",
                "properties": {"city/town": {"type": "string"}, "tree": {"$ref": "#/$defs/Tree"}},
                "required": ["city/town"],
                "$defs": {"Tree": tree},
            },
            "annotations": {"readOnlyHint": True},
        },
        {"name": "weather_now", "inputSchema": {"$ref": "https://example.com/evil.json"}, "outputSchema": tree},
    ]
    lock = tmp_path / "tools.lock.json"
    server = {"name": "weather", "version": "1"}
    lock.write_text(json.dumps({"format": 1, "server": server, "tools": tools}))
    found = cli("tools", "export", "--lock", str(lock)).json
    assert found["info"] == {"title": "weather", "version": "1"}
    first, second = found["methods"]
    assert (first["name"], first["x-mcp-method"]) == ("weather/now", "tools/call")
    assert first["x-mcp-annotations"] == {"readOnlyHint": True}
    town, shown = first["params"]
    assert (town["name"], town["required"], target(found, town["schema"]["$ref"])) == (
        "city/town",
        True,
        {"type": "string"},
    )
    assert target(found, target(found, shown["schema"]["$ref"])["$ref"])["type"] == "object"
    assert target(found, second["x-mcp-params"]["$ref"]) == {"x-mcp-ref": "https://example.com/evil.json"}
    assert all(reference.startswith("#/components/schemas/") for reference in references(found))
    assert "$schema" not in json.dumps(found["components"])


def test_no_lock_file(cli: Cli) -> None:
    assert "cannot be read" in cli("tools", "export", expect=2).err


@pytest.mark.parametrize("command", ["json-schema", "openrpc"])
def test_the_output_is_the_same_twice(cli: Cli, command: str) -> None:
    assert cli("export", command, "2025-11-25").out == cli("export", command, "2025-11-25").out
