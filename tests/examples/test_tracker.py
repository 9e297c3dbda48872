"""The example of decorated functions: by a client in this process, and as a program."""

import re
from runpy import run_path
from typing import Any

import pytest

from mcp_bindings.v2025_11_25 import App, Client
from mcp_runtime import testing
from mcp_runtime.core.transports.stdio import connect_stdio
from support.apps import text_of
from support.documents import ROOT
from support.programs import quick_python

TRACKER = ROOT / "examples" / "tracker_server.py"
PEERS = ROOT / "tests" / "interop" / "peers"
TWINS = [PEERS / "fastmcp_tracker.py", PEERS / "mcpserver_tracker.py"]


@pytest.fixture
def app() -> App[Any]:
    made: App[Any] = run_path(str(TRACKER))["app"]
    return made


async def test_it_asks_the_user_and_the_model(app: App) -> None:
    async with testing.connect(app, elicit=["decline", {"reason": "fixed"}], sample=["Dark."]) as client:
        heard = testing.received(client)
        refused = await client.call_tool(name="close_issue", arguments={"number": 1})
        assert (refused.is_error, text_of(refused)) == (True, "the user does not want to close it")
        closed = await client.call_tool(name="close_issue", arguments={"number": 1})
        assert closed.structured_content and closed.structured_content["state"] == "closed"
        assert heard.logs[0].data == {"closed": 1, "reason": "fixed"}
        assert text_of(await client.call_tool(name="summarize", arguments={"number": 2})) == "Dark."


async def test_errors_explain_what_was_wrong(app: App, mcp_errors: list[Any]) -> None:
    async with testing.connect(app) as client:
        wrong = await client.call_tool(name="search", arguments={"limit": 1000, "txt": "crash"})
        assert text_of(wrong) == (
            "invalid arguments for search: limit: it should be less than or equal to 50, not 1000;"
            " txt: no such argument; did you mean text?"
        )
        missing = await client.call_tool(name="summarize", arguments={"number": 9})
        assert text_of(missing) == "there is no issue 9; search finds the numbers"
    assert mcp_errors == []


async def test_it_runs_as_a_program() -> None:
    async with connect_stdio(quick_python(), str(TRACKER)) as peer:
        client = await Client.open(peer)
        assert [tool.name async for tool in client.iter_tools()][:2] == ["search", "open_issue"]


def test_it_is_shorter_than_its_twins() -> None:
    """All are formatted by black (`make lint`); docs/app.md says how long they are."""
    ours, *theirs = (len(path.read_text("utf-8").splitlines()) for path in (TRACKER, *TWINS))
    assert ours < min(theirs)
    page = " ".join((ROOT / "docs" / "app.md").read_text("utf-8").split())
    documented = re.findall(
        r"in (\d+) lines\. The same server .*? takes (\d+) lines .*?, and (\d+) for \[MCPServer", page
    )
    assert documented == [tuple(map(str, (ours, *theirs)))]
