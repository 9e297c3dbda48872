"""A client that asks for completions as a user interface would while its user types.

python examples/completion_client.py
"""

import argparse
import asyncio
import sys
from pathlib import Path

from mcp_bindings import (
    Client,
    CompleteRequestParamsArgument,
    CompleteRequestParamsContext,
    PromptReference,
    ResourceTemplateReference,
    connect_stdio,
)

SERVER = Path(__file__).with_name("completion_server.py")
Reference = PromptReference | ResourceTemplateReference


async def show(client: Client, ref: Reference, name: str, typed: str, **chosen: str) -> None:
    context = CompleteRequestParamsContext(arguments=chosen) if chosen else None
    argument = CompleteRequestParamsArgument(name=name, value=typed)
    found = (await client.complete(ref=ref, argument=argument, context=context)).completion
    more = f" ... {len(found.values)} of {found.total}" if found.has_more else ""
    print(f"{name} {typed!r}: {', '.join(found.values[:4])}{more}")


async def main() -> None:
    async with connect_stdio(sys.executable, SERVER) as peer:
        client = await Client.open(peer, require=["completions"])
        teach = PromptReference(name="teach")
        for typed in ("", "p", "py"):
            await show(client, teach, "language", typed)
        [template] = [template async for template in client.iter_resource_templates()]
        code = ResourceTemplateReference(uri=template.uri_template)
        await show(client, code, "file", "")
        await show(client, code, "file", "m", language="python")
        await show(client, code, "file", "", language="rust")


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    asyncio.run(main())
