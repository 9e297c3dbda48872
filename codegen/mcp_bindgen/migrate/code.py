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
        yield from ("", f"{title}, written for {old.revision} and then for {new.revision}:")
        for protocol in (old, new):
            text = template.format(folder=revision_folder(protocol.revision), more=_more(protocol))
            yield from ("", "```python", f"# {protocol.revision}", *text.rstrip().split("\n"), "```")


def _more(protocol: Protocol) -> str:
    return ', result_type="complete"' if _LATER in protocol.definitions else ""
