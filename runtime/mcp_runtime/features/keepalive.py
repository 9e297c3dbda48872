"""Keep-alive (basic/utilities/ping): pings silent peers."""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from mcp_runtime.connection.connection import Connection
from mcp_runtime.errors import ConnectionClosed, McpError
from mcp_runtime.method import RequestMethod
from mcp_runtime.options import CallOptions
from mcp_runtime.protocol.names import PING


@dataclass(frozen=True, slots=True)
class KeepAlive:
    """Pings a peer that is silent (`Limits.ping_interval`), and closes the connection if it does not answer."""

    def declares(self, connection: Connection, declared: Mapping[str, Any]) -> Iterable[str]:
        """Declare nothing: every peer answers pings."""
        return ()

    def install(self, connection: Connection) -> None:
        """Start watching the peer, if pings are enabled."""
        interval = connection.settings.ping_interval
        if interval is not None:
            connection.spawn(_watch(connection, interval, connection.settings.ping_timeout))


async def _watch(connection: Connection, interval: float, timeout: float) -> None:
    method = connection.requester.method(PING)
    if not isinstance(method, RequestMethod):
        return
    loop = asyncio.get_running_loop()
    while True:
        silent = loop.time() - connection.last_activity
        if silent < interval:
            await asyncio.sleep(interval - silent)
        elif await _answers(connection, method, timeout):
            # An answer counts as activity; a ping that middleware refused proves nothing.
            await asyncio.sleep(interval if loop.time() - connection.last_activity >= interval else 0)
        elif loop.time() - connection.last_activity >= timeout:
            reason = f"the peer was silent for {interval:g} s and did not answer a ping within {timeout:g} s"
            # In a separate task: closing waits for everything that the connection started, including this one.
            _closing.add(closing := loop.create_task(connection.aclose(reason)))
            closing.add_done_callback(_closing.discard)
            return


async def _answers(connection: Connection, method: "RequestMethod[object, object]", timeout: float) -> bool:
    """Ping once; return whether the peer may be alive: an error is an answer as well."""
    try:
        # A separate timeout: a peer that does not read may keep the ping from being sent.
        async with asyncio.timeout(timeout):
            await connection.request(method, None, CallOptions(timeout=2 * timeout))
    except (TimeoutError, ConnectionClosed):
        return False
    except McpError:
        return True
    return True


_closing: set["asyncio.Task[None]"] = set()
"""Connections that are being closed: the event loop itself holds tasks only weakly."""
