"""Functions as tools: how clients see them, their arguments, and what clients get for results and exceptions."""

import asyncio
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from mcp_bindings import v2024_11_05 as first
from mcp_bindings import v2025_06_18 as older
from mcp_bindings import v2025_11_25 as mcp
from mcp_bindings import v2026_07_28 as modern
from mcp_runtime.core.errors import PeerError
from mcp_runtime.memory import connect_memory
from support.apps import call, listed, text_of


class Point(BaseModel):
    x: int
    y: int = 0


class Node(BaseModel):
    name: str
    inner: "list[Node]" = []


@dataclass
class Size:
    width: float
    height: float


class Reading(TypedDict):
    celsius: float


def test_a_signature_becomes_the_schema_and_a_docstring_the_descriptions() -> None:
    app = mcp.App("test")

    @app.tool()
    def search(text: str, limit: int = 10, how: Literal["any", "all"] = "any") -> list[str]:
        """Search the
        tracker.

        More on that.

        Args:
            text: What to
                look for.
            limit: How many at most.
        """
        return [text] * limit

    tool = asyncio.run(listed(app))["search"]
    assert tool["description"] == "Search the tracker."
    assert tool["inputSchema"] == {
        "type": "object",
        "properties": {
            "text": {"type": "string", "description": "What to look for."},
            "limit": {"type": "integer", "default": 10, "description": "How many at most."},
            "how": {"type": "string", "enum": ["any", "all"], "default": "any"},
        },
        "required": ["text"],
        "additionalProperties": False,
    }
    assert tool["outputSchema"]["properties"] == {"result": {"type": "array", "items": {"type": "string"}}}
    assert search("x", 2) == ["x", "x"], "the decorator returns the function itself"


@pytest.mark.parametrize(
    "doc",
    [
        "Add.\n\nParameters\n----------\nnumber : int\n    The number.\n",
        "Add.\n\n:param number: The number.\n",
        "Add.\n\nArgs:\n  number: The number.\n",
    ],
    ids=["numpy", "sphinx", "google"],
)
def test_every_style_of_docstring_describes_arguments(doc: str) -> None:
    app = mcp.App("test")

    def add(number: int) -> int:
        return number

    add.__doc__ = doc
    app.tool()(add)
    tool = asyncio.run(listed(app))["add"]
    assert tool["description"] == "Add."
    assert tool["inputSchema"]["properties"]["number"]["description"] == "The number."


def test_listed_properties_match_the_revision() -> None:
    app = mcp.App("test")

    @app.tool(
        "renamed",
        title="A title",
        description="Something else.",
        icons=[mcp.Icon(src="https://example.com/i.png")],
        annotations=mcp.ToolAnnotations(read_only_hint=True),
        meta={"acme": 1},
        structured=False,
    )
    def original() -> int:
        """Not sent."""
        return 1

    assert asyncio.run(listed(app)) == {
        "renamed": {
            "name": "renamed",
            "title": "A title",
            "description": "Something else.",
            "inputSchema": {"type": "object", "properties": {}, "additionalProperties": False},
            "icons": [{"src": "https://example.com/i.png"}],
            "annotations": {"readOnlyHint": True},
            "_meta": {"acme": 1},
        }
    }
    with pytest.raises(TypeError, match="icons"):
        old: Any = older.App("test")
        old.tool(icons=[])


class TestResults:
    @pytest.mark.parametrize(
        ("annotation", "value", "structured", "text"),
        [
            (int, 3, {"result": 3}, "3"),
            (str, "as it is", {"result": "as it is"}, "as it is"),
            (list[int], [1, 2], {"result": [1, 2]}, "[1,2]"),
            (Point, Point(x=1), {"x": 1, "y": 0}, '{"x":1,"y":0}'),
            (Point, {"x": 1}, {"x": 1, "y": 0}, '{"x":1,"y":0}'),
            (Size, Size(1, 2), {"width": 1.0, "height": 2.0}, '{"width":1.0,"height":2.0}'),
            (Reading, {"celsius": 3.5}, {"celsius": 3.5}, '{"celsius":3.5}'),
            (dict[str, int], {"a": 1}, {"a": 1}, '{"a":1}'),
            (Node, Node(name="a"), {"name": "a", "inner": []}, '{"name":"a","inner":[]}'),
            (int | None, None, {"result": None}, "null"),
        ],
        ids=lambda value: getattr(value, "__name__", str(value))[:20],
    )
    def test_a_plain_value_is_content_and_structured_content(
        self, annotation: Any, value: Any, structured: Any, text: str
    ) -> None:
        app = mcp.App("test")

        def give() -> Any:
            return value

        give.__annotations__["return"] = annotation
        app.tool()(give)
        result = asyncio.run(call(app, "give"))
        assert result.structured_content == structured
        assert text_of(result) == text
        assert asyncio.run(listed(app))["give"]["outputSchema"]["type"] == "object"

    def test_the_modern_era_sends_any_value_as_structured_content(self) -> None:
        app = modern.App("test")

        @app.tool()
        def count() -> list[int]:
            return [1]

        async def main() -> None:
            async with connect_memory(app) as peer:
                client = await modern.Client.open(peer)
                [tool] = (await client.list_tools()).tools
                assert tool.output_schema and tool.output_schema.model_dump(mode="json")["type"] == "array"
                assert (await client.call_tool(name="count")).structured_content == [1]

        asyncio.run(main())

    def test_a_revision_without_structured_content_gets_text(self) -> None:
        app = first.App("test")

        @app.tool()
        def count() -> int:
            return 1

        async def main() -> None:
            async with connect_memory(app) as peer:
                client = await first.Client.open(peer)
                assert (await client.call_tool(name="count")).model_dump(mode="json") == {
                    "content": [{"type": "text", "text": "1"}]
                }
                assert "outputSchema" not in (await client.list_tools()).tools[0].model_dump(mode="json")

        asyncio.run(main())

    def test_blocks_and_whole_results_are_sent_as_they_are(self) -> None:
        app = mcp.App("test")
        image = mcp.ImageContent(data="AAAA", mime_type="image/png")

        @app.tool()
        def picture() -> list[str | mcp.ImageContent]:
            return ["look", image]

        @app.tool()
        def whole() -> mcp.CallToolResult:
            return mcp.CallToolResult(content=[image], meta={"a": 1})

        @app.tool()
        def nothing() -> None:
            return None

        assert [block.type for block in asyncio.run(call(app, "picture")).content] == ["text", "image"]
        assert asyncio.run(call(app, "whole")).meta == {"a": 1}
        assert asyncio.run(call(app, "nothing")).model_dump(mode="json") == {"content": []}
        assert all("outputSchema" not in tool for tool in asyncio.run(listed(app)).values())

    def test_results_that_do_not_match_the_output_schema_are_not_sent(self, caplog: pytest.LogCaptureFixture) -> None:
        app = mcp.App("test")

        @app.tool()
        def count() -> int:
            return "many"  # type: ignore[return-value] # pyright: ignore[reportReturnType]

        result = asyncio.run(call(app, "count"))
        assert (result.is_error, text_of(result)) == (True, "count failed; see the server's log")
        assert "test_tools.py" in caplog.text


class TestArguments:
    @pytest.mark.parametrize(
        ("arguments", "expected"),
        [
            ({}, "point: missing"),
            ({"point": {"x": "1"}}, 'point.x: it should be a valid integer, not "1"'),
            ({"point": {"x": 1.5}}, "point.x: it should be a valid integer, not 1.5"),
            ({"point": {"x": True}}, "point.x: it should be a valid integer, not true"),
            ({"point": {"x": 1}, "many": [1, "b"]}, 'many[1]: it should be a valid integer, not "b"'),
            ({"point": {"x": 1}, "many": 1}, "many: it should be a valid array or it should be None, not 1"),
            ({"point": {"x": 1}, "mayn": []}, "mayn: no such argument; did you mean many?"),
            ({"point": {"x": 1}, "?": []}, "?: no such argument; known arguments: point, many, even"),
            ({"point": {"x": 1}, "even": 3}, "even: it should be a multiple of 2, not 3"),
        ],
    )
    def test_an_invalid_argument_is_named_with_the_reason(self, arguments: dict[str, Any], expected: str) -> None:
        app = mcp.App("test")
        called: list[Point] = []

        @app.tool()
        def draw(point: Point, many: list[int] | None = None, even: Annotated[int, Field(multiple_of=2)] = 2) -> None:
            called.append(point)

        result = asyncio.run(call(app, "draw", **arguments))
        message = text_of(result).removeprefix("invalid arguments for draw: ")
        assert result.is_error and expected.split(" or ", maxsplit=1)[0] in message
        assert called == []

    def test_earlier_revisions_get_an_error(self) -> None:
        app = older.App("test")

        @app.tool()
        def double(number: int) -> int:
            return number * 2

        async def main() -> None:
            async with connect_memory(app) as peer:
                client = await older.Client.open(peer)
                with pytest.raises(PeerError, match="invalid arguments for double: number: missing") as caught:
                    await client.call_tool(name="double")
                assert caught.value.code == -32602

        asyncio.run(main())

    def test_an_integer_may_have_a_decimal_point(self) -> None:
        app = mcp.App("test")

        @app.tool()
        def kind(value: int, many: list[int]) -> str:
            return f"{value!r} {many!r}"

        assert text_of(asyncio.run(call(app, "kind", value=1.0, many=[2.0]))) == "1 [2]"
        assert text_of(asyncio.run(call(app, "kind", value=2**70, many=[]))) == f"{2**70} []"

    def test_other_numbers_stay_as_they_are(self) -> None:
        """Large ones would become integers of hundreds of digits."""
        app = mcp.App("test")

        @app.tool()
        def kind(number: int, many: list[float | str], anything: Any = None) -> str:
            return f"{number!r} {many!r} {anything!r}"

        result = asyncio.run(call(app, "kind", number=1.0, many=[1.0, 1e308], anything=[2.0]))
        assert text_of(result) == "1 [1.0, 1e+308] [2.0]"
        for number in (1e308, 2.0**54, 1.5):
            refused = asyncio.run(call(app, "kind", number=number, many=[]))
            assert refused.is_error and len(text_of(refused)) < 200

    def test_parameters_may_have_any_name(self) -> None:
        app = mcp.App("test")

        @app.tool()
        def odd(schema: str, json: str, self_: str, model_config: str, _hidden: str, copy: int = 1) -> str:
            return schema + json + self_ + model_config + _hidden + str(copy)

        result = asyncio.run(call(app, "odd", schema="a", json="b", self_="c", model_config="d", _hidden="e"))
        assert text_of(result) == "abcde1"

    def test_an_unknown_tool_is_a_protocol_error(self) -> None:
        app = mcp.App("test")
        app.tool("one")(lambda: None)
        with pytest.raises(PeerError, match="there is no tool two") as caught:
            asyncio.run(call(app, "two"))
        assert caught.value.code == -32602
