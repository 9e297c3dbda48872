"""`mount_host`: the servers of a host behind one App, for clients of all eras."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import BaseModel

from host.serving import InMemory
from mcp_bindings import v2024_11_05, v2025_11_25, v2026_07_28
from mcp_bindings import v2026_07_28 as mcp
from mcp_runtime import testing
from mcp_runtime.core.changes.subscriptions import resource_updated
from mcp_runtime.core.errors import PeerError
from mcp_runtime.core.handlers import Context, ServerHandlers
from mcp_runtime.core.options import CallOptions
from mcp_runtime.core.settings import ServerOptions
from mcp_runtime.gateway import mount_host
from mcp_runtime.host import Decision, Host, Refused, ServerEntry, ToolCall, allow_all
from support.apps import text_of

VERSIONS = (v2024_11_05, v2025_11_25, v2026_07_28)
each_client = pytest.mark.parametrize("client", VERSIONS, ids=lambda version: version.REVISION)
each_upstream = pytest.mark.parametrize("upstream", VERSIONS, ids=lambda version: version.REVISION)


class Heat(BaseModel):
    degrees: int


def kitchen(version: Any) -> Any:
    """Return a server with one of everything."""
    app = version.App("kitchen", options=ServerOptions(revisions="own"))

    @app.tool()  # type: ignore[untyped-decorator]
    async def cook(dish: str, ctx: Context[Any]) -> str:
        """Cook a dish."""
        await ctx.report_progress(1, 2, "chopping")
        await ctx.report_progress(2, 2, "frying")
        return f"cooked {dish}"

    @app.tool()  # type: ignore[untyped-decorator]
    async def burn() -> str:
        """Fail."""
        raise OSError("smoke")

    @app.tool()  # type: ignore[untyped-decorator]
    async def add(name: str) -> str:
        """Add a tool."""
        app.add_tool(nothing, name=name)
        return "added"

    @app.resource("kitchen://menu")  # type: ignore[untyped-decorator]
    def menu() -> str:
        """Return the menu."""
        return "soup"

    @app.resource("kitchen://dish/{name}")  # type: ignore[untyped-decorator]
    def dish(name: str) -> str:
        """Describe a dish."""
        return f"{name} with salt"

    @app.prompt()  # type: ignore[untyped-decorator]
    def order(dish: str) -> str:
        """Order."""
        return f"One {dish}, please."

    @app.completion("dish", prompt="order")  # type: ignore[untyped-decorator]
    def dishes(value: str) -> list[str]:
        return ["soup", "salad"]

    return app


def nothing() -> None:
    """Do nothing."""


def in_memory(name: str, make: Callable[[], ServerHandlers], **more: Any) -> ServerEntry:
    return InMemory(name=name, make=make, **more)


def gateway(*entries: ServerEntry, policy: Any = allow_all) -> Any:
    app: mcp.App = mcp.App("gateway")
    mount_host(app, Host(entries, mcp.Client, policy=policy))
    return app


@each_client
@each_upstream
async def test_everything_of_a_server_passes_through(upstream: Any, client: Any) -> None:
    app = gateway(in_memory("kitchen", lambda: kitchen(upstream)), in_memory("bare", lambda: mcp.App("bare")))
    async with testing.connect(app, client.Client) as session:
        tools = [tool.name async for tool in session.iter_tools()]
        assert tools == ["kitchen__cook", "kitchen__burn", "kitchen__add"]
        reports: list[float] = []
        options = CallOptions(progress=lambda progress, total, message: reports.append(progress))
        result = await session.call_tool(name="kitchen__cook", arguments={"dish": "soup"}, options=options)
        assert text_of(result) == "cooked soup" and 2 in reports
        assert (await session.call_tool(name="kitchen__burn")).is_error
        assert (await session.read_resource(uri="kitchen://menu")).contents[0].text == "soup"
        assert (await session.read_resource(uri="kitchen://dish/egg")).contents[0].text == "egg with salt"
        assert [each.uri_template async for each in session.iter_resource_templates()] == ["kitchen://dish/{name}"]
        prompt = await session.get_prompt(name="kitchen__order", arguments={"dish": "soup"})
        assert prompt.messages[0].content.text == "One soup, please."
        reference = client.PromptReference(name="kitchen__order")
        completed = await session.complete(ref=reference, argument={"name": "dish", "value": ""})
        assert completed.completion.values == ["soup", "salad"]
        for uri in ("kitchen://pots", "garden://tree"):
            with pytest.raises(PeerError, match="no such resource"):
                await session.read_resource(uri=uri)
        for name in ("kitchen__boil", "cook", "garden__dig"):
            with pytest.raises(PeerError, match="there is no"):
                await session.get_prompt(name=name)


class Name(BaseModel):
    name: str


def asking(version: Any) -> Any:
    """Return a server that asks, logs and waits."""
    app = version.App("asking", options=ServerOptions(revisions="own"))

    @app.tool()  # type: ignore[untyped-decorator]
    async def ask(caller: str, ctx: Context[Any]) -> str:
        """Ask who calls."""
        await ctx.log("info", caller)
        await asyncio.sleep(0.01)
        answer: Any = await ctx.elicit(f"{caller}, who are you?", Name)  # type: ignore[attr-defined]
        assert isinstance(answer, Name)
        return answer.name

    @app.tool()  # type: ignore[untyped-decorator]
    async def wait() -> str:
        """Wait indefinitely."""
        await asyncio.Event().wait()
        return ""

    return app


@pytest.mark.parametrize("client", VERSIONS[1:], ids=lambda version: version.REVISION)
@pytest.mark.parametrize("upstream", VERSIONS[1:], ids=lambda version: version.REVISION)
async def test_a_question_reaches_the_client_whose_call_it_is(upstream: Any, client: Any) -> None:
    app = gateway(in_memory("desk", lambda: asking(upstream)))

    class Ann(client.ClientHandlers):  # type: ignore[misc]
        async def elicit(self, params: Any, ctx: Any) -> Any:
            assert params.message == "desk: ann, who are you?", "the question names its server"
            return client.ElicitResult(action="accept", content={"name": "Ann"})

    async with testing.connect(app, client.Client, handlers=Ann()) as session:
        assert text_of(await session.call_tool(name="desk__ask", arguments={"caller": "ann"})) == "Ann"
        assert [log.data for log in testing.received(session).logs] == ["ann"]


@pytest.mark.parametrize("client", VERSIONS[1:], ids=lambda version: version.REVISION)
@pytest.mark.parametrize("upstream", VERSIONS[1:], ids=lambda version: version.REVISION)
async def test_no_question_and_no_log_message_reaches_another_client(upstream: Any, client: Any) -> None:
    """Eight clients ask at once over one connection to the server."""
    app = gateway(in_memory("desk", lambda: asking(upstream)))
    answered, heard = list[str](), list[tuple[str, Any]]()

    class Client(client.ClientHandlers):  # type: ignore[misc]
        def __init__(self, name: str) -> None:
            self.name = name

        async def elicit(self, params: Any, ctx: Any) -> Any:
            return client.ElicitResult(action="accept", content={"name": self.name})

    async def one(number: int) -> None:
        async with testing.connect(app, client.Client, handlers=Client(f"client {number}")) as session:
            for _ in range(3):
                result = await session.call_tool(name="desk__ask", arguments={"caller": f"client {number}"})
                if not result.is_error:
                    assert text_of(result) == f"client {number}"
                    answered.append(text_of(result))
            heard.extend((f"client {number}", log.data) for log in testing.received(session).logs)

    async with testing.connect(app):  # keeps the host open
        await asyncio.gather(*map(one, range(8)))
    assert all(client == said for client, said in heard), heard
    if upstream is v2026_07_28:
        assert len(answered) == 24, "results name their calls"


async def test_what_is_not_clear_is_refused() -> None:
    app = gateway(in_memory("desk", lambda: asking(v2025_11_25)))
    async with testing.connect(app, elicit=[{"name": "Ann"}]) as ann, testing.connect(app) as bob:
        waiting = asyncio.create_task(bob.call_tool(name="desk__wait"))
        while bob.connection.open_requests == 0:
            await asyncio.sleep(0)
        await asyncio.sleep(0.05)
        result = await ann.call_tool(name="desk__ask", arguments={"caller": "ann"})
        assert result.is_error
        waiting.cancel()
        await asyncio.sleep(0.05)
        assert text_of(await ann.call_tool(name="desk__ask", arguments={"caller": "ann"})) == "Ann", "bob has left"


@each_client
@each_upstream
async def test_changes_of_lists_and_resources_reach_clients(upstream: Any, client: Any) -> None:
    servers = list[Any]()

    def make() -> Any:
        servers.append(server := kitchen(upstream))

        @server.subscription()  # type: ignore[untyped-decorator]
        def watch(uri: str) -> None:
            """Agree."""

        return server

    app = gateway(in_memory("kitchen", make))
    async with testing.connect(app, client.Client) as session:
        assert len([tool async for tool in session.iter_tools()]) == 3
        await asyncio.sleep(0.05)  # the first list may be announced too
        if client is v2026_07_28:
            changes = await session.listen(tools=True, resources=["kitchen://menu", "garden://tree"])
            assert changes.agreed["resourceSubscriptions"] == ["kitchen://menu"]
        else:
            changes = None
            await session.subscribe(uri="kitchen://menu")
            with pytest.raises(PeerError, match="cannot be subscribed to"):
                await session.subscribe(uri="garden://tree")
        heard = testing.received(session)
        before = len(heard.notifications("notifications/tools/list_changed"))
        await session.call_tool(name="kitchen__add", arguments={"name": "more"})
        await until(lambda: len(heard.notifications("notifications/tools/list_changed")) > before)
        assert len([tool async for tool in session.iter_tools()]) == 4
        await until(lambda: bool(servers))
        await resource_updated(servers[-1], "kitchen://menu")
        await until(lambda: bool(heard.notifications("notifications/resources/updated")))
        if changes is not None:
            await changes.aclose()
        else:
            await session.unsubscribe(uri="kitchen://menu")
        await asyncio.sleep(0.05)
        assert await resource_updated(servers[-1], "kitchen://menu") == 0, "nobody watches it at the server any more"


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not condition():
            await asyncio.sleep(0.005)


async def test_the_policy_knows_the_client_of_a_call() -> None:
    asked = list[str]()

    async def policy(call: ToolCall) -> Decision:
        asked.append(f"{call.tool.name} for {call.ctx.requester.info['name']}")
        return Refused("not for you") if call.tool.tool == "add" else True

    app = gateway(in_memory("kitchen", lambda: kitchen(mcp)), policy=policy)
    async with testing.connect(app) as session:
        assert text_of(await session.call_tool(name="kitchen__cook", arguments={"dish": "egg"})) == "cooked egg"
        refused = await session.call_tool(name="kitchen__add", arguments={"name": "x"})
        assert refused.is_error and refused.content[0].text == "not for you"
        wrong = await session.call_tool(name="kitchen__cook", arguments={"meal": "egg"})
        assert wrong.is_error and len(asked) == 2
    assert asked[0].startswith("kitchen__cook for ")


async def test_a_dead_server_takes_nothing_along() -> None:
    dead = ServerEntry(name="dead", command=("/nonexistent/server",))
    app = gateway(dead, in_memory("kitchen", lambda: kitchen(mcp)))
    app.add_tool(nothing, name="own")

    async with testing.connect(app) as session:
        assert [tool.name async for tool in session.iter_tools()][:2] == ["own", "kitchen__cook"]
        assert not (await session.call_tool(name="own")).is_error
        assert (await session.read_resource(uri="kitchen://menu")).contents
        with pytest.raises(PeerError, match="the server dead is not connected"):
            await session.call_tool(name="dead__x")


async def test_nothing_is_left_when_clients_have_gone() -> None:
    app = gateway(in_memory("kitchen", lambda: kitchen(mcp)), in_memory("desk", lambda: asking(mcp)))
    before = len(asyncio.all_tasks())
    for _ in range(3):
        async with testing.connect(app) as session:
            await session.listen(resources=["kitchen://menu"])
            calling = asyncio.create_task(session.call_tool(name="desk__wait"))
            await asyncio.sleep(0.02)
            calling.cancel()
    await asyncio.sleep(0.05)
    assert len(asyncio.all_tasks()) == before


def entered(app: mcp.App) -> None:
    async def run() -> None:
        async with testing.connect(app):
            mount_host(app, Host((), mcp.Client, policy=allow_all))

    asyncio.run(run())


def of_another_revision(app: mcp.App) -> None:
    mount_host(app, Host((), v2025_11_25.Client, policy=allow_all))


def that_answers_itself(app: mcp.App) -> None:
    async def roots(server: str, params: Any) -> Any:
        return None

    mount_host(app, Host((), mcp.Client, policy=allow_all, roots=roots))


def twice_a_name(app: mcp.App) -> None:
    app.mount(mcp.App("kitchen"), prefix="kitchen")
    mount_host(app, Host([in_memory("kitchen", lambda: kitchen(mcp))], mcp.Client, policy=allow_all))


@pytest.mark.parametrize(
    ("mount", "words"),
    [
        (entered, "before the App is served"),
        (of_another_revision, "Client of 2025-11-25 cannot be mounted in an App of 2026-07-28"),
        (that_answers_itself, "without sampling="),
        (twice_a_name, "the prefix 'kitchen' is mounted already"),
    ],
)
def test_what_cannot_be_mounted_is_said_in_a_line(mount: Callable[[mcp.App], None], words: str) -> None:
    with pytest.raises(ValueError) as caught:
        mount(mcp.App("gateway"))
    assert words in str(caught.value) and "\n" not in str(caught.value)
