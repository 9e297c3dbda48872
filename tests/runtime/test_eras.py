"""Two eras on one transport, message by message: a handshake and what follows it, and stateless requests."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from mcp_bindings import v2025_11_25, v2026_07_28
from mcp_runtime.core.connection import Connection
from mcp_runtime.core.connection.requester import Principal, Requester
from mcp_runtime.core.connection.transport import Verdict
from mcp_runtime.core.errors import MissingCapability
from mcp_runtime.core.handshake import server as handshake
from mcp_runtime.core.handshake.server import start_server
from mcp_runtime.core.settings import ServerOptions
from mcp_runtime.middleware.rate_limit import RateLimit
from support.channels import Stream, Streams
from support.own import own
from support.posting import answer, post, shake_hands

pytestmark = pytest.mark.usefixtures("virtual_time")

MODERN = "2026-07-28"
PREFIX = "io.modelcontextprotocol/"


class Old(v2025_11_25.Server):
    """Waits in a call until it is released."""

    def __init__(self) -> None:
        self.seen: list[Requester] = []
        self.gate = asyncio.Event()
        self.ended: list[str] = []

    async def call_tool(
        self, params: v2025_11_25.CallToolRequestParams, ctx: v2025_11_25.Context
    ) -> v2025_11_25.CallToolResult:
        self.seen.append(ctx.exchange.requester)
        await hold(self, ctx)
        return v2025_11_25.CallToolResult(content=[])


class New(v2026_07_28.Server):
    """The same in the modern era."""

    options = ServerOptions(log_rate=None, progress_rate=None)

    def __init__(self) -> None:
        self.seen: list[Requester] = []
        self.gate = asyncio.Event()
        self.ended: list[str] = []

    async def call_tool(
        self, params: v2026_07_28.CallToolRequestParams, ctx: v2026_07_28.Context
    ) -> v2026_07_28.CallToolResult:
        self.seen.append(ctx.exchange.requester)
        match params.name:
            case "wait":
                await hold(self, ctx)
            case "report":
                await ctx.report_progress(1)
                await ctx.log("info", "at work")
                ctx.connection.spawn(self.later(ctx))
            case "ask":
                record = v2025_11_25.methods.SAMPLING_CREATE_MESSAGE
                await ctx.connection.request(record, None, None)
            case _:
                raise MissingCapability("client.elicitation.form", "a form")
        return v2026_07_28.CallToolResult(result_type="complete", content=[])

    async def later(self, ctx: v2026_07_28.Context) -> None:
        await asyncio.sleep(0.01)
        await ctx.log("info", "too late")


async def hold(server: Old | New, ctx: Any) -> None:
    try:
        await server.gate.wait()
    except asyncio.CancelledError:
        server.ended.append(str(ctx.cancel_reason))
        raise
    server.ended.append("went on")


def meta(revision: Any = MODERN, **more: Any) -> dict[str, Any]:
    """Return the metadata of every modern request."""
    said: dict[str, Any] = {"protocolVersion": revision, "clientCapabilities": {}, **more}
    return {f"{PREFIX}{name}": value for name, value in said.items() if value is not None}


def call(name: str = "wait", _meta: Any = None) -> dict[str, Any]:
    return {"method": "tools/call", "params": {"name": name, "_meta": meta() if _meta is None else _meta}}


@asynccontextmanager
async def serving(*servers: Any) -> AsyncGenerator[tuple[Streams, Connection]]:
    streams = Streams()
    connection = await start_server(streams, *servers)
    try:
        yield streams, connection
    finally:
        await connection.aclose()


async def until(reached: Any) -> None:
    async with asyncio.timeout(5):
        while not reached():
            await asyncio.sleep(0)


async def test_a_request_needs_no_handshake_and_both_eras_share_a_stream() -> None:
    old, new = Old(), New()
    async with serving(old, new) as (streams, connection):
        streams.deliver(streams, id="m1", **call())
        await until(lambda: new.seen)
        await shake_hands(streams, "2025-11-25")
        streams.deliver(streams, id=1, method="tools/call", params={"name": "wait"})
        streams.deliver(streams, id="m2", **call())
        await until(lambda: old.seen and len(new.seen) == 2)
        assert (old.seen[0].revision, new.seen[0].revision) == ("2025-11-25", MODERN)
        assert connection.open_requests == 3
        old.gate.set()
        new.gate.set()
        for id_ in ("m1", 1, "m2"):
            assert "result" in await answer(streams, id_)


@pytest.mark.requirement("alone.channel-lost")
async def test_losing_a_channel_cancels_only_modern_work() -> None:
    old, new = Old(), New()
    async with serving(old, new) as (streams, connection):
        await shake_hands(streams, "2025-11-25")
        modern, legacy = post(streams, id=1, **call()), post(
            streams, id=2, method="tools/call", params={"name": "wait"}
        )
        kept = post(streams, id=1, **call())
        await until(lambda: old.seen and len(new.seen) == 2)
        for channel in (modern, legacy):
            streams.receiver.channel_lost(channel, None)
        await until(lambda: new.ended)
        assert new.ended == ["the peer closed the channel of the request"] and modern.got == []
        old.gate.set()
        new.gate.set()
        await until(lambda: old.ended)
        assert old.ended == ["went on"] and "result" in await answer(kept, 1)
        assert connection.open_requests == 0


@pytest.mark.requirement("alone.cancel-races", "alone.cancel-silence")
async def test_ids_belong_to_their_channel() -> None:
    new = New()
    async with serving(new) as (streams, _):
        one, two = post(streams, id=1, **call()), post(streams, id=1, **call())
        await until(lambda: len(new.seen) == 2)
        assert streams.deliver(one, id=1, **call()).verdict is Verdict.REJECTED
        assert [(m.get("id"), m["error"]["code"]) for m in one.got] == [(None, -32600)]
        cancel = {"method": "notifications/cancelled", "params": {"requestId": 1, "reason": "enough", "_meta": meta()}}
        assert streams.deliver(Stream(), **cancel).is_accepted
        await asyncio.sleep(0)
        assert new.ended == [], "a notification on another channel is about nothing"
        assert streams.deliver(two, **cancel).is_accepted
        await until(lambda: new.ended)
        new.gate.set()
        assert "result" in await answer(one, 1)
        assert new.ended == ["enough", "went on"] and two.got == []


@pytest.mark.parametrize("params", [{}, {"params": {"requestId": [1]}}])
async def test_a_cancellation_of_nothing_is_harmless(params: dict[str, Any]) -> None:
    new = New()
    async with serving(new) as (streams, _):
        channel = post(streams, id=1, **call())
        await until(lambda: new.seen)
        streams.deliver(channel, method="notifications/cancelled", **params)
        new.gate.set()
        assert "result" in await answer(channel, 1) and new.ended == ["went on"]


@pytest.mark.requirement("alone.progress-asked", "alone.logs-asked")
async def test_reports_and_logs_are_sent_before_the_answer_only() -> None:
    async with serving(New()) as (streams, _):
        wanting = post(streams, id=1, **call("report", {**meta(logLevel="debug"), "progressToken": "t"}))
        silent = post(streams, id=2, **call("report"))
        assert "result" in await answer(wanting, 1) and "result" in await answer(silent, 2)
        await asyncio.sleep(0.02)
        assert [m.get("method") for m in wanting.got] == ["notifications/progress", "notifications/message", None]
        assert len(silent.got) == 1 and streams.got == []


@pytest.mark.requirement("modern.meta-required", "alone.logs-level")
@pytest.mark.parametrize(
    ("said", "code", "reason"),
    [
        (meta("2099-01-01"), -32022, "not supported"),
        (meta(7), -32602, "protocolVersion: must be a string"),
        (meta(clientCapabilities=None), -32602, "clientCapabilities: must be an object"),
        (meta(clientInfo=[]), -32602, "clientInfo: must be an object"),
        (meta(logLevel="loud"), -32602, "logLevel: must be one of debug"),
    ],
)
async def test_the_sender_information_is_checked(said: Any, code: int, reason: str) -> None:
    async with serving(own(New())) as (streams, connection):
        channel = Stream()
        outcome = streams.deliver(channel, id=1, **call("wait", said))
        assert outcome.verdict is Verdict.REJECTED and outcome.code == code
        error = (await answer(channel, 1))["error"]
        assert error["code"] == code and reason in error["message"]
        if code == -32022:
            assert error["data"] == {"supported": [MODERN], "requested": "2099-01-01"}
        assert connection.open_requests == 0


@pytest.mark.requirement("modern.missing-capability")
async def test_a_capability_that_the_client_lacks_has_a_code() -> None:
    async with serving(New()) as (streams, _):
        error = (await answer(post(streams, id=1, **call("needs a form")), 1))["error"]
        assert error["code"] == -32021
        assert error["data"] == {"requiredCapabilities": {"elicitation": {"form": {}}}}
        # Reading the error as the generated bindings declare it shows that the data has the form that they want.
        v2026_07_28.MissingRequiredClientCapabilityErrorErrorData.model_validate(error["data"])


@pytest.mark.requirement("modern.no-server-requests", "listening.only-listening")
async def test_a_server_sends_no_requests_in_the_modern_era() -> None:
    new = New()
    async with serving(new) as (streams, connection):
        assert (await answer(post(streams, id=1, **call("ask")), 1))["error"]["code"] == -32603
        assert streams.got == [] and connection.open_requests == 0


async def test_a_modern_server_ignores_answers() -> None:
    async with serving(New()) as (streams, _):
        assert streams.deliver(Stream(), id=1, result={}).verdict is Verdict.REJECTED


class Known(Stream):
    """A channel whose transport authenticates its peer."""

    def __init__(self, principal: str, **headers: str) -> None:
        super().__init__()
        self.principal = Principal(principal)
        self.headers = headers


async def test_senders_with_long_information_are_not_remembered() -> None:
    new = New()
    new.gate.set()
    async with serving(new) as (streams, _):
        for name in ("n", "n" * handshake.MAX_SHARED_LENGTH):
            for said in (name, "another", name):
                channel = post(streams, id=1, **call("wait", meta(clientInfo={"name": said, "version": "1"})))
                await answer(channel, 1)
    assert new.seen[0] is new.seen[2]
    assert new.seen[3] is not new.seen[5]


@pytest.mark.requirement("modern.stateless")
async def test_requests_of_the_same_sender_share_a_requester(monkeypatch: pytest.MonkeyPatch) -> None:
    new = New()
    new.gate.set()
    async with serving(new) as (streams, _):

        async def requester(channel: Stream, _meta: Any) -> Requester:
            streams.deliver(channel, id=1, **call("wait", _meta))
            await answer(channel, 1)
            return new.seen[-1]

        first = await requester(Stream(), meta())
        assert first is await requester(Stream(), {**meta(), "progressToken": "other", "traceparent": "00-1"})
        ada = await requester(Known("ada"), meta())
        assert (ada.principal, ada.headers) == ("ada", {})
        others = [
            await requester(Known("ada", origin="x"), meta()),
            await requester(Known("bob"), meta()),
            await requester(Stream(), meta(logLevel="info")),
            await requester(Stream(), meta(clientCapabilities={"elicitation": {}})),
            await requester(Stream(), meta(clientInfo={"name": "n", "version": "1"})),
        ]
        assert len({id(each) for each in (first, ada, *others)}) == 7
        assert ada is await requester(Known("ada"), meta())
        monkeypatch.setattr(handshake, "MAX_SHARED", 2)
        await requester(Known("eve"), meta())
        assert ada is await requester(Known("ada"), meta())
        assert first is not await requester(Stream(), meta())


async def test_a_rate_limit_is_that_of_a_principal() -> None:
    class Limited(New):
        options = ServerOptions(middleware=(RateLimit(rate=0.001, burst=2, methods=["tools/call"]),))

    new = Limited()
    new.gate.set()
    async with serving(new) as (streams, _):

        async def code(channel: Stream) -> int:
            streams.deliver(channel, id=1, **call())
            return int((await answer(channel, 1)).get("error", {}).get("code", 0))

        assert [await code(Known("ada", a=str(number))) for number in range(3)] == [0, 0, 429]
        assert [await code(Known("bob")), await code(Stream())] == [0, 0]


async def test_ids_of_both_eras_share_one_table() -> None:
    """On one stream the id alone matches an answer, so an id open in one era cannot be used in the other."""
    old, new = Old(), New()
    async with serving(old, new) as (streams, _):
        await shake_hands(streams, "2025-11-25")
        streams.deliver(streams, id=1, method="tools/call", params={"name": "wait"})
        streams.deliver(streams, id=2, **call())
        await until(lambda: old.seen and new.seen)
        assert not streams.deliver(streams, id=1, **call()).is_accepted
        assert not streams.deliver(streams, id=2, method="tools/call", params={"name": "wait"}).is_accepted
        assert [(m["error"]["code"], "id" in m) for m in streams.got if "error" in m] == [(-32600, False)] * 2
        assert streams.deliver(Stream(), id=1, **call()).is_accepted, "another channel has ids of its own"
        for id_, ended in ((1, old.ended), (2, new.ended)):
            streams.deliver(streams, method="notifications/cancelled", params={"requestId": id_, "reason": f"no {id_}"})
            while not ended:
                await asyncio.sleep(0)
        assert (old.ended, new.ended) == (["no 1"], ["no 2"])


@pytest.mark.requirement("modern.meta-required")
async def test_a_request_of_neither_era_gets_advice_on_how_to_begin() -> None:
    async with serving(Old(), New()) as (streams, _):
        streams.deliver(streams, id=1, method="tools/call", params={"name": "wait"})
        error = (await answer(streams, 1))["error"]
        assert error == {
            "code": -32602,
            "message": f"say in _meta of each request that it is of {MODERN} ({PREFIX}protocolVersion), "
            "or begin a session with initialize (2025-11-25)",
            "data": {"pointer": "/_meta/io.modelcontextprotocol~1protocolVersion"},
        }
        streams.deliver(streams, id=2, method="ping")
        assert (await answer(streams, 2))["result"] == {}
        streams.deliver(streams, id=3, **call("wait", {f"{PREFIX}clientCapabilities": {}}))
        assert (await answer(streams, 3))["error"]["code"] == -32602


@pytest.mark.requirement("modern.initialize-refused")
async def test_a_server_of_the_modern_era_alone_has_no_sessions() -> None:
    async with serving(own(New())) as (streams, _):
        await fail_to_shake_hands(streams)
        streams.deliver(streams, id=2, method="ping")
        assert (await answer(streams, 2))["error"]["code"] == -32602


async def fail_to_shake_hands(streams: Streams) -> None:
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "n", "version": "1"}}
    streams.deliver(streams, id=1, method="initialize", params=params)
    assert (await answer(streams, 1))["error"] == {
        "code": -32022,
        "message": f"this protocol version is not supported; this server speaks {MODERN}",
        "data": {"supported": [MODERN], "requested": "2025-11-25"},
    }


@pytest.mark.requirement("modern.unsupported-version", "modern.discover")
async def test_a_modern_request_in_a_legacy_revision_gets_the_supported_revisions() -> None:
    async with serving(Old(), New()) as (streams, _):
        error = (await answer(post(streams, id=1, **call("wait", meta("2025-11-25"))), 1))["error"]
        assert (error["code"], error["data"]) == (
            -32022,
            {"supported": ["2025-11-25", MODERN], "requested": "2025-11-25"},
        )
        found = (await answer(post(streams, id=1, method="server/discover", params={"_meta": meta()}), 1))["result"]
        assert found["supportedVersions"] == ["2025-11-25", MODERN]
        v2026_07_28.DiscoverResult.model_validate(found)
