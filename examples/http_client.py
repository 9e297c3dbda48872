"""Calls the tool `sum` of a server over HTTP: `python http_client.py URL [CERTIFICATES]`."""

import argparse
import asyncio
import ssl

import httpx2

from mcp_bindings import Client, McpError, connect_http


async def main(url: str, certificates: str | None) -> None:
    # Without custom certificates, connect_http(url) is enough.
    context = ssl.create_default_context(cafile=certificates)
    async with httpx2.AsyncClient(verify=context, timeout=30) as http, connect_http(url, http=http) as peer:
        client = await Client.open(peer)
        result = await client.call_tool("sum", {"a": 2, "b": 3.5})
        print(result.structured_content)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url")
    parser.add_argument("certificates", nargs="?")
    given = parser.parse_args()
    if not given.url.startswith(("http://", "https://")):
        parser.error(f"{given.url} is not an HTTP URL")
    try:
        asyncio.run(main(**vars(given)))
    except (McpError, OSError, ValueError) as error:
        parser.exit(2, f"{parser.prog}: error: {error}\n")
