"""Notifications: by handlers, by streams, to subscribers."""

import pytest

from mcp_bindings import v2025_11_25 as v
from mcp_bindings.v2025_11_25 import methods
from mcp_runtime.errors import MissingCapability, PeerError
from mcp_runtime.features.subscriptions import list_changed, resource_updated
from support.talk import talk
from support.tools_server import Host, Tools

pytestmark = pytest.mark.usefixtures("virtual_time")


class Files(Tools):
    """Lets clients watch anything but one file."""

    async def subscribe(self, params: v.SubscribeRequestParams, ctx: v.Context) -> v.EmptyResult:
        if params.uri == "file:///no":
            raise PeerError(-32002, "not found")
        return v.EmptyResult()


async def test_log_messages_by_handler_and_stream() -> None:
    host = Host()
    async with talk(Tools(), handlers=host) as both:
        stream = both.client.notifications(methods.NOTIFICATIONS_MESSAGE, limit=2)
        await both.client.call_tool(name="log")
        await both.client.set_level(level="warning")
        await both.client.call_tool(name="log")
        await both.client.ping()
        assert host.logged == [("info", {"a": 1}), ("error", "text"), ("error", "text")]
        assert [message.data for message in (await stream.next(), await stream.next()) if message] == ["text", "text"]
        assert stream.dropped == 1
        with pytest.raises(TimeoutError):
            await stream.next(timeout=0.01)


async def test_changed_lists() -> None:
    server = Tools()
    async with talk(server) as both:
        stream = both.client.notifications(methods.NOTIFICATIONS_TOOLS_LIST_CHANGED)
        assert await list_changed(server, "tools") == 1
        assert await stream.next(timeout=1) is None
        with pytest.raises(MissingCapability, match="prompts"):
            await list_changed(server, "prompts")


async def test_updates_go_to_subscribers_only() -> None:
    server = Files()
    async with talk(server) as both, talk(server) as other:
        stream = both.client.notifications(methods.NOTIFICATIONS_RESOURCES_UPDATED)
        await both.client.subscribe(uri="file:///a")
        with pytest.raises(PeerError):
            await both.client.subscribe(uri="file:///no")
        counts = [await resource_updated(server, f"file:///{name}") for name in ("a", "a/b", "ab", "no", "")]
        assert counts == [1, 1, 0, 0, 0]
        updated = [await stream.next(timeout=1) for _ in range(2)]
        assert [params.uri for params in updated if params] == ["file:///a", "file:///a/b"]
        await both.client.unsubscribe(uri="file:///a")
        assert await resource_updated(server, "file:///a") == 0
        await other.client.subscribe(uri="file:///a")
    assert await resource_updated(server, "file:///a") == 0
