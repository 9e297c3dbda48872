"""The `_meta` of a call: what the program passes, and what every request must carry."""

from typing import Any

import pytest
from pydantic import BaseModel

from mcp_bindings import v2026_07_28 as modern
from mcp_runtime.core.connection import Connection
from mcp_runtime.core.connection.calls import Proceed
from mcp_runtime.core.connection.connection import Exchange
from mcp_runtime.core.errors import LocalProtocolError
from mcp_runtime.core.settings import ClientOptions
from mcp_runtime.core.stub import Caller, CallOptions
from mcp_runtime.extensions.vendor import send_request, vendor_request
from support.roles import make_server
from support.samples import REVISIONS
from support.talk import LEGACY, bindings
from support.together import together

MODERN = "2026-07-28"
PREFIX = "io.modelcontextprotocol/"
WITH_META = [revision for revision in REVISIONS if revision >= "2025-06-18"]


def ignore(progress: float, total: float | None, message: str | None) -> None:
    """Ignore a report."""


async def arrived(revision: str, meta: Any, **options: Any) -> dict[str, Any]:
    """Call a tool, and return the `_meta` that its handler receives."""
    seen: list[dict[str, Any]] = []

    async def call_tool(self: Any, params: Any, ctx: Any) -> Any:
        seen.append(dict(ctx.meta))
        return bindings(revision).CallToolResult(content=[])

    server = make_server(revision, call_tool=call_tool)
    async with together(bindings(revision).Client, server, options=ClientOptions(name="me", version="1")) as client:
        await client.call_tool(name="x", meta=meta, options=CallOptions(**options))
    return seen[0]


EVERY = {
    f"{PREFIX}protocolVersion": MODERN,
    f"{PREFIX}clientInfo": {"name": "me", "version": "1"},
    f"{PREFIX}clientCapabilities": {},
}
"""The sender information of every modern request."""


@pytest.mark.requirement("modern.meta-sent", "modern.client-info")
async def test_required_metadata_is_added_automatically() -> None:
    assert await arrived(MODERN, None) == EVERY


async def test_passed_metadata_is_merged() -> None:
    assert await arrived(MODERN, {"traceparent": "00-1", f"{PREFIX}logLevel": "info"}) == {
        **EVERY,
        "traceparent": "00-1",
        f"{PREFIX}logLevel": "info",
    }


async def test_a_request_may_override_the_sender_information() -> None:
    """Requests are independent: other capabilities may be relevant to one (2026-07-28, basic/index)."""
    other: dict[str, Any] = {"clientInfo": {"name": "other", "version": "2"}, "clientCapabilities": {"sampling": {}}}
    said = {f"{PREFIX}{name}": value for name, value in other.items()}
    assert await arrived(MODERN, said) == {**EVERY, **said}
    as_object = modern.RequestMetaObject.model_validate({**EVERY, **said})
    assert await arrived(MODERN, as_object) == {**EVERY, **said}


async def test_a_request_cannot_override_the_revision() -> None:
    assert await arrived(MODERN, {f"{PREFIX}protocolVersion": MODERN}) == EVERY
    with pytest.raises(LocalProtocolError, match="2025-11-25 is not the revision in use; open a client of") as caught:
        await arrived(MODERN, {f"{PREFIX}protocolVersion": "2025-11-25"})
    assert caught.value.pointer == "/_meta/io.modelcontextprotocol~1protocolVersion"


async def test_passed_metadata_is_checked() -> None:
    with pytest.raises(ValueError, match="logLevel"):
        await arrived(MODERN, {f"{PREFIX}logLevel": "loud"})


@pytest.mark.parametrize("revision", [LEGACY[0], LEGACY[-1], MODERN])
async def test_a_progress_token_is_added_to_the_metadata(revision: str) -> None:
    passed = {"x": 1} if revision in WITH_META else None
    meta = await arrived(revision, passed, progress=ignore)
    assert isinstance(meta.pop("progressToken"), int)
    every = {} if revision in LEGACY else {**EVERY, f"{PREFIX}protocolVersion": revision}
    assert meta == {**every, **(passed or {})}


@pytest.mark.parametrize("revision", [LEGACY[-1], MODERN])
async def test_progress_tokens_are_unique(revision: str) -> None:
    """A gateway forwards params unchanged, with a token that other clients may have chosen as well."""
    assert (await arrived(revision, {"progressToken": "mine"}))["progressToken"] == "mine"
    assert isinstance((await arrived(revision, {"progressToken": "mine"}, progress=ignore))["progressToken"], int)


async def test_middleware_changes_one_call_only() -> None:
    seen: list[Any] = []

    async def call_tool(self: Any, params: Any, ctx: Any) -> Any:
        seen.append(ctx.meta.get("acme/call"))
        return modern.CallToolResult(content=[])

    async def add(exchange: Exchange, proceed: Proceed) -> Any:
        if exchange.method.name == "tools/call" and len(seen) == 1:
            setattr(exchange.params.meta, "acme/call", "second")
        return await proceed()

    server = make_server(MODERN, call_tool=call_tool)
    async with together(modern.Client, server, options=ClientOptions(middleware=(add,))) as client:
        for _ in range(3):
            await client.call_tool(name="x")
    assert seen == [None, "second", None]


async def test_code_that_sends_a_call_again_changes_that_one_only() -> None:
    seen: list[Any] = []

    async def call_tool(self: Any, params: Any, ctx: Any) -> Any:
        seen.append(ctx.meta.get("acme/call"))
        return modern.InputRequiredResult(request_state="s") if len(seen) == 1 else modern.CallToolResult(content=[])

    async def resume(asked: Any, call: Any) -> Any:
        setattr(call.params.meta, "acme/call", "again")
        return await call.again(call.params)

    async with together(modern.Client, make_server(MODERN, call_tool=call_tool)) as client:
        results, method = client.connection.results, modern.methods.TOOLS_CALL
        results.accept(method, "input_required", modern.InputRequiredResult, resume)
        for _ in range(2):
            await client.call_tool(name="x")
    assert seen == [None, "again", None]


class Marking(Caller):
    """A caller that adds something to the `_meta` of each request, and otherwise is the connection that it wraps."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    @property
    def connection(self) -> Connection:
        return self._connection

    def request_meta(self) -> dict[str, Any]:
        return {**self._connection.request_meta(), "acme/call": "marked"}

    async def request(self, method: Any, params: Any, options: Any) -> Any:
        return await self._connection.request(method, params, options)

    async def request_as(self, method: Any, params: Any, result: Any, options: Any) -> Any:
        return await self._connection.request_as(method, params, result, options)

    async def notify(self, method: Any, params: Any) -> None:
        await self._connection.notify(method, params)


async def test_a_caller_adds_metadata_to_every_request() -> None:
    seen: list[Any] = []

    async def call_tool(self: Any, params: Any, ctx: Any) -> Any:
        seen.append(ctx.meta.get("acme/call"))
        return modern.CallToolResult(content=[])

    async with together(modern.Client, make_server(MODERN, call_tool=call_tool)) as client:
        marking = modern.Client(Marking(client.connection))
        for each in (client, marking, marking, client):
            await each.call_tool(name="x")
    assert seen == [None, "marked", "marked", None]


class Order(BaseModel):
    """Params of a vendor."""

    dish: str


@pytest.mark.requirement("modern.meta-sent")
@pytest.mark.parametrize("params", [Order(dish="soup"), {"dish": "soup", "_meta": {"acme/x": 1}}])
async def test_vendor_requests_carry_the_metadata_too(params: Any) -> None:
    seen: list[Any] = []

    class Kitchen(modern.Server):
        def connected(self, connection: Connection) -> None:
            connection.handle(vendor_request("acme/order", Order, dict[str, Any]), self.order)

        async def order(self, params: Order, ctx: modern.Context) -> dict[str, str]:
            seen.append((params, dict(ctx.meta)))
            return {"bill": "4.50"}

    options = ClientOptions(name="me", version="1")
    async with together(modern.Client, Kitchen(), options=options) as client:
        order = vendor_request("acme/order", Order, dict[str, Any])
        assert (await send_request(client.connection, order, params))["bill"] == "4.50"
    more = {"acme/x": 1} if isinstance(params, dict) else {}
    assert seen == [(Order(dish="soup"), {**EVERY, **more})]
