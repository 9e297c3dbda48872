"""Code of a client and of a server before and after a migration, which a test of the guide runs."""

from collections.abc import Iterator

from mcp_bindgen.ingest.revisions import released, revision_folder
from mcp_bindgen.ir.nodes import Protocol

CLIENT = """\
from mcp_bindings.{folder} import Client


async def forecast(client: Client) -> str:
    result = await client.call_tool(name="forecast", arguments={{"city": "Oslo"}})
    return result.content[0].text
"""
SERVER = """\
from mcp_bindings.{folder} import CallToolResult, Server, TextContent


class Weather(Server):
    async def call_tool(self, params, ctx):
        return CallToolResult(content=[TextContent(text="Sunny")]{more})
"""
_LATER = "InputRequiredResult"


def before_and_after(old: Protocol, new: Protocol) -> Iterator[str]:
    """Iterate over the lines of the section; nothing unless both sides are released revisions."""
    if old.revision not in released() or new.revision not in released() or old.revision == new.revision:
        return
    yield from ("", "## Before and after")
    for title, template in (("A client", CLIENT), ("A server", SERVER)):
        programs = {
            protocol.revision: template.format(folder="{folder}", more=_more(protocol)) for protocol in (old, new)
        }
        if programs[old.revision] == programs[new.revision]:
            del programs[old.revision]
            yield from ("", f"{title} like this one only imports the bindings of {new.revision} instead:")
        else:
            yield from ("", f"{title}, written for {old.revision} and then for {new.revision}:")
        for revision, program in programs.items():
            text = program.replace("{folder}", revision_folder(revision))
            yield from ("", "```python", f"# {revision}", *text.rstrip().split("\n"), "```")


def _more(protocol: Protocol) -> str:
    return ', result_type="complete"' if _LATER in protocol.definitions else ""
