"""`app.mount`: the tools, resources and prompts of other servers, offered as an App's own."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from pydantic import BaseModel

from mcp_bindings import v2024_11_05, v2025_11_25, v2026_07_28
from mcp_bindings.v2025_11_25.methods import TOOLS_CALL
from mcp_runtime import testing
from mcp_runtime.app import NotFound
from mcp_runtime.core.changes.subscriptions import list_changed, resource_updated
from mcp_runtime.core.errors import PeerError
from mcp_runtime.core.handlers import Context
from mcp_runtime.core.options import CallOptions
from mcp_runtime.core.settings import ClientOptions, ServerOptions
from mcp_runtime.extensions.tasks import MemoryTaskStore, Tasks, defer, run_as_task

VERSIONS = (v2024_11_05, v2025_11_25, v2026_07_28)
each_version = pytest.mark.parametrize("version", VERSIONS, ids=lambda version: version.REVISION)


def tea(version: Any, **options: Any) -> Any:
    """Return an App with one of everything."""
    app = version.App("tea", **options)

    @app.tool()  # type: ignore[untyped-decorator]
    def brew(kind: str) -> str:
        """Brew tea."""
        if kind == "coffee":
            raise ValueError(kind)
        return f"a cup of {kind}"

    @app.resource("tea://sorts")  # type: ignore[untyped-decorator]
    def sorts() -> str:
        """Name the sorts."""
        return "green, black"

    @app.resource("tea://sort/{name}")  # type: ignore[untyped-decorator]
    def sort(name: str) -> str:
        """Describe a sort."""
        if name == "none":
            raise NotFound("no such sort")
        return f"{name} tea"

    @app.prompt()  # type: ignore[untyped-decorator]
    def offer(sort: str) -> str:
        """Offer tea."""
        return f"Would you like {sort} tea?"

    @app.completion("sort", prompt="offer")  # type: ignore[untyped-decorator]
    def sorts_for_offer(value: str) -> list[str]:
        return [name for name in ("green", "grey") if name.startswith(value)]

    @app.completion("name", resource="tea://sort/{name}")  # type: ignore[untyped-decorator]
    def sorts_by_name(value: str) -> list[str]:
        return ["white"]

    return app


def handwritten(version: Any) -> Any:
    """Return a server that is not an App."""

    class Server(version.Server):  # type: ignore[misc]
        async def list_tools(self, params: Any, ctx: Any) -> Any:
            number = int((params.cursor if params else None) or 0)
            tool = version.Tool(name=f"tool{number}", input_schema={"type": "object"})
            return version.ListToolsResult(tools=[tool], next_cursor=str(number + 1) if number < 3 else None)

        async def call_tool(self, params: Any, ctx: Any) -> Any:
            return version.CallToolResult(content=[version.TextContent(text=f"called {params.name}")])

        async def read_resource(self, params: Any, ctx: Any) -> Any:
            if params.uri != "hand://written":
                raise PeerError(-32002, "no such page")
            contents = version.TextResourceContents(uri=params.uri, text="by hand")
            return version.ReadResourceResult(contents=[contents])

    return Server()


def nothing() -> None:
    """Do nothing."""


def text_of(result: Any) -> str:
    assert not result.is_error, result
    text: str = result.content[0].text
    return text


@each_version
@pytest.mark.parametrize("client", VERSIONS, ids=lambda version: version.REVISION)
async def test_everything_of_a_mounted_app_is_there_under_its_prefix(version: Any, client: Any) -> None:
    app = version.App("house")

    @app.tool()  # type: ignore[untyped-decorator]
    def open_door() -> str:
        """Open the door."""
        return "open"

    app.mount(tea(version), prefix="tea")
    async with testing.connect(app, client.Client) as session:
        assert [tool.name async for tool in session.iter_tools()] == ["open_door", "tea__brew"]
        assert text_of(await session.call_tool(name="open_door")) == "open"
        assert text_of(await session.call_tool(name="tea__brew", arguments={"kind": "mint"})) == "a cup of mint"
        assert [each.uri async for each in session.iter_resources()] == ["tea://sorts"]
        assert [each.uri_template async for each in session.iter_resource_templates()] == ["tea://sort/{name}"]
        assert (await session.read_resource(uri="tea://sorts")).contents[0].text == "green, black"
        assert (await session.read_resource(uri="tea://sort/oolong")).contents[0].text == "oolong tea"
        assert [prompt.name async for prompt in session.iter_prompts()] == ["tea__offer"]
        prompt = await session.get_prompt(name="tea__offer", arguments={"sort": "red"})
        assert prompt.messages[0].content.text == "Would you like red tea?"
        reference = client.PromptReference(name="tea__offer")
        completed = await session.complete(ref=reference, argument={"name": "sort", "value": "gre"})
        assert completed.completion.values == ["green", "grey"]
        template = (
            client.ResourceReference(uri="tea://sort/{name}")
            if client is v2024_11_05
            else client.ResourceTemplateReference(uri="tea://sort/{name}")
        )
        completed = await session.complete(ref=template, argument={"name": "name", "value": ""})
        assert completed.completion.values == ["white"]


@each_version
async def test_what_no_part_has_is_unknown(version: Any) -> None:
    app = version.App("house")
    app.mount(tea(version), prefix="tea")
    async with testing.connect(app, version.Client) as session:
        for name in ("brew", "tea__", "tea__boil", "tea_brew", "coffee__brew"):
            with pytest.raises(PeerError, match="there is no tool"):
                await session.call_tool(name=name)
            with pytest.raises(PeerError, match="there is no prompt"):
                await session.get_prompt(name=name)
        for uri in ("tea://sort/none", "tea://pots"):
            with pytest.raises(PeerError, match="no such"):
                await session.read_resource(uri=uri)


@each_version
async def test_a_generated_server_is_mounted_too(version: Any) -> None:
    app = version.App("house", page_size=2)
    app.mount(handwritten(version), prefix="hand")
    app.mount(tea(version), prefix="tea")
    async with testing.connect(app, version.Client) as session:
        names = [tool.name async for tool in session.iter_tools()]
        assert names == ["hand__tool0", "hand__tool1", "hand__tool2", "hand__tool3", "tea__brew"]
        first = await session.list_tools()
        assert len(first.tools) == 2, "pages are full across the pages of parts"
        assert text_of(await session.call_tool(name="hand__tool1")) == "called tool1"
        assert (await session.read_resource(uri="hand://written")).contents[0].text == "by hand"
        assert (await session.read_resource(uri="tea://sorts")).contents[0].text == "green, black"
        for cursor in ("1", "7:", "x:1", "-1:", "1:x:", "0:x", "٣:", "99999:"):
            with pytest.raises(PeerError) as caught:
                await session.list_tools(cursor=cursor)
            assert caught.value.code in (-32602, -32603), cursor


@each_version
async def test_a_server_without_a_prefix_has_what_no_other_has(version: Any) -> None:
    app, plain = version.App("house"), tea(version)
    plain.add_tool(nothing, name="hand__upper", description="Never called: a part has this prefix.")
    app.mount(plain)
    app.mount(handwritten(version), prefix="hand")
    async with testing.connect(app, version.Client) as session:
        assert text_of(await session.call_tool(name="brew", arguments={"kind": "mint"})) == "a cup of mint"
        assert text_of(await session.call_tool(name="hand__upper")) == "called upper"


@each_version
async def test_servers_are_mounted_in_mounted_ones(version: Any) -> None:
    street, house = version.App("street"), version.App("house")
    house.mount(tea(version), prefix="tea")
    street.mount(house, prefix="house")
    async with testing.connect(street, version.Client) as session:
        assert [tool.name async for tool in session.iter_tools()] == ["house__tea__brew"]
        assert text_of(await session.call_tool(name="house__tea__brew", arguments={"kind": "mint"})) == "a cup of mint"
        assert (await session.read_resource(uri="tea://sorts")).contents[0].text == "green, black"


class Opened:
    """A lifespan that counts how often it is entered and left."""

    def __init__(self, value: str) -> None:
        self.value, self.entered, self.left = value, 0, 0

    @asynccontextmanager
    async def __call__(self) -> AsyncGenerator[str]:
        self.entered += 1
        yield self.value
        self.left += 1


@each_version
async def test_each_server_has_the_state_of_its_own_lifespan(version: Any) -> None:
    """Also where the outer server has none, and a server that is mounted twice has one."""
    opened = {name: Opened(name) for name in ("kitchen", "cellar")}
    house, kitchen, cellar = (version.App(name, lifespan=opened.get(name)) for name in ("house", *opened))

    for app in (house, kitchen, cellar):

        @app.tool()  # type: ignore[untyped-decorator]
        async def state(ctx: Context[Any]) -> str:
            """Return the state."""
            return str(ctx.state)  # type: ignore[attr-defined]

    kitchen.mount(cellar, prefix="cellar")
    house.mount(kitchen, prefix="kitchen")
    house.mount(cellar, prefix="cellar")
    async with testing.connect(house) as session:
        for name, expected in (("kitchen", "kitchen"), ("kitchen__cellar", "cellar"), ("cellar", "cellar")):
            assert text_of(await session.call_tool(name=f"{name}__state")) == expected
        assert (await session.call_tool(name="state")).is_error, "it has no lifespan"
    assert [(each.entered, each.left) for each in opened.values()] == [(1, 1), (1, 1)]


@each_version
async def test_its_middleware_sees_the_calls_of_a_mounted_server_only(version: Any) -> None:
    seen: list[tuple[str, str]] = []

    def watching(who: str) -> Any:
        async def middleware(exchange: Any, proceed: Callable[[], Awaitable[Any]]) -> Any:
            if exchange.method.name == "tools/call":
                seen.append((who, exchange.params.name))
                if exchange.params.arguments == {"kind": "coffee"}:
                    exchange.params = exchange.params.model_copy(update={"arguments": {"kind": "mint"}})
            return await proceed()

        return middleware

    app = version.App("house", options=ServerOptions(middleware=(watching("house"),)))
    app.mount(tea(version, options=ServerOptions(middleware=(watching("tea"),))), prefix="tea")
    app.mount(handwritten(version), prefix="hand")
    async with testing.connect(app) as session:
        assert text_of(await session.call_tool(name="tea__brew", arguments={"kind": "coffee"})) == "a cup of mint"
        await session.call_tool(name="hand__x")
    assert seen == [("house", "tea__brew"), ("tea", "brew"), ("house", "hand__x")]


@each_version
async def test_clients_learn_what_changes_in_mounted_servers(version: Any) -> None:
    """Also two levels down, from another thread, and from a generated server."""
    street, house, tearoom = version.App("street"), version.App("house"), tea(version)
    house.mount(tearoom, prefix="tea")
    street.mount(house, prefix="house")
    street.mount(by_hand := handwritten(version), prefix="hand")
    async with testing.connect(street, v2024_11_05.Client) as session:
        heard = testing.received(session)
        expected = 0

        def learned() -> int:
            return len(heard.notifications("notifications/tools/list_changed"))

        async def until_learned() -> None:
            while learned() < expected:
                await asyncio.sleep(0)

        for change in (
            lambda: tearoom.remove_tool("brew"),
            lambda: asyncio.to_thread(tearoom.add_tool, text_of, name="again"),
            lambda: house.mount(version.App("attic"), prefix="attic"),
            lambda: list_changed(by_hand, "tools"),
        ):
            expected += 1
            if asyncio.iscoroutine(doing := change()):
                await doing
            await asyncio.wait_for(until_learned(), 5)
            assert learned() == expected
        assert "house__tea__again" in [tool.name async for tool in session.iter_tools()]


@each_version
async def test_sessions_subscribe_to_resources_of_mounted_servers(version: Any) -> None:
    asked: list[str] = []
    house, tearoom = version.App("house"), tea(version)

    @tearoom.subscription()  # type: ignore[untyped-decorator]
    def watch(uri: str) -> None:
        asked.append(uri)
        if uri == "tea://sort/none":
            raise NotFound("nothing changes there")

    house.mount(handwritten(version), prefix="hand")
    house.mount(tearoom, prefix="tea")
    async with testing.connect(house, v2025_11_25.Client) as session:
        assert session.capabilities["resources"]["subscribe"]
        await session.subscribe(uri="tea://sorts")
        for uri in ("tea://sort/none", "tea://pots", "hand://written"):
            with pytest.raises(PeerError):
                await session.subscribe(uri=uri)
        assert asked == ["tea://sorts", "tea://sort/none"]
        assert await resource_updated(tearoom, "tea://sorts") == 1
        assert await resource_updated(tearoom, "tea://pots") == 0
        await session.unsubscribe(uri="tea://sorts")
        assert await resource_updated(tearoom, "tea://sorts") == 0
    async with testing.connect(house, v2026_07_28.Client) as client:
        subscription = await client.listen(tools=True, resources=["tea://sorts", "tea://sort/none", "hand://written"])
        assert subscription.agreed["resourceSubscriptions"] == ["tea://sorts"]
        assert await resource_updated(tearoom, "tea://sorts") == 1
        assert await list_changed(tearoom, "tools") == 1
        await subscription.aclose()


class Heat(BaseModel):
    degrees: int


@pytest.mark.parametrize("version", VERSIONS[1:], ids=lambda version: version.REVISION)
async def test_questions_progress_and_logs_reach_the_caller(version: Any) -> None:
    house, kitchen = version.App("house"), version.App("kitchen")

    @kitchen.tool()  # type: ignore[untyped-decorator]
    async def cook(ctx: Context[Any]) -> str:
        """Ask, report and log."""
        await ctx.report_progress(1, 2)
        await ctx.log("info", "hot")
        answer: Any = await ctx.elicit("How hot?", Heat)  # type: ignore[attr-defined]
        assert isinstance(answer, Heat)
        return str(answer.degrees)

    house.mount(kitchen, prefix="kitchen")
    reports: list[float] = []
    options = CallOptions(progress=lambda progress, total, message: reports.append(progress))
    async with testing.connect(house, elicit=[{"degrees": 90}]) as session:
        assert text_of(await session.call_tool(name="kitchen__cook", options=options)) == "90"
        assert [log.data for log in testing.received(session).logs] == ["hot"] and reports == [1]


async def test_tools_that_become_tasks_do_so_under_their_names_here() -> None:
    """Also those of a server two levels down, and those that are added after it is mounted."""
    street, house = v2026_07_28.App("street"), v2026_07_28.App("house")
    kitchen = v2026_07_28.App("kitchen", extensions=[Tasks(MemoryTaskStore(poll_interval=0.01))])

    @kitchen.tool(task="required")
    async def bake(ctx: v2026_07_28.Context) -> str:
        """Bake."""
        await defer(ctx)
        return "baked"

    street.mount(house, prefix="house")
    house.mount(kitchen, prefix="kitchen")

    @kitchen.tool(task="optional")
    async def cook(ctx: v2026_07_28.Context) -> str:
        """Cook."""
        await defer(ctx)
        return "cooked"

    async with testing.connect(street, v2025_11_25.Client) as session:
        tools = {tool.name: tool.execution async for tool in session.iter_tools()}
        expected = {"house__kitchen__bake": "required", "house__kitchen__cook": "optional"}
        assert {name: execution and execution.task_support for name, execution in tools.items()} == expected
        for name, text in (("bake", "baked"), ("cook", "cooked")):
            params = v2025_11_25.CallToolRequestParams(name=f"house__kitchen__{name}")
            assert text_of(await run_as_task(session, TOOLS_CALL, params)) == text
    async with testing.connect(street, v2026_07_28.Client, options=ClientOptions(extensions=[Tasks()])) as client:
        assert text_of(await client.call_tool(name="house__kitchen__bake")) == "baked"


@each_version
async def test_a_part_whose_list_fails_does_not_take_the_others_along(
    version: Any, caplog: pytest.LogCaptureFixture
) -> None:
    class Broken(version.Server):  # type: ignore[misc]
        async def list_tools(self, params: Any, ctx: Any) -> Any:
            raise OSError("no disk")

        async def call_tool(self, params: Any, ctx: Any) -> Any:
            raise OSError("no disk")

    app = version.App("house")
    app.mount(Broken(), prefix="broken")
    app.mount(tea(version), prefix="tea")
    async with testing.connect(app) as session:
        assert [tool.name async for tool in session.iter_tools()] == ["tea__brew"]
        assert "tools/list of 'broken__'" in caplog.text and "no disk" in caplog.text
        with pytest.raises(PeerError, match="internal error"):
            await session.call_tool(name="broken__x")
