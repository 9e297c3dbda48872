"""The generated client with a running server: arguments are checked, results are typed, failures are exceptions."""

import inspect
import json
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from mcp_bindgen.tool_clients.contract import GATED
from mcp_bindings import App, v2024_11_05, v2025_11_25
from mcp_runtime import testing
from mcp_runtime.core.errors import McpError
from mcp_runtime.core.settings import ServerOptions
from mcp_runtime.tools import (
    Drift,
    Tool,
    ToolArgumentError,
    ToolDrift,
    ToolError,
    ToolOutputError,
    ToolRefused,
    UnknownTool,
    digest,
)
from support.talk import LEGACY, bindings, talk
from support.tasking import Worker
from tools.talking import load, objects, text_of, tool


class Loaf(BaseModel):
    grams: int
    half: "Loaf | None" = None


CITY: dict[str, Any] = objects(
    {
        "city": {"type": "string", "minLength": 2},
        "days": {"type": "integer", "default": 3},
        "unit": {"enum": ["C", "F"], "default": "C"},
        "note": {"type": ["string", "null"]},
        "class": {"type": "string"},
        "places": {"type": "array", "items": objects({"lat": {"type": "number"}, "lon": {"type": "number"}}, "lat")},
    },
    "city",
)
FORECAST = objects(
    {"temperature": {"type": "number"}, "words": {"type": "array", "items": {"type": "string"}}}, "temperature"
)
TOOLS = [
    tool("forecast", CITY, FORECAST, annotations={"readOnlyHint": True}, description="Forecast.\n\nOf the weather."),
    tool("say-it", objects({"text": {"type": "string", "pattern": "^[a-z]+$"}}, "text")),
    tool("wipe", {"type": "object"}, annotations={"destructiveHint": True}),
    tool("free", {"type": "object", "additionalProperties": {}}, {"type": "object", "anyOf": [FORECAST]}),
]


class Weather:
    """The handlers of the test's server, in any revision; `calls` are the arguments that it received."""

    def __init__(self, tools: list[Any] | None = None) -> None:
        self.tools = TOOLS if tools is None else tools
        self.calls: list[Any] = []
        self.answer: dict[str, Any] = {"content": [{"type": "text", "text": "sunny"}]}

    def server(self, revision: str) -> Any:
        v, weather = bindings(revision), self

        class Server(v.Server):  # type: ignore[misc,name-defined]
            options = ServerOptions(name="weather", list_changed=True)

            async def list_tools(self, params: Any, ctx: Any) -> Any:
                return v.ListToolsResult.model_validate_json(json.dumps({"tools": weather.tools}))

            async def call_tool(self, params: Any, ctx: Any) -> Any:
                weather.calls.append(params.arguments)
                return v.CallToolResult.model_validate_json(json.dumps(weather.answer))

        return Server()


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return load(text_of(TOOLS, client="WeatherTools"), tmp_path_factory.mktemp("client"))


@asynccontextmanager
async def connected(weather: Weather, revision: str = "2025-11-25") -> AsyncGenerator[Any]:
    async with talk(weather.server(revision)) as talking:
        yield talking


@pytest.mark.parametrize("revision", LEGACY)
async def test_a_call_in_every_revision(revision: str, module: Any) -> None:
    weather = Weather()
    weather.answer |= {"structuredContent": {"temperature": 21.5, "words": ["sunny"]}}
    async with connected(weather, revision) as talking:
        tools = module.WeatherTools(talking.client)
        found = await tools.forecast(city="Oslo")
        assert isinstance(found.data, module.ForecastOutput)
        assert found.data.temperature == 21.5
        assert found.data.words == ["sunny"]
        assert found.text == "sunny"
        assert found.structured == {"temperature": 21.5, "words": ["sunny"]}
        assert weather.calls == [{"city": "Oslo", "days": 3, "unit": "C"}]


class TestArguments:
    async def test_absent_null_and_names(self, module: Any) -> None:
        weather = Weather()
        weather.answer |= {"structuredContent": {"temperature": 1}}
        async with connected(weather) as talking:
            tools = module.WeatherTools(talking.client)
            place = module.ForecastInputPlacesItem(lat=1, lon=None)
            await tools.forecast(city="Oslo", days=None, unit="F", note=None, class_="x", places=[place])
            assert weather.calls == [{"city": "Oslo", "unit": "F", "note": None, "class": "x", "places": [{"lat": 1}]}]

    @pytest.mark.parametrize(
        ("arguments", "where"),
        [
            ({"city": "O"}, "/city"),
            ({"city": 1}, "/city"),
            ({"city": "Oslo", "days": True}, "/days"),
            ({"city": "Oslo", "days": "3"}, "/days"),
            ({"city": "Oslo", "unit": "K"}, "/unit"),
        ],
    )
    async def test_invalid_arguments_are_not_sent(self, arguments: Any, where: str, module: Any) -> None:
        weather = Weather()
        async with connected(weather) as talking:
            with pytest.raises(ToolArgumentError, match=rf"^forecast: arguments at {where}: ") as caught:
                await module.WeatherTools(talking.client).forecast(**arguments)
            with pytest.raises(ToolArgumentError):
                await module.WeatherTools(talking.client).call("forecast", arguments)
            assert caught.value.pointer == where
            assert weather.calls == []

    async def test_what_types_do_not_express_is_checked_too(self, module: Any) -> None:
        weather = Weather()
        async with connected(weather) as talking:
            tools = module.WeatherTools(talking.client)
            with pytest.raises(ToolArgumentError, match="does not match"):
                await tools.say_it(text="LOUD")
            await tools.say_it(text="quiet")
            assert weather.calls == [{"text": "quiet"}]

    async def test_untyped_arguments_are_passed_on(self, module: Any) -> None:
        weather = Weather()
        weather.answer |= {"structuredContent": {"temperature": 1}}
        async with connected(weather) as talking:
            found = await module.WeatherTools(talking.client).free({"anything": [1]})
            assert found.data == module.FreeOutput(temperature=1)
            assert weather.calls == [{"anything": [1]}]

    async def test_a_tool_by_its_name(self, module: Any) -> None:
        weather = Weather()
        async with connected(weather) as talking:
            tools = module.WeatherTools(talking.client)
            await tools.call("say-it", {"text": "quiet", "more": 1})
            assert weather.calls == [{"text": "quiet", "more": 1}]
            with pytest.raises(UnknownTool) as caught:
                await tools.call("say_it", {})
            assert str(caught.value) == "say_it: WeatherTools has no such tool; did you mean say-it?"


class TestAnswers:
    async def test_a_failure_carries_the_content(self, module: Any) -> None:
        weather = Weather()
        weather.answer = {"content": [{"type": "text", "text": "no such\x1b city"}], "isError": True}
        async with connected(weather) as talking:
            with pytest.raises(ToolError) as caught:
                await module.WeatherTools(talking.client).forecast(city="Nowhere")
        assert caught.value.tool == "forecast"
        assert caught.value.content[0].text == "no such\x1b city"
        assert str(caught.value) == r"forecast: no such\x1b city"

    @pytest.mark.parametrize("structured", [{"structuredContent": {"temperature": "warm"}}, {}])
    async def test_content_that_violates_the_schema_is_not_returned(self, structured: Any, module: Any) -> None:
        weather = Weather()
        weather.answer |= structured
        async with connected(weather) as talking:
            with pytest.raises(ToolOutputError, match=r"^forecast: structured content") as caught:
                await module.WeatherTools(talking.client).forecast(city="Oslo")
        assert caught.value.content[0].text == "sunny"

    async def test_images_are_content_blocks(self, module: Any) -> None:
        weather = Weather()
        weather.answer = {"content": [{"type": "image", "data": "aGk=", "mimeType": "image/png"}]}
        async with connected(weather) as talking:
            found = await module.WeatherTools(talking.client).wipe()
        assert isinstance(found.content[0], v2025_11_25.ImageContent)
        assert found.data is None and found.text == ""


class TestBareOutputs:
    """Since 2026-07-28, structured content can be any JSON value."""

    async def test_it_has_the_type_of_the_value(self, tmp_path: Path) -> None:
        app = App("kitchen")

        @app.tool()
        def word() -> str:
            return "bread"

        @app.tool()
        def loaf(known: bool) -> Loaf | None:
            return Loaf(grams=750) if known else None

        @app.tool()
        def loaves() -> list[Loaf]:
            return [Loaf(grams=750, half=Loaf(grams=375))]

        async with testing.connect(app) as client:
            listed = [each.model_dump(mode="json") for each in (await client.list_tools()).tools]
            generated = load(text_of(listed), tmp_path)
            tools = generated.TestTools(client)
            assert (await tools.word()).data == "bread"
            assert [(await tools.loaf(known=known)).data for known in (True, False)][1] is None
            [first] = (await tools.loaves()).data
            assert (first.grams, first.half.grams) == (750, 375)

    def test_a_value_of_another_type_is_not_returned(self, tmp_path: Path) -> None:
        text = text_of([tool("word", {"type": "object"}, {"type": "string", "maxLength": 5})])
        word = load(text, tmp_path).TestTools.__tools__["word"]
        assert word.read("bread") == "bread"
        for wrong in (None, 3, "longer", {"result": "bread"}):
            with pytest.raises(ToolOutputError):
                word.read(wrong)


class TestHints:
    def test_hints_are_available_at_run_time(self, module: Any) -> None:
        tools = module.WeatherTools.__tools__
        assert tools["forecast"].read_only and not tools["wipe"].read_only
        assert tools["wipe"].destructive and tools["wipe"].open_world
        assert "The server says: does not modify its environment." in module.WeatherTools.forecast.__doc__
        assert not tools["forecast"].destructive, "a read-only tool is not destructive"
        assert "The server says" not in module.WeatherTools.free.__doc__, "an absent hint promises nothing"
        # Since 3.13 the compiler removes the indentation.
        assert (inspect.getdoc(module.WeatherTools.forecast) or "").startswith("Forecast.\n\nOf the weather.\n")

    async def test_a_program_can_refuse_tools(self, module: Any) -> None:
        weather = Weather()
        async with connected(weather) as talking:
            tools = module.WeatherTools(talking.client, allow=_is_read_only)
            with pytest.raises(ToolRefused, match="wipe: this program does not allow it"):
                await tools.wipe()
            assert weather.calls == []


def _is_read_only(tool: Tool[Any]) -> bool:
    return tool.read_only


class TestDrift:
    async def test_there_is_none_without_changes(self, module: Any) -> None:
        async with connected(Weather()) as talking:
            drift = await module.WeatherTools(talking.client).check_drift()
            assert not drift
            assert str(drift) == "no drift"

    async def test_it_is_reported_when_the_server_says_that_its_tools_changed(self, module: Any) -> None:
        weather = Weather()
        reported: list[Drift] = []
        async with connected(weather) as talking:
            tools = module.WeatherTools(talking.client, on_drift=reported.append)
            await talking.server.stub.notify_tool_list_changed()
            await tools.wipe()
            assert reported == []
            closed: Any = {**TOOLS[0], "inputSchema": {**CITY, "required": ["city", "days"]}}
            weather.tools = [closed, *TOOLS[2:]]
            weather.tools.append(tool("new", {"type": "object"}))
            await talking.server.stub.notify_tool_list_changed()
            for _ in range(20):
                await tools.wipe()
            await talking.server.stub.notify_tool_list_changed()
            for _ in range(20):
                await tools.wipe()
        # The second run found nothing new.
        assert reported == [Drift(added=("new",), removed=("say-it",), changed={"forecast": ("inputSchema",)})]
        assert str(reported[0]) == "forecast: inputSchema changed; say-it is gone; new is new"

    async def test_a_tool_that_needs_capabilities_is_not_gone(self, tmp_path: Path) -> None:
        generated = load(text_of([TOOLS[1], {**TOOLS[2], GATED: True}]), tmp_path)
        weather = Weather(TOOLS[1:2])
        async with connected(weather) as talking:
            tools = generated.TestTools(talking.client)
            assert not await tools.check_drift()
            weather.tools = TOOLS[2:3]
            assert (await tools.check_drift()).removed == ("say-it",)

    async def test_without_a_hook_drift_is_reported_to_the_connection(self, module: Any) -> None:
        weather = Weather()
        async with connected(weather) as talking:
            tools = module.WeatherTools(talking.client)
            weather.tools = []
            await talking.server.stub.notify_tool_list_changed()
            for _ in range(20):
                await tools.wipe()
        assert any(isinstance(error, ToolDrift) for error in talking.errors)

    @pytest.mark.parametrize(
        ("cursors", "problem"), [(["again"] * 2, "a cursor was"), (map(str, count()), "100 pages")]
    )
    async def test_a_list_that_never_ends_is_an_error(
        self, module: Any, monkeypatch: pytest.MonkeyPatch, cursors: Iterable[str], problem: str
    ) -> None:
        weather = Weather()
        server, following = weather.server("2024-11-05"), iter(cursors)

        async def endless(params: object, ctx: object) -> v2024_11_05.ListToolsResult:
            return v2024_11_05.ListToolsResult(tools=[], next_cursor=next(following))

        monkeypatch.setattr(server.__class__, "list_tools", staticmethod(endless))
        async with talk(server) as talking:
            with pytest.raises(McpError, match=problem):
                await module.WeatherTools(talking.client).check_drift()

    def test_runtime_and_generator_compute_the_same_digest(self) -> None:
        from mcp_bindgen.tool_clients import contract

        assert digest(CITY) == contract.digest(CITY) == digest(dict(reversed(CITY.items())))


class TestTasks:
    async def test_a_tool_that_requires_it_runs_as_a_task(self, tmp_path: Path) -> None:
        listed = [
            tool("must", {"type": "object"}, execution={"taskSupport": "required"}),
            tool("work", {"type": "object"}, execution={"taskSupport": "optional"}),
        ]
        generated = load(text_of(listed), tmp_path)
        assert "Running as a task is required." in generated.TestTools.must.__doc__
        async with talk(Worker()) as talking:
            tools = generated.TestTools(talking.client)
            called = [await tools.must(), await tools.work()]
            assert [result.text for result in called] == ["must", "work"]
            sent = [message["params"] for message in talking.sent if message.get("method") == "tools/call"]
            assert ["task" in params for params in sent] == [True, False]
            assert not (await tools.check_drift()).changed
