"""Notifications: by handlers, by streams, to subscribers."""

import pytest

from mcp_bindings.v2025_11_25 import methods
from support.talk import talk
from support.tools_server import Host, Tools

pytestmark = pytest.mark.usefixtures("virtual_time")


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
