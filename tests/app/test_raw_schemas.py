"""Tools with a JSON Schema of their author, which no signature could express."""

from collections.abc import Mapping
from typing import Any

import pytest

from mcp_bindings import v2024_11_05, v2025_11_25, v2026_07_28
from mcp_runtime import testing
from mcp_runtime.app import DefinitionError
from mcp_runtime.core.errors import PeerError
from support.apps import text_of

CONTACT: Mapping[str, Any] = {
    "type": "object",
    "properties": {"phone": {"type": "string"}, "email": {"type": "string"}, "number": {"type": "integer"}},
    "anyOf": [{"required": ["phone"]}, {"required": ["email"]}],
    "additionalProperties": False,
}


def directory(version: Any) -> Any:
    app = version.App("directory")

    async def call(arguments: Mapping[str, Any], ctx: Any) -> str:
        """Call somebody."""
        return f"{ctx.request_id is not None} {dict(arguments)}"

    call.__annotations__["ctx"] = version.Context
    app.tool(input_schema=CONTACT)(call)
    return app


@pytest.mark.parametrize("version", [v2024_11_05, v2025_11_25, v2026_07_28], ids=lambda version: version.REVISION)
async def test_arguments_that_match_arrive_as_one_mapping(version: Any) -> None:
    async with testing.connect(directory(version)) as client:
        [tool] = (await client.list_tools()).tools
        assert tool.input_schema.model_dump(mode="json") == CONTACT
        result = await client.call_tool(name="call", arguments={"phone": "1", "number": 2})
        assert text_of(result) == "True {'phone': '1', 'number': 2}"


async def test_arguments_that_do_not_match_are_refused() -> None:
    async with testing.connect(directory(v2026_07_28)) as client:
        for arguments, reason in (
            ({"phone": 1}, "/phone: "),
            ({}, "is not valid under any of the given schemas"),
            ({"email": "a", "fax": 1}, "fax"),
        ):
            result = await client.call_tool(name="call", arguments=arguments)
            assert result.is_error and text_of(result).startswith("invalid arguments for call: ")
            assert reason in text_of(result)
    async with testing.connect(directory(v2024_11_05)) as client:
        with pytest.raises(PeerError, match="invalid arguments for call: /phone: "):
            await client.call_tool(name="call", arguments={"phone": 1})


def one(arguments: dict[str, Any]) -> str:
    """Do it."""
    return str(arguments)


def two(first: dict[str, Any], second: str) -> str:
    """Do it."""
    return f"{first}{second}"


def text(arguments: str) -> str:
    """Do it."""
    return arguments


@pytest.mark.parametrize(
    ("function", "schema", "reason"),
    [
        (two, CONTACT, "it takes all arguments as one: arguments: dict[str, Any]"),
        (text, CONTACT, "it takes all arguments as one: arguments: dict[str, Any]"),
        (one, {"type": "array"}, 'input_schema must have "type": "object"'),
        (one, {"type": "object", "properties": {"a": {"type": "text"}}}, "input_schema: not a valid JSON Schema"),
    ],
)
def test_mistakes_are_found_at_the_definition(function: Any, schema: Any, reason: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        v2026_07_28.App("test").tool(input_schema=schema)(function)
    assert reason in str(caught.value) and "test_raw_schemas.py" in str(caught.value)
