"""Skills in fastmcp: `serve FOLDER` is a server of them, `read COMMAND ...` prints what its client sees of another."""

import asyncio
import json
import sys
from base64 import b64encode
from collections.abc import Awaitable
from typing import Any

from fastmcp import Client, FastMCP
from fastmcp.client.transports import StdioTransport
from fastmcp.skills import SkillsClientExtension
from fastmcp.skills.provider import SkillsDirectoryProvider


def serve(folder: str) -> None:
    server = FastMCP("handbook")
    server.add_provider(SkillsDirectoryProvider(folder, reload=True))
    server.run(transport="stdio", show_banner=False)


async def failure(doing: Awaitable[Any]) -> str:
    try:
        await doing
    except Exception as error:  # whatever it raises is the result
        return str(error)
    return "nothing"


async def read(command: str, *arguments: str) -> None:
    transport = StdioTransport(command, list(arguments))
    async with Client(transport, extensions=[SkillsClientExtension()]) as client:
        seen: dict[str, Any] = {}
        for entry in await client.list_skills():
            files = (await client.read_skill(entry.uri)).files
            seen[entry.uri] = {
                "frontmatter": entry.frontmatter.root,
                "files": {path: b64encode(data).decode() for path, data in files.items()},
            }
        listed = {
            str(each.uri): [each.name, each.description, each.mime_type] for each in await client.list_resources()
        }
        none = await failure(client.get_skill("skill://none/SKILL.md"))
    print(json.dumps({"skills": seen, "resources": listed, "none": none}))


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(sys.argv[2])
    else:
        asyncio.run(read(*sys.argv[2:]))
