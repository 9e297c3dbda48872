"""The tracker with a database: every part of it, on stdio and over HTTP, in every revision."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from runpy import run_path
from typing import Any

import pytest

from mcp_bindings import v2024_11_05, v2025_03_26, v2025_06_18, v2025_11_25, v2026_07_28
from mcp_runtime.core.handshake.client import Peer
from mcp_runtime.core.options import CallOptions
from mcp_runtime.core.settings import ClientOptions
from mcp_runtime.core.transports.http import asgi_app, connect_http
from mcp_runtime.core.transports.stdio import connect_stdio
from support.apps import text_of
from support.documents import ROOT
from support.http import served
from support.programs import quick_python

TRACKER = ROOT / "examples" / "tracker.py"
VERSIONS = [v2024_11_05, v2025_03_26, v2025_06_18, v2025_11_25, v2026_07_28]


@asynccontextmanager
async def over_http() -> AsyncGenerator[Peer]:
    async with served(asgi_app(run_path(str(TRACKER))["app"])) as url, connect_http(url) as peer:
        yield peer


@asynccontextmanager
async def on_stdio() -> AsyncGenerator[Peer]:
    async with connect_stdio(quick_python(), TRACKER) as peer:
        yield peer


def answering(version: Any) -> Any:
    class Answers(version.ClientHandlers):  # type: ignore[misc]
        async def elicit(self, params: Any, ctx: Any) -> Any:
            return version.ElicitResult(action="accept", content={"reason": "fixed"})

    return Answers()


@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: version.REVISION)
@pytest.mark.parametrize("transport", [on_stdio, over_http])
async def test_all_of_it_works(transport: Any, version: Any) -> None:
    asks = version is not v2024_11_05 and version is not v2025_03_26
    progress: list[float] = []
    async with transport() as peer:
        handlers = answering(version) if asks else None
        client = await version.Client.open(peer, handlers=handlers, options=ClientOptions())

        async def call(name: str, **arguments: Any) -> Any:
            options = CallOptions(progress=lambda done, total, message: progress.append(done))
            return await client.call_tool(name=name, arguments=arguments, options=options)

        assert len((await client.list_tools()).tools) == 6
        assert len((await client.list_resources()).resources) == 2
        assert len((await client.list_resource_templates()).resource_templates) == 1
        assert len((await client.list_prompts()).prompts) == 2
        assert '"author":"somebody"' in text_of(await call("open_issue", title="Crash at start"))
        await call("import_issues", titles=["Dark mode", "Light mode"])
        assert progress[-1] == 2
        assert "Light mode" in text_of(await call("search_issues", text="mode"))
        if asks:
            assert text_of(await call("close_issue", number=1)) == "fixed"
        assert text_of(await call("whoami")) == "somebody"
        assert text_of(await call("get_issue", number=9)) == "there is no issue 9; search_issues finds the numbers"
        states = (await client.read_resource(uri="tracker://states")).contents[0].text
        assert states == ('{"closed":1,"open":2}' if asks else '{"open":3}')
        assert '"Dark mode"' in (await client.read_resource(uri="tracker://issues/2")).contents[0].text
        prompt = await client.get_prompt(name="triage", arguments={"number": "2"})
        assert prompt.messages[0].content.text == "What is the next step on 'Dark mode'? Be short."
        argument = version.CompleteRequestParamsArgument(name="tone", value="f")
        found = await client.complete(ref=version.PromptReference(name="triage"), argument=argument)
        assert found.completion.values == ["friendly", "formal"]


def test_it_has_120_lines() -> None:
    assert len(TRACKER.read_text("utf-8").splitlines()) <= 120
