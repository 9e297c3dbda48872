"""Boolean JSON Schemas: read in every revision wherever a subschema may be, and written to older peers as objects."""

import random
from typing import Any, Final

import pytest

from mcp_bindings import Client, ClientOptions, RemoteProtocolError, ServerOptions, connect_memory, v2025_06_18
from mcp_bindings import v2026_07_28 as modern
from support.lists import PACKAGES, Raw, server_of

LEGACY: Final[tuple[Any, ...]] = PACKAGES[:-1]
OUTPUTS: Final[tuple[Any, ...]] = PACKAGES[2:]
"""The revisions in which tools have output schemas."""
SPELLED: Final[dict[bool, Any]] = {True: {}, False: {"not": {}}}


def places(dice: random.Random) -> dict[str, Any]:
    """Return the schema of an object with booleans in many of the places where a subschema may be."""
    found: dict[str, Any] = {
        "type": "object",
        "properties": {
            "direct": dice.random() < 0.5,
            "object": {"type": "string"},
            "items": {"type": "array", "items": dice.random() < 0.5, "prefixItems": [True, {}]},
            "nested": {"type": "object", "properties": {"x": dice.random() < 0.5}, "additionalProperties": True},
            "any": {dice.choice(("anyOf", "allOf", "oneOf")): [True, {"type": "null"}]},
            "not": {"not": dice.random() < 0.5, "if": True, "then": False},
        },
        "additionalProperties": dice.random() < 0.5,
        "$defs": {"a": dice.random() < 0.5},
        "patternProperties": {"^x": True},
    }
    kept = dice.sample(list(found["properties"]), dice.randint(1, 6))
    found["properties"] = {name: found["properties"][name] for name in kept}
    return found


def spelled(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema whose properties are objects."""
    properties = {
        name: SPELLED[inner] if isinstance(inner, bool) else inner for name, inner in schema["properties"].items()
    }
    return {**schema, "properties": properties}


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.REVISION)
@pytest.mark.parametrize("is_bridged", [False, True], ids=["own", "bridged"])
@pytest.mark.parametrize("strict", [False, True])
async def test_they_are_read_in_every_revision(package: Any, is_bridged: bool, strict: bool) -> None:
    dice = random.Random(f"{package.REVISION} {is_bridged}")
    schemas = [places(dice) for _ in range(8)]
    tools = [{"name": f"t{number}", "inputSchema": schema} for number, schema in enumerate(schemas)]
    if package in OUTPUTS:
        tools += [{"name": "out", "inputSchema": {"type": "object"}, "outputSchema": schemas[0]}]
    client: Any = Client if is_bridged else package.Client
    async with connect_memory(server_of(package, {"tools": tools})) as peer:
        opened = await client.open(peer, options=ClientOptions(strict=strict))
        found = await opened.list_tools()
    assert found.unusable == () and len(found.tools) == len(tools)
    for tool, schema in zip(found.tools, schemas, strict=False):
        read = tool.input_schema.model_dump(mode="json")
        assert read in (schema, spelled(schema))


class Modern(modern.Server):
    """Lists the schemas that it is given."""

    def __init__(self, tools: list[dict[str, Any]]) -> None:
        self.tools = tools

    async def list_tools(self, params: Any, ctx: Any) -> Any:
        return Raw({"resultType": "complete", "ttlMs": 0, "cacheScope": "private", "tools": self.tools})


@pytest.mark.parametrize("package", LEGACY, ids=lambda package: package.REVISION)
async def test_they_are_written_to_older_peers_as_objects(package: Any) -> None:
    dice = random.Random(package.REVISION)
    schemas = [places(dice) for _ in range(8)]
    tools = [{"name": "t", "inputSchema": schema, "outputSchema": schema} for schema in schemas]
    seen: list[bytes] = []
    async with connect_memory(Modern(tools)) as peer:
        options = ClientOptions(revisions="own", trace=lambda way, text: seen.append(text))
        listed = (await (await package.Client.open(peer, options=options)).list_tools()).tools
    assert [tool.input_schema.model_dump(mode="json") for tool in listed] == [spelled(schema) for schema in schemas]
    assert not any(b"mcp-bindgen:" in text or b'"direct":true' in text or b'"direct":false' in text for text in seen)


@pytest.mark.parametrize("package", LEGACY, ids=lambda package: package.REVISION)
async def test_a_server_of_an_older_revision_writes_objects(package: Any) -> None:
    class Server(package.Server):  # type: ignore[misc]
        options = ServerOptions(revisions="own")

        async def list_tools(self, params: Any, ctx: Any) -> Any:
            schema = package.ToolInputSchema(properties={"a": True, "b": False, "c": {"type": "null"}})
            return package.ListToolsResult(tools=[package.Tool(name="t", input_schema=schema)])

    seen: list[bytes] = []
    async with connect_memory(Server()) as peer:
        opened = await Client.open(peer, options=ClientOptions(trace=lambda way, text: seen.append(text)))
        await opened.list_tools()
    assert any(b'"properties":{"a":{},"b":{"not":{}},"c":{"type":"null"}}' in text for text in seen)


@pytest.mark.parametrize("package", LEGACY, ids=lambda package: package.REVISION)
@pytest.mark.parametrize("value", [None, 1, "x", [], [True], 1.5])
async def test_a_value_that_cannot_be_a_schema_restricts_nothing_for_older_peers(package: Any, value: Any) -> None:
    schema = {"type": "object", "properties": {"x": value, "y": {"type": "null"}}}
    async with connect_memory(Modern([{"name": "t", "inputSchema": schema}])) as peer:
        found = await (await package.Client.open(peer, options=ClientOptions(revisions="own"))).list_tools()
    assert found.unusable == ()
    assert found.tools[0].input_schema.model_dump(mode="json")["properties"] == {"x": {}, "y": {"type": "null"}}


@pytest.mark.parametrize("root", [True, False])
@pytest.mark.parametrize("is_bridged", [False, True], ids=["own", "bridged"])
async def test_the_root_of_a_schema_is_an_object(root: bool, is_bridged: bool) -> None:
    client: Any = Client if is_bridged else v2025_06_18.Client
    async with connect_memory(server_of(v2025_06_18, {"tools": [{"name": "t", "inputSchema": root}]})) as peer:
        opened = await client.open(peer, options=ClientOptions(strict=True))
        with pytest.raises(RemoteProtocolError, match="/tools/0/inputSchema"):
            await opened.list_tools()


@pytest.mark.parametrize("value", [1, 0, "x", [], [True], 1.5])
async def test_other_values_are_not_schemas(value: Any) -> None:
    tools = [{"name": "t", "inputSchema": {"type": "object", "properties": {"x": value}}}]
    async with connect_memory(server_of(v2025_06_18, {"tools": tools})) as peer:
        found = await (await Client.open(peer)).list_tools()
    assert found.tools == [] and "/inputSchema/properties/x" in str(found.unusable[0])


@pytest.mark.parametrize("package", PACKAGES[2:], ids=lambda package: package.REVISION)
@pytest.mark.parametrize("field", [True, False])
def test_the_fields_of_a_form_are_not_schemas_of_any_kind(package: Any, field: bool) -> None:
    name = "ElicitRequestParams" if package is v2025_06_18 else "ElicitRequestFormParams"
    with pytest.raises(ValueError, match="properties"):
        getattr(package, f"{name}RequestedSchema").model_validate({"type": "object", "properties": {"x": field}})
