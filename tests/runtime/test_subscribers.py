"""Subscribers: their number is limited, and none delays another."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager

import pytest

from mcp_bindings import v2025_11_25 as v
from mcp_runtime.core.changes.listeners import MAX_PENDING, MAX_URI
from mcp_runtime.core.changes.subscriptions import MAX_SUBSCRIPTIONS, list_changed, resource_updated
from mcp_runtime.core.errors import MissingCapability
from mcp_runtime.core.settings import ServerOptions
from support.talk import Raw, raw

pytestmark = pytest.mark.usefixtures("virtual_time")


class Library(v.Server):
    """Has resources that change."""

    options = ServerOptions(name="library", list_changed=True)

    async def list_resources(self, params: v.PaginatedRequestParams | None, ctx: v.Context) -> v.ListResourcesResult:
        return v.ListResourcesResult(resources=[])

    async def subscribe(self, params: v.SubscribeRequestParams, ctx: v.Context) -> v.EmptyResult:
        return v.EmptyResult()

    async def unsubscribe(self, params: v.UnsubscribeRequestParams, ctx: v.Context) -> v.EmptyResult:
        return v.EmptyResult()


@asynccontextmanager
async def subscribed(server: v.Server, uri: str = "file:///a") -> AsyncGenerator[Raw]:
    async with raw(server) as peer:
        await peer.shake_hands("2025-11-25")
        assert "result" in await peer.ask("resources/subscribe", {"uri": uri}, "subscribe")
        peer.got.clear()
        yield peer


async def test_subscriptions_are_limited() -> None:
    async with subscribed(Library()) as peer:
        for number in range(MAX_SUBSCRIPTIONS):
            peer.tell(id=number, method="resources/subscribe", params={"uri": f"file:///{number}"})
        answers = [await peer.answer(number) for number in (0, MAX_SUBSCRIPTIONS - 2, MAX_SUBSCRIPTIONS - 1)]
        assert ["error" in answer for answer in answers] == [False, False, True]
        again = await peer.ask("resources/subscribe", {"uri": "file:///a"}, "again")
        await peer.ask("resources/unsubscribe", {"uri": "file:///0"}, "less")
        more = await peer.ask("resources/subscribe", {"uri": "file:///more"}, "more")
        assert "result" in again and "result" in more


async def test_a_long_uri_is_refused() -> None:
    async with subscribed(Library()) as peer:
        answer = await peer.ask("resources/subscribe", {"uri": f"file:///{'x' * MAX_URI}"})
        assert answer["error"]["data"] == {"pointer": "/uri"}


async def test_a_slow_subscriber_delays_no_other_and_gets_each_change_once() -> None:
    server = Library()
    async with AsyncExitStack() as stack:
        deaf, *others = [await stack.enter_async_context(subscribed(server)) for _ in range(4)]
        deaf.transport.pause_reading()
        updates = 3_000
        async with asyncio.timeout(20):
            for number in range(updates):
                assert await resource_updated(server, f"file:///a/{number % 1_500}") == 4
            assert await list_changed(server, "resources") == 4
        for peer in others:
            assert len(peer.got) == updates + 1
        deaf.transport.resume_reading()
        await asyncio.sleep(0.05)
        # A change that waited here was sent once; what was already on its way arrived twice.
        assert 1_500 < len(deaf.got) < updates
        assert {m["params"]["uri"] for m in deaf.got[:-1]} == {f"file:///a/{number}" for number in range(1_500)}
        assert deaf.got[-1]["method"] == "notifications/resources/list_changed"


async def test_waiting_changes_for_a_slow_subscriber_are_limited() -> None:
    server = Library()
    async with subscribed(server) as peer:
        peer.transport.pause_reading()
        for number in range(MAX_PENDING + 3_000):
            await resource_updated(server, f"file:///a/{number}")
        peer.transport.resume_reading()
        await asyncio.sleep(0.1)
        assert MAX_PENDING < len(peer.got) < MAX_PENDING + 2_000
        assert peer.got[-1]["params"]["uri"] == f"file:///a/{MAX_PENDING + 2_999}"


async def test_a_mistake_of_the_author_is_raised() -> None:
    class Silent(Library):
        options = ServerOptions(name="silent")

    server = Silent()
    async with subscribed(server):
        with pytest.raises(MissingCapability, match=r"resources\.listChanged"):
            await list_changed(server, "resources")
