"""A client that gets a prompt with embedded resources, and reads one of them again, and one that does not exist.

python examples/project_client.py FOLDER
"""

import argparse
import asyncio
import sys
from pathlib import Path

from mcp_bindings import PeerError, connect_stdio
from mcp_bindings.v2025_11_25 import BlobResourceContents, Client, EmbeddedResource, TextContent, TextResourceContents

SERVER = Path(__file__).with_name("project_server.py")


def show(contents: TextResourceContents | BlobResourceContents) -> None:
    text = contents.text if isinstance(contents, TextResourceContents) else f"{len(contents.blob)} letters of base64"
    print(f"  {contents.uri.rpartition('/')[2]} ({contents.mime_type}): {text.strip()}")


async def main(folder: str) -> None:
    async with connect_stdio(sys.executable, SERVER, folder) as peer:
        client = await Client.open(peer, require=["prompts", "resources"])
        prompt = await client.get_prompt(name="analyze-project", arguments={"goal": "which file needs tests"})
        for message in prompt.messages:
            if isinstance(message.content, TextContent):
                print(message.content.text)
            elif isinstance(message.content, EmbeddedResource):
                show(message.content.resource)
        print("and again:")
        async for resource in client.iter_resources():
            read = await client.read_resource(uri=resource.uri)
            show(read.contents[0])
            break
        try:
            await client.read_resource(uri="file:///etc/passwd")
        except PeerError as error:
            print(error, error.data)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    given = parser.parse_args()
    if not Path(given.folder).is_dir():
        parser.error(f"{given.folder} is not a folder")
    asyncio.run(main(**vars(given)))
