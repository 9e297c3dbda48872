"""Without any option, every client reaches every server."""

from copy import copy
from dataclasses import dataclass, replace
from typing import Any, Literal

import pytest
from jsonschema import Draft202012Validator
from pydantic_core import to_jsonable_python

from bridge.messages import REVISIONS
from mcp_runtime.bridge.fallbacks import wrap_schema
from mcp_runtime.memory import connect_memory
from support.apps import text_of
from support.talk import bindings


@dataclass
class Loaf:
    name: str
    parts: "list[Loaf]"


def app_of(revision: str) -> Any:
    app: Any = bindings(revision).App("greeter")

    def greet(name: str) -> str:
        """Greet someone."""
        return f"hello {name}"

    def flag() -> dict[str, Any]:
        """Return a flag."""
        return {"ok": True}

    app.tool()(greet)
    app.tool()(flag)
    return app


@pytest.mark.parametrize("client", REVISIONS)
@pytest.mark.parametrize("server", REVISIONS)
async def test_any_client_calls_a_tool_of_any_app(server: str, client: str) -> None:
    async with connect_memory(app_of(server)) as peer:
        opened = await bindings(client).Client.open(peer)
        assert opened.connection.revision == client, "the client's own revision comes first"
        result = await opened.call_tool(name="greet", arguments={"name": "Ada"})
        assert [text_of(result), len(result.content)] == ["hello Ada", 1], "the text is said once"
        assert '"resultType"' not in result.model_dump_json() or client >= "2026-07-28"
        listed = await opened.list_tools()
        assert client >= "2026-07-28" or "resultType" not in {*(result.model_extra or ()), *(listed.model_extra or ())}
        flagged = await opened.call_tool(name="flag")
        assert len(flagged.content) == 1


async def test_an_older_program_gets_no_result_type_from_a_server_of_the_newest_revision_alone() -> None:
    app = app_of("2026-07-28")
    app.options = replace(app.effective_options(), revisions="own")
    async with connect_memory(app) as peer:
        opened = await bindings("2025-11-25").Client.open(peer)
        assert opened.connection.revision == "2026-07-28"
        for result in (await opened.call_tool(name="flag"), await opened.list_tools()):
            assert "resultType" not in (result.model_extra or {}), "a gateway would pass it on to clients of its own"


async def test_a_text_that_says_something_else_is_not_taken_for_the_result() -> None:
    new = bindings("2026-07-28")

    class Server(new.Server):  # type: ignore[name-defined,misc]
        async def list_tools(self, params: Any, ctx: Any) -> Any:
            return new.ListToolsResult(tools=[new.Tool(name="t", input_schema=new.ToolInputSchema())], ttl_ms=0)

        async def call_tool(self, params: Any, ctx: Any) -> Any:
            return new.CallToolResult(content=[{"type": "text", "text": '{"ok": 1}'}], structured_content={"ok": True})

    async with connect_memory(Server()) as peer:
        opened = await bindings("2025-03-26").Client.open(peer)
        assert [block.text for block in (await opened.call_tool(name="t")).content] == ['{"ok": 1}', '{"ok": true}']


@pytest.mark.parametrize("package", ["acme.draft", "draft"])
def test_a_package_without_conversions_speaks_its_own_revision(package: str) -> None:
    binding = copy(bindings("2026-07-28").BINDING)
    binding.package = package
    assert binding.bridges("all") is None
    with pytest.raises(ValueError, match="has no conversions; generate two revisions or more"):
        binding.bridges(["2025-11-25"])


OUTPUTS: tuple[tuple[Any, Any, bool], ...] = (
    (list[str], ["a"], True),
    (int, 3, True),
    (int | None, None, True),
    (Literal["a", 1], "a", True),
    (list[Loaf], [Loaf(name="rye", parts=[])], True),
    (int | dict[str, int], {"a": 1}, False),
    (Loaf | None, None, False),
    (dict[str, int], {"a": 1}, True),
    (Loaf, Loaf(name="rye", parts=[Loaf(name="crust", parts=[])]), True),
)
"""What tools return: the type, a value, and whether the type says enough to become a schema of objects."""


@pytest.mark.parametrize("client", ["2025-06-18", "2025-11-25"])
async def test_older_clients_get_every_value_as_an_object_that_its_schema_admits(client: str) -> None:
    app: Any = bindings("2026-07-28").App("test")

    def tool(number: int) -> None:
        def give() -> Any:
            return OUTPUTS[number][1]

        give.__annotations__["return"] = OUTPUTS[number][0]
        app.tool(name=str(number))(give)

    for number in range(len(OUTPUTS)):
        tool(number)
    async with connect_memory(app) as peer:
        opened = await bindings(client).Client.open(peer)
        listed = {found.name: found.output_schema for found in (await opened.list_tools()).tools}
        for number, (_, value, has_schema) in enumerate(OUTPUTS):
            result = await opened.call_tool(name=str(number))
            assert len(result.content) == 1
            plain = to_jsonable_python(value)
            assert result.structured_content == (plain if isinstance(plain, dict) else {"result": plain})
            schema = listed[str(number)]
            assert (schema is not None) is has_schema
            if schema is not None:
                validator: Any = Draft202012Validator(schema.model_dump(mode="json", by_alias=True))
                assert validator.is_valid(result.structured_content)


@pytest.mark.timeout(20)
def test_a_schema_of_a_peer_is_read_once_however_often_it_refers_to_itself() -> None:
    union: dict[str, Any] = {"anyOf": [{"$ref": f"#/$defs/{number}"} for number in range(200)]}
    schema = {"$defs": {str(number): union for number in range(199)} | {"199": {"type": "string"}}, "$ref": "#/$defs/0"}
    assert wrap_schema(schema)
    assert schema["properties"] == {"result": {"$ref": "#/$defs/0"}}
