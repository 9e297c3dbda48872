"""A client that lists prompts with their arguments, and gets three, the last without a required argument.

python examples/prompts_client.py
"""

import argparse
import asyncio
import sys
from pathlib import Path

from mcp_bindings import Client, PeerError, TextContent, connect_stdio

SERVER = Path(__file__).with_name("prompts_server.py")


async def show(client: Client, name: str, **arguments: str) -> None:
    try:
        result = await client.get_prompt(name=name, arguments=arguments)
    except PeerError as error:
        print(f"{name}: {error}")
        return
    for message in result.messages:
        if isinstance(message.content, TextContent):
            print(f"{name}, {message.role}: {message.content.text}")


async def main() -> None:
    async with connect_stdio(sys.executable, SERVER) as peer:
        client = await Client.open(peer, require=["prompts"])
        async for prompt in client.iter_prompts():
            spelled = (each.name if each.required else f"[{each.name}]" for each in prompt.arguments or [])
            print(prompt.name, *spelled, "-", prompt.description)
        await show(client, "git-commit", changes="- tea = 3\n+ tea = 4")
        await show(client, "explain-code", code="print(6 * 7)", language="Python")
        await show(client, "explain-code", language="Python")


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    asyncio.run(main())
