"""A client of 2024-11-05 that talks to a server of 2025-11-25 through the gateway; with `new` the other way round.

python examples/gateway_client.py [new]
"""

import argparse
import asyncio
import sys
from pathlib import Path

from mcp_bindings import CallOptions, connect_stdio, v2024_11_05, v2025_11_25

HERE = Path(__file__).parent


class OldModel(v2024_11_05.ClientHandlers):
    async def create_message(
        self, params: v2024_11_05.CreateMessageRequestParams, ctx: v2024_11_05.ClientContext
    ) -> v2024_11_05.CreateMessageResult:
        answer = v2024_11_05.TextContent(text="tea")
        return v2024_11_05.CreateMessageResult(role="assistant", model="old model", content=answer)


class NewModel(v2025_11_25.ClientHandlers):
    async def create_message(
        self, params: v2025_11_25.CreateMessageRequestParams, ctx: v2025_11_25.ClientContext
    ) -> v2025_11_25.CreateMessageResult:
        sound = v2025_11_25.AudioContent(data="AAAA", mime_type="audio/wav")
        return v2025_11_25.CreateMessageResult(role="assistant", model="new model", content=[sound, sound])


def progress(done: float, total: float | None, message: str | None) -> None:
    print("progress:", done, total, message)


async def ask(client: v2024_11_05.Client | v2025_11_25.Client) -> None:
    print("the client speaks", client.connection.revision, "with", client.connection.peer_info["name"])
    if isinstance(client, v2025_11_25.Client):
        new = v2025_11_25.CallToolRequestParams.model_validate({"name": "say", "x-vendor": [1]})
        found = await client.connection.request(v2025_11_25.methods.TOOLS_CALL, new, None)
        print(found.model_dump_json())
    else:
        old = v2024_11_05.CallToolRequestParams.model_validate({"name": "say", "x-vendor": [1]})
        options = CallOptions(progress=progress)
        result = await client.connection.request(v2024_11_05.methods.TOOLS_CALL, old, options)
        print(result.model_dump_json())


async def main(*, is_new: bool) -> None:
    server = [str(HERE / "gateway_server.py"), *(["old"] if is_new else [])]
    async with connect_stdio(sys.executable, HERE / "gateway_proxy.py", sys.executable, *server) as peer:
        if is_new:
            await ask(await v2025_11_25.Client.open(peer, handlers=NewModel()))
        else:
            await ask(await v2024_11_05.Client.open(peer, handlers=OldModel()))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("direction", nargs="?", choices=("old", "new"), default="old")
    asyncio.run(main(is_new=parser.parse_args().direction == "new"))
