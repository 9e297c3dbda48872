"""What a client of the official SDK, of either generation, gets when it lists everything: one line of JSON.

python sdk_listing.py REVISION COMMAND [ARGUMENT ...]
"""

import asyncio
import json
import os
import sys
import warnings
from typing import Any

import sdk
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

LISTS = {"tools": "tools/list", "resources": "resources/list", "prompts": "prompts/list"}


async def answer(*_: Any) -> Any:
    """Refuse every request of the server; the SDK declares a capability if a callback is given."""
    raise RuntimeError("not answered")


async def pages(server: sdk.Server, method: str, member: str) -> list[Any]:
    """Return everything that a server lists."""
    found: list[Any] = []
    params = None
    while True:
        page = await server.request(method, params)
        found += page[member]
        if "nextCursor" not in page:
            return found
        params = {"cursor": page["nextCursor"]}


async def main() -> None:
    """Print what the client gets."""
    warnings.simplefilter("ignore")
    revision, command, *arguments = sys.argv[1:]
    sdk.ask_for(revision)
    parameters = StdioServerParameters(command=command, args=arguments, env=dict(os.environ))
    async with (
        stdio_client(parameters) as (reading, writing),
        ClientSession(
            reading,
            writing,
            sampling_callback=answer,
            sampling_capabilities=sdk.types.SamplingCapability(
                tools=sdk.types.SamplingToolsCapability(), context=sdk.types.SamplingContextCapability()
            ),
            elicitation_callback=answer,
            list_roots_callback=answer,
        ) as session,
    ):
        said = sdk.plain(await session.initialize())
        server = sdk.Server(session)
        lists = {
            name: await pages(server, method, name) for name, method in LISTS.items() if name in said["capabilities"]
        }
        seen = {
            "revision": said["protocolVersion"],
            "info": said["serverInfo"],
            "capabilities": said["capabilities"],
            "instructions": said.get("instructions"),
        }
        print(json.dumps({**seen, **lists}), flush=True)
        # 1.x sometimes fails while closing if the server is still sending.
        os._exit(0)


asyncio.run(main())
