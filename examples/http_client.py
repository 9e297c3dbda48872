"""Calls the tool `sum` of a server over HTTP: `python http_client.py URL [CERTIFICATES]`."""

import asyncio
import ssl
import sys

import httpx2

from mcp_bindings.v2025_11_25 import Client
from mcp_runtime.transports.http import connect_http


async def main(url: str, certificates: str | None) -> None:
    # Without certificates of one's own, connect_http(url) will do.
    context = ssl.create_default_context(cafile=certificates)
    async with httpx2.AsyncClient(verify=context, timeout=30) as http, connect_http(url, http=http) as peer:
        client = await Client.open(peer)
        result = await client.call_tool(name="sum", arguments={"a": 2, "b": 3.5})
        print(result.structured_content)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None))
