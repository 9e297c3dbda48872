"""Importing this plays a session in each revision: processes that are forked afterwards find its models built."""

import asyncio

from interop.our_client import play
from interop.our_server import Everything, servers
from mcp_runtime.memory import connect_memory
from support.own import own


async def _talk(server: Everything) -> None:
    async with connect_memory(own(server)) as peer:
        async for _ in play(server.revision, peer):
            pass


async def _talk_in_all() -> None:
    await asyncio.gather(*map(_talk, servers()))


asyncio.run(_talk_in_all())
