"""A client written with the official SDK, of either generation, whose connection is cut and whose server is restarted.

    python sdk_unlucky_client.py REVISION URL

Reports its progress in lines of JSON, and continues when it reads a line: the test cuts the connection.
"""

import json
import sys
import warnings
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import sdk
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client

URI = "memo://readme"


def say(**what: Any) -> None:
    """Print the outcome of a step."""
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


class Client:
    """One session, and the resources that it was notified of."""

    def __init__(self, session: ClientSession, updated: list[str]) -> None:
        self._server = sdk.Server(session)
        self._updated = updated

    async def call(self, name: str, arguments: sdk.Json, progress: Any = None) -> str:
        """Call a tool; returns its text, or the error."""
        try:
            with anyio.fail_after(40):
                params = {"name": name, "arguments": arguments}
                answer = await self._server.request("tools/call", params, progress_callback=progress)
        except Exception as failure:
            return f"failed: {failure}"
        return str(answer["content"][0]["text"])

    async def hear(self) -> list[str]:
        """Subscribe to a resource and let it change; returns what it was notified of, each once.

        It opens its stream for such notifications in the background, so the first change may be too early.
        """
        await self._server.request("resources/subscribe", {"uri": URI})
        with anyio.move_on_after(40):
            while not self._updated:
                await self.call("touch", {"uri": URI})
                with anyio.move_on_after(1):
                    while not self._updated:
                        await anyio.sleep(0.02)
        return sorted(set(self._updated))


@asynccontextmanager
async def connect(url: str) -> AsyncIterator[Client]:
    """Start a session."""
    updated: list[str] = []

    async def take(item: Any) -> None:
        if (heard := sdk.heard(item)) and heard[0] == "notifications/resources/updated":
            updated.append(heard[1]["uri"])

    async with (
        streamable_http_client(url) as (reading, writing, *_),
        ClientSession(reading, writing, message_handler=take) as session,
    ):
        await session.initialize()
        yield Client(session, updated)


async def main() -> None:
    """Go through a cut and a restart."""
    warnings.simplefilter("ignore")  # 2.x warns of every feature that the modern revision dropped.
    sdk.ask_for(sys.argv[1])
    url = sys.argv[2]

    async def begun(*_: Any) -> None:
        say(begun=True)

    async with connect(url) as client:
        say(heard=await client.hear())
        say(cut=await client.call("slowly", {"seconds": 1}, begun))
        await anyio.to_thread.run_sync(sys.stdin.readline)
        say(restarted=await client.call("add", {"a": 1, "b": 2}))
    async with connect(url) as client:
        say(again=await client.hear())


anyio.run(main)
