"""A client that lists the skills of a server, loads each, and reads a file of it; all of it is verified.

python examples/skills_client.py
"""

import argparse
import asyncio
import sys
from pathlib import Path

from mcp_bindings import Client, connect_stdio
from mcp_runtime.extensions.skills import SkillError, Skills, iter_skills, load_skill, read_directory

SERVER = Path(__file__).with_name("skills_server.py")


async def main() -> None:
    async with connect_stdio(sys.executable, SERVER) as peer:
        client = await Client.open(peer, extensions=[Skills()])
        async for entry in iter_skills(client):
            print(f"{entry.frontmatter['name']}: {entry.frontmatter['description']}")
            skill = await load_skill(client, entry)
            print(skill.text.splitlines()[-1])
            print(await skill.read("references/FORMS.md"), end="")
            try:
                await skill.read("../secret.md")
            except SkillError as error:
                print(error)
        print(*(each.uri for each in await read_directory(client, "skill://pdf-processing")))


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    asyncio.run(main())
