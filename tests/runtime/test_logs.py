"""Records of Python's `logging` reach the clients that want them, and nothing else does."""

import asyncio
import logging
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from mcp_bindings import v2025_11_25 as v
from mcp_bindings.v2025_11_25 import methods
from mcp_runtime.core.connection import Exchange
from mcp_runtime.core.connection.calls import Proceed
from mcp_runtime.core.connection.notifications import NotificationStream
from mcp_runtime.core.settings import ClientOptions, ServerOptions
from mcp_runtime.extensions.tasks import RELATED, MemoryTaskStore, Tasks
from mcp_runtime.middleware.log_handler import McpLogHandler, level_of
from support.calculator import Calculator, tool
from support.together import together

APP = logging.Logger("app", 1)
Messages = NotificationStream[v.LoggingMessageNotificationParams]


class Quiet(v.Server):
    options = ServerOptions(log_rate=None)

    async def list_tools(self, params: v.PaginatedRequestParams | None, ctx: v.Context) -> v.ListToolsResult:
        APP.info("listed")
        return v.ListToolsResult(tools=[])


@pytest.fixture
def app() -> Iterator[logging.Logger]:
    """A separate logger: pytest's handlers, which format records, do not see it."""
    yield APP
    for handler in tuple(APP.handlers):
        APP.removeHandler(handler)


async def read(stream: Messages) -> list[tuple[str, str | None, Any]]:
    """Close a stream once everything sent in memory has arrived, and return its contents."""
    for _ in range(100):
        await asyncio.sleep(0)
    stream.close()
    return [(params.level, params.logger, params.data) async for params in stream if params is not None]


class Unprintable:
    """Fails the test when it is formatted."""

    def __str__(self) -> str:
        raise AssertionError("formatted although nobody wants it")


class TestHandler:
    async def test_levels_become_those_of_rfc_5424(self, app: logging.Logger) -> None:
        server = Quiet()
        app.addHandler(McpLogHandler(server))
        async with together(v.Client, server) as client:
            stream = client.notifications(methods.NOTIFICATIONS_MESSAGE)
            for level in (logging.DEBUG, logging.INFO, 25, logging.WARNING, logging.ERROR, logging.CRITICAL, 60, 70):
                app.log(level, "level %d", level)
            got = await read(stream)
        levels = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]
        assert [level for level, _, _ in got] == levels
        assert got[0] == ("debug", "app", "level 10")
        assert level_of(1) == "debug"

    async def test_unwanted_records_are_not_formatted(self, app: logging.Logger) -> None:
        server = Quiet()
        app.addHandler(McpLogHandler(server))
        async with together(v.Client, server) as client:
            stream = client.notifications(methods.NOTIFICATIONS_MESSAGE)
            await client.set_level(level="error")
            app.warning("%s", Unprintable())
            app.error("wanted")
            assert await read(stream) == [("error", "app", "wanted")]

    async def test_every_client_has_its_own_threshold(self, app: logging.Logger) -> None:
        server = Quiet()
        app.addHandler(McpLogHandler(server))
        async with together(v.Client, server) as one, together(v.Client, server) as other:
            streams = [client.notifications(methods.NOTIFICATIONS_MESSAGE) for client in (one, other)]
            await one.set_level(level="critical")
            app.error("x")
            assert await read(streams[0]) == []
            assert await read(streams[1]) == [("error", "app", "x")]

    async def test_a_message_comes_before_the_result_of_the_handler_that_logged_it(self, app: logging.Logger) -> None:
        server = Quiet()
        app.addHandler(McpLogHandler(server))
        seen: list[bytes] = []
        options = ClientOptions(trace=lambda way, message: seen.append(message))
        async with together(v.Client, server, options=options) as client:
            await client.list_tools()
        assert b'"listed"' in seen[-2]

    async def test_records_of_one_client_go_to_no_other(self, app: logging.Logger) -> None:
        class Private(Quiet):
            async def list_tools(self, params: v.PaginatedRequestParams | None, ctx: v.Context) -> v.ListToolsResult:
                app.info("from the handler")
                await asyncio.gather(asyncio.create_task(self.work()), asyncio.to_thread(app.info, "from a thread"))
                return v.ListToolsResult(tools=[])

            async def work(self) -> None:
                app.info("from a task")

        server = Private()
        app.addHandler(McpLogHandler(server))
        async with together(v.Client, server) as one, together(v.Client, server) as other:
            streams = [client.notifications(methods.NOTIFICATIONS_MESSAGE) for client in (one, other)]
            await one.list_tools()
            app.info("to all")
            texts = sorted(data for _, _, data in await read(streams[0]))
            assert texts == ["from a task", "from a thread", "from the handler", "to all"]
            assert [data for _, _, data in await read(streams[1])] == ["to all"]

    async def test_records_of_a_task_name_the_task(self, app: logging.Logger) -> None:
        class Tasked(Calculator):
            options = ServerOptions(extensions=[Tasks(MemoryTaskStore())])

            async def call_tool(self, params: v.CallToolRequestParams, ctx: v.Context) -> v.CallToolResult:
                app.info("at work")
                return v.CallToolResult(content=[])

        listed = tool("work")
        listed.execution = v.ToolExecution(task_support="optional")
        server = Tasked(listed)
        app.addHandler(McpLogHandler(server))
        async with together(v.Client, server) as client:
            stream = client.notifications(methods.NOTIFICATIONS_MESSAGE)
            created = await client.call_tool(name="work", task=v.TaskMetadata())
            params = await stream.next(5)
        assert params is not None
        assert params.data == "at work"
        assert params.meta == {RELATED: {"taskId": created.task.task_id}}

    async def test_threads_may_log(self, app: logging.Logger) -> None:
        server = Quiet()
        app.addHandler(McpLogHandler(server))
        async with together(v.Client, server) as client:
            stream = client.notifications(methods.NOTIFICATIONS_MESSAGE)
            await asyncio.gather(*(asyncio.to_thread(self._log_much, app, number) for number in range(4)))
            got = await read(stream)
        assert sorted(data for _, _, data in got) == sorted(f"{n}: {i}" for n in range(4) for i in range(100))
        for number in range(4):
            mine = [data for _, _, data in got if data.startswith(f"{number}:")]
            assert mine == [f"{number}: {i}" for i in range(100)]

    @staticmethod
    def _log_much(app: logging.Logger, number: int) -> None:
        for index in range(100):
            app.info("%d: %d", number, index)

    async def test_a_flooding_thread_does_not_fill_memory(
        self, app: logging.Logger, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("mcp_runtime.middleware.log_handler.MAX_WAITING", 10)
        server = Quiet()
        handler = McpLogHandler(server)
        app.addHandler(handler)
        async with together(v.Client, server) as client:
            stream = client.notifications(methods.NOTIFICATIONS_MESSAGE)
            thread = threading.Thread(target=self._log_much, args=(app, 1))
            thread.start()
            thread.join()  # the event loop is busy with this
            assert len(await read(stream)) == 10
        assert handler.dropped == 90

    async def test_an_exception_is_named_without_its_text(self, app: logging.Logger) -> None:
        server = Quiet()
        app.addHandler(McpLogHandler(server))
        async with together(v.Client, server) as client:
            stream = client.notifications(methods.NOTIFICATIONS_MESSAGE)
            try:
                raise ValueError("the key is 1234")
            except ValueError:
                app.exception("it failed")
            assert await read(stream) == [("error", "app", {"message": "it failed", "exception": "ValueError"})]

    async def test_a_traceback_is_sent_if_asked_for(self, app: logging.Logger) -> None:
        server = Quiet()
        app.addHandler(McpLogHandler(server, with_traceback=True))
        async with together(v.Client, server) as client:
            stream = client.notifications(methods.NOTIFICATIONS_MESSAGE)
            try:
                raise ValueError("no")
            except ValueError:
                app.exception("it failed")
            ((_, _, data),) = await read(stream)
        assert "test_a_traceback_is_sent_if_asked_for" in data["traceback"]

    async def test_secrets_are_masked(self, app: logging.Logger) -> None:
        server = Quiet()
        app.addHandler(McpLogHandler(server, extra=["user", "api_key"]))
        async with together(v.Client, server) as client:
            stream = client.notifications(methods.NOTIFICATIONS_MESSAGE)
            app.info("got Authorization: Bearer abc.def-123", extra={"user": "u", "api_key": "sk-1"})
            app.info({"event": "login", "password": "hunter2", "tries": 3})
            got = [data for _, _, data in await read(stream)]
        assert got[0] == {"message": "got Authorization: Bearer ***", "user": "u", "api_key": "***"}
        assert got[1] == {"event": "login", "password": "***", "tries": 3}

    async def test_formatters_are_ignored(self, app: logging.Logger) -> None:
        server = Quiet()
        handler = McpLogHandler(server)
        handler.setFormatter(logging.Formatter(logging.BASIC_FORMAT))  # as logging.basicConfig does
        app.addHandler(handler)
        async with together(v.Client, server) as client:
            stream = client.notifications(methods.NOTIFICATIONS_MESSAGE)
            app.info("hello")
            app.info({"a": 1})
            assert [data for _, _, data in await read(stream)] == ["hello", {"a": 1}]

    async def test_values_json_cannot_express_become_text(self, app: logging.Logger) -> None:
        server = Quiet()
        app.addHandler(McpLogHandler(server))
        async with together(v.Client, server) as client:
            stream = client.notifications(methods.NOTIFICATIONS_MESSAGE)
            app.info("file \udcff")
            app.info({"error": KeyError("x")})
            got = [data for _, _, data in await read(stream)]
        assert got == ["file ?", {"error": "'x'"}]

    async def test_the_runtime_does_not_log_about_its_own_logging(self, app: logging.Logger) -> None:
        async def audit(exchange: Exchange, proceed: Proceed) -> Any:
            app.info("saw %s", exchange.method.name)
            return await proceed()

        class Audited(v.Server):
            options = ServerOptions(log_rate=None, middleware=(audit,))

        server = Audited()
        handler = McpLogHandler(server)
        ours = [app, logging.getLogger("mcp_runtime")]
        for logger in ours:
            logger.addHandler(handler)
        try:
            async with together(v.Client, server) as client:
                stream = client.notifications(methods.NOTIFICATIONS_MESSAGE)
                logging.getLogger("mcp_runtime").error("from within")
                logging.getLogger("mcp_runtime.middleware.trace").error("from within")
                app.info("once")
                got = [data for _, _, data in await read(stream)]
                assert [data for data in got if data != "saw notifications/initialized"] == ["once"]
        finally:
            ours[1].removeHandler(handler)

    async def test_a_record_that_cannot_be_formatted_does_no_harm(
        self, app: logging.Logger, capsys: pytest.CaptureFixture[str]
    ) -> None:
        server = Quiet()
        app.addHandler(McpLogHandler(server))
        async with together(v.Client, server) as client:
            stream = client.notifications(methods.NOTIFICATIONS_MESSAGE)
            app.info("%d", "not a number")
            app.info("fine")
            assert await read(stream) == [("info", "app", "fine")]
        assert "not a number" in capsys.readouterr().err

    async def test_connections_that_ended_are_left_alone(self, app: logging.Logger) -> None:
        server = Quiet()
        handler = McpLogHandler(server)
        app.addHandler(handler)
        async with together(v.Client, server):
            pass
        app.info("nobody is there")
        done = threading.Thread(target=app.info, args=("nobody is there",))
        done.start()
        done.join()

    async def test_a_server_that_does_not_log_sends_nothing(self, app: logging.Logger) -> None:
        class Silent(v.Server):
            options = ServerOptions(logging=False)

        server = Silent()
        app.addHandler(McpLogHandler(server))
        async with together(v.Client, server) as client:
            stream = client.notifications(methods.NOTIFICATIONS_MESSAGE)
            app.info("hello")
            assert await read(stream) == []
