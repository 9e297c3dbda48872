"""Logging (server/utilities/logging): log messages that reach the client."""

import asyncio
import logging
from typing import Any

import pytest

from mcp_runtime.core.connection.notifications import LEVELS
from mcp_runtime.core.errors import MissingCapability
from mcp_runtime.core.settings import ServerOptions
from mcp_runtime.middleware.log_handler import McpLogHandler
from support.roles import answering, build, make_handlers, make_server, raises
from support.talk import MODERN, PREFIX, Raw, raw

pytestmark = pytest.mark.usefixtures("virtual_time")

requirement = pytest.mark.requirement
MESSAGE = "notifications/message"


def logged(line: Raw) -> list[dict[str, Any]]:
    return [message["params"] for message in line.got if message.get("method") == MESSAGE]


@requirement("logging.declared")
async def test_servers_that_log_declare_it_and_others_do_not_log(revision: str) -> None:
    async with raw(make_server(revision)) as line:
        assert (await line.shake_hands(revision))["capabilities"]["logging"] == {}
        await line.server.log("error", {"a": 1}, "here")
        assert logged(line) == [{"level": "error", "data": {"a": 1}, "logger": "here"}]
    async with raw(make_server(revision, ServerOptions(logging=False))) as line:
        assert "logging" not in (await line.shake_hands(revision))["capabilities"]
        with pytest.raises(MissingCapability, match=r"server\.logging"):
            await line.server.log("error", "x")
        assert not logged(line)


@requirement("logging.invalid-level")
async def test_an_invalid_level_is_refused_and_the_last_one_stays(revision: str) -> None:
    async with raw(make_server(revision)) as line:
        await line.shake_hands(revision)
        assert (await line.ask("logging/setLevel", {"level": "warning"}, id_=1))["result"] == {}
        for id_, level in enumerate(("loud", "WARNING", "", 3, None), 2):
            assert (await line.ask("logging/setLevel", {"level": level}, id_=id_))["error"]["code"] == -32602
        for level in LEVELS:
            await line.server.log(level, level)
        assert [each["level"] for each in logged(line)] == ["warning", "error", "critical", "alert", "emergency"]


@requirement("logging.configuration-error")
async def test_a_level_that_could_not_be_set_is_an_internal_error(revision: str) -> None:
    async with raw(make_server(revision, set_level=raises(OSError("no disk")))) as line:
        await line.shake_hands(revision)
        error = (await line.ask("logging/setLevel", {"level": "info"}))["error"]
        assert error == {"code": -32603, "message": "internal error"}


@requirement("logging.rate-limited")
async def test_a_flood_of_messages_is_held_back(revision: str) -> None:
    async with raw(make_server(revision, ServerOptions(log_rate=10))) as line:
        await line.shake_hands(revision)
        for number in range(1000):
            await line.server.log("info", number)
        await asyncio.sleep(0.3)
        assert 10 <= len(logged(line)) < 100 and logged(line)[-1]["data"] == 999


@pytest.fixture
def app() -> Any:
    logger = logging.getLogger("requirements")
    logger.propagate = False
    logger.setLevel(logging.DEBUG)
    yield logger
    logger.handlers.clear()


@requirement("logging.logger-names", "logging.no-secrets", "logging.no-internals")
async def test_log_records_are_sent_without_secrets_and_internals(revision: str, app: logging.Logger) -> None:
    async def call_tool(self: Any, params: Any, ctx: Any) -> Any:
        app.warning({"user": "ada", "password": "hunter2", "apiKey": "k-1"})
        app.info("curl -H 'Authorization: Bearer abcdef123456' https://ada:hunter2@x.org")
        try:
            raise OSError("/etc/shadow is not yours")
        except OSError:
            app.exception("failed")
        return build(revision, "CallToolResult", content=[])

    async with raw(make_server(revision, call_tool=call_tool)) as line:
        await line.shake_hands(revision)
        app.addHandler(McpLogHandler(line.server))
        level = {"_meta": {f"{PREFIX}logLevel": "debug"}} if revision == MODERN else {}
        assert "result" in await line.ask("tools/call", {"name": "x", **level})
        assert [each["logger"] for each in logged(line)] == ["requirements"] * 3
        assert [each["level"] for each in logged(line)] == ["warning", "info", "error"]
        text = str(logged(line))
        for secret in ("hunter2", "k-1", "abcdef123456", "shadow", "Traceback", __file__):
            assert secret not in text
        assert "ada" in text and logged(line)[2]["data"] == {"message": "failed", "exception": "OSError"}


@requirement("logging.fields-validated")
async def test_invalid_log_messages_are_neither_sent_nor_delivered(revision: str) -> None:
    async with raw(make_server(revision)) as line:
        await line.shake_hands(revision)
        with pytest.raises(ValueError, match="unknown log level 'loud'"):
            await line.server.log("loud", "x")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        assert not logged(line)
    seen: list[Any] = []

    async def on_logging_message(self: Any, params: Any, ctx: Any) -> None:
        seen.append(params.data)

    handlers = make_handlers(revision, on_logging_message=on_logging_message)
    async with answering(revision, handlers=handlers, capabilities={"logging": {}}) as server:
        for params in ({"level": "loud", "data": 1}, {"level": "info"}, {"level": "info", "data": 2}):
            server.tell(method=MESSAGE, params=params)
        await asyncio.sleep(0.01)
        assert seen == [2] and len(server.errors) == 2
