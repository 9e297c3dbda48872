"""A client that opens a web page for its server, once the user at the terminal has seen the URL and agreed.

Run it in a terminal: python examples/visit_client.py
"""

import argparse
import asyncio
import sys
import webbrowser
from pathlib import Path

from terminal import ask

from mcp_bindings import (
    Client,
    ClientContext,
    ClientHandlers,
    ClientOptions,
    ElicitRequestParams,
    ElicitRequestURLParams,
    ElicitResult,
    TextContent,
    connect_stdio,
)
from mcp_runtime.client_features import inspect_url

SERVER = Path(__file__).with_name("visit_server.py")


class Person(ClientHandlers):
    async def elicit(self, params: ElicitRequestParams, ctx: ClientContext) -> ElicitResult:
        if not isinstance(params, ElicitRequestURLParams):
            return ElicitResult(action="decline")
        view = inspect_url(params.url)
        warnings = "".join(f"\n  careful: {warning}" for warning in view.warnings)
        who = ctx.connection.peer_info.get("name")
        text = f"{who} wants you to visit a page at {view.host}:\n  {view.url}{warnings}\n  {params.message}"
        if await ask(text, "Open it? [y]es, [n]o:") not in ("y", "yes"):
            return ElicitResult(action="decline")
        await asyncio.to_thread(webbrowser.open, params.url)
        return ElicitResult(action="accept")


async def main() -> None:
    options = ClientOptions(capabilities={"elicitation": {"url": {}}})
    async with connect_stdio(sys.executable, SERVER) as peer:
        client = await Client.open(peer, handlers=Person(), options=options)
        [block] = (await client.call_tool("open")).content
        assert isinstance(block, TextContent)
        print(block.text)


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    asyncio.run(main())
