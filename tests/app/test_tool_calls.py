"""How tools run: failures, threads, injected parameters, and changes during a call."""

import asyncio
import contextvars
import logging
import threading
from collections.abc import AsyncIterator
from typing import Annotated, Any

import pytest

from mcp_bindings import v2025_11_25 as mcp
from mcp_bindings import v2026_07_28 as modern
from mcp_runtime.app import Depends, ToolFailure
from mcp_runtime.client_features.roots import Roots
from mcp_runtime.core.errors import PeerError
from mcp_runtime.core.handlers import connections_of
from mcp_runtime.memory import connect_memory
from support.apps import call, listed, opened, text_of


class TestFailures:
    def test_the_text_of_a_tool_failure_reaches_the_model(self) -> None:
        app = mcp.App("test")

        @app.tool()
        def close(number: int) -> str:
            raise ToolFailure(f"issue {number} is closed already")

        result = asyncio.run(call(app, "close", number=7))
        assert (result.is_error, text_of(result)) == (True, "issue 7 is closed already")

    def test_a_tool_failure_may_have_several_lines(self) -> None:
        app = mcp.App("test")

        @app.tool()
        def close() -> str:
            raise ToolFailure("closed already:\n" + "x" * 5000)

        assert text_of(asyncio.run(call(app, "close"))) == "closed already:\n" + "x" * 5000

    def test_other_exceptions_are_only_logged(self, caplog: pytest.LogCaptureFixture) -> None:
        app = mcp.App("test")

        @app.tool()
        async def leak() -> str:
            raise RuntimeError("password: hunter2")

        with caplog.at_level(logging.ERROR, "mcp_runtime"):
            result = asyncio.run(call(app, "leak"))
        assert result.is_error and "hunter2" not in result.model_dump_json()
        assert "hunter2" in caplog.text and "tool leak failed" in caplog.text

    def test_a_protocol_error_is_sent_as_such(self) -> None:
        app = mcp.App("test")

        @app.tool()
        def refuse() -> str:
            raise PeerError(-32000, "not now")

        with pytest.raises(PeerError, match="not now"):
            asyncio.run(call(app, "refuse"))


class TestThreads:
    def test_a_plain_function_keeps_its_context_variables_and_does_not_block_others(self) -> None:
        who = contextvars.ContextVar("who", default="nobody")
        begun, release = threading.Event(), threading.Event()

        class Guarded(mcp.App):
            async def call_tool(self, params: Any, ctx: Any) -> Any:
                who.set("alice")
                return await super().call_tool(params, ctx)

        app = Guarded("test")

        @app.tool()
        def wait() -> str:
            begun.set()
            release.wait(40)
            return who.get()

        async def main() -> None:
            async with opened(app) as client:
                waiting = asyncio.create_task(client.call_tool(name="wait"))
                await asyncio.to_thread(begun.wait, 40)
                await client.ping()
                release.set()
                assert text_of(await waiting) == "alice"

        asyncio.run(main())

    def test_a_cancelled_function_is_not_waited_for(self) -> None:
        app, begun, release = mcp.App("test"), threading.Event(), threading.Event()

        @app.tool()
        def wait() -> None:
            begun.set()
            release.wait(40)

        async def main() -> None:
            async with opened(app) as client:
                waiting = asyncio.create_task(client.call_tool(name="wait"))
                await asyncio.to_thread(begun.wait, 40)
                waiting.cancel()
                await asyncio.wait([waiting], timeout=40)
                await client.ping()
                assert connections_of(app)[0].open_requests == 0
                release.set()

        asyncio.run(main())


class TestProvided:
    def test_the_context_and_dependencies_are_not_arguments(self) -> None:
        app, log = mcp.App("test"), list[str]()

        def settings() -> str:
            log.append("settings")
            return "db"

        async def database(name: Annotated[str, Depends(settings)], ctx: mcp.Context) -> AsyncIterator[str]:
            log.append("open")
            yield f"{name} of {ctx.requester.info['name']}"
            log.append("close")

        @app.tool()
        async def query(
            sql: str,
            ctx: mcp.Context,
            db: Annotated[str, Depends(database)],
            again: Annotated[str, Depends(settings)],
        ) -> str:
            log.append("query")
            return f"{sql} in {db}, {again}, {ctx.request_id is not None}"

        assert list(asyncio.run(listed(app))["query"]["inputSchema"]["properties"]) == ["sql"]
        assert text_of(asyncio.run(call(app, "query", sql="x"))) == "x in db of mcp-bindgen, db, True"
        assert log == ["settings", "open", "query", "close"]

    def test_a_tool_gets_the_roots_of_the_client(self) -> None:
        app = mcp.App("test")

        @app.tool()
        async def find(path: str, roots: Roots) -> str:
            return str(await roots.resolve(path))

        async def main() -> None:
            from mcp_runtime.core.settings import ClientOptions

            async with connect_memory(app) as peer:
                client = await mcp.Client.open(peer, options=ClientOptions(roots=["file:///srv/tea"]))
                assert text_of(await client.call_tool(name="find", arguments={"path": "a.txt"})) == "/srv/tea/a.txt"

        asyncio.run(main())

    def test_a_client_is_asked_in_both_eras(self) -> None:
        from mcp_bindings.v2026_07_28 import Client, ClientContext, ClientHandlers, ElicitRequestParams, ElicitResult

        app = modern.App("test")

        @app.tool()
        async def ask(ctx: modern.Context) -> str:
            schema = modern.ElicitRequestFormParamsRequestedSchema(properties={})
            answer = await ctx.client.elicit(message="Sure?", requested_schema=schema)
            return answer.action

        class Host(ClientHandlers):
            async def elicit(self, params: ElicitRequestParams, ctx: ClientContext) -> ElicitResult:
                return ElicitResult(action="decline")

        async def main() -> None:
            async with connect_memory(app) as peer:
                client = await Client.open(peer, handlers=Host())
                assert text_of(await client.call_tool(name="ask")) == "decline"

        asyncio.run(main())


class TestChanges:
    def test_clients_learn_of_added_and_removed_tools(self) -> None:
        app = mcp.App("test")
        changed = asyncio.Event()

        class Watcher(mcp.ClientHandlers):
            async def on_tool_list_changed(self, params: Any, ctx: mcp.ClientContext) -> None:
                changed.set()

        async def expect_tools(client: mcp.Client, expected: list[str]) -> None:
            await asyncio.wait_for(changed.wait(), 40)
            changed.clear()
            assert [tool.name async for tool in client.iter_tools()] == expected

        @app.tool()
        def plain() -> None:
            app.tool("third")(plain)

        async def main() -> None:
            async with opened(app, Watcher()) as client:
                app.tool("second")(plain)
                await expect_tools(client, ["plain", "second"])
                await client.call_tool(name="plain")
                await expect_tools(client, ["plain", "second", "third"])
                assert app.remove_tool("second") and not app.remove_tool("second")
                await expect_tools(client, ["plain", "third"])

        asyncio.run(main())

    def test_pages_are_stable_while_tools_are_removed(self) -> None:
        app = mcp.App("test", page_size=2)
        for number in range(5):
            app.tool(f"t{number}")(lambda: None)

        async def main() -> None:
            async with opened(app) as client:
                page = await client.list_tools()
                assert [tool.name for tool in page.tools] == ["t0", "t1"]
                app.remove_tool("t0")
                app.remove_tool("t3")
                page = await client.list_tools(cursor=page.next_cursor)
                assert ([tool.name for tool in page.tools], page.next_cursor) == (["t2", "t4"], None)
                for cursor in ("", "x", "-1", "1.0", "9" * 100, "٣"):
                    with pytest.raises(PeerError) as caught:
                        await client.list_tools(cursor=cursor)
                    assert caught.value.code == -32602

        asyncio.run(main())


class TestManyWrongValues:
    """A call may have any number of invalid values, but the answer stays short."""

    @pytest.mark.parametrize(
        ("number", "start"),
        [(10_000, "loaves.k0: it should be a valid integer"), (10_001, "10,001 values do not match the schema")],
    )
    def test_too_many_are_counted(self, number: int, start: str) -> None:
        app = mcp.App("test")

        @app.tool()
        def bake(loaves: dict[str, int]) -> int:
            return 0

        loaves = {f"k{place}": "x" for place in range(number)}
        content = text_of(asyncio.run(call(app, "bake", loaves=loaves)))
        assert content.startswith(f"invalid arguments for bake: {start}") and len(content) < 500


@pytest.mark.parametrize("kind", [mcp.Context | None, Annotated[mcp.Context | None, "x"], mcp.Context], ids=str)
def test_an_optional_context_is_provided(kind: Any) -> None:
    app = mcp.App("test")

    async def greet(who: str, ctx: Any = None) -> str:
        return f"{who} {type(ctx).__name__}"

    greet.__annotations__["ctx"] = kind
    app.tool()(greet)
    assert text_of(asyncio.run(call(app, "greet", who="Ada"))) == "Ada Context"
