"""The example of a folder that is served, as a program of the modern era."""

from pathlib import Path

from mcp_bindings import v2026_07_28 as mcp
from mcp_runtime.core.transports.stdio import connect_stdio
from support.apps import text_of
from support.documents import ROOT
from support.programs import quick_python


async def test_a_folder_is_searched_and_read(tmp_path: Path) -> None:
    (tmp_path / "guides").mkdir()
    (tmp_path / "guides" / "holidays.md").write_text("# Holidays\n\nAsk first.\n", "utf-8")
    (tmp_path / "logo.png").write_bytes(b"\x89PNG")
    async with connect_stdio(quick_python(), str(ROOT / "examples" / "handbook_server.py"), str(tmp_path)) as peer:
        client = await mcp.Client.open(peer)
        found = await client.call_tool(name="search", arguments={"word": "ask"})
        assert found.structured_content == ["handbook:///guides/holidays.md"]
        missing = await client.call_tool(name="search", arguments={"word": "nothing"})
        assert (missing.is_error, text_of(missing)) == (True, "no page has the word 'nothing'; try a more common one")
        [page] = (await client.read_resource(uri="handbook:///guides/holidays.md")).contents
        assert isinstance(page, mcp.TextResourceContents) and page.text.startswith("# Holidays")
        [logo] = (await client.read_resource(uri="handbook:///logo.png")).contents
        assert isinstance(logo, mcp.BlobResourceContents) and logo.bytes == b"\x89PNG"
        argument = mcp.CompleteRequestParamsArgument(name="topic", value="ho")
        completed = await client.complete(ref=mcp.PromptReference(name="explain"), argument=argument)
        assert completed.completion.values == ["holidays"]
