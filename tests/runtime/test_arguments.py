"""Mistakes of authors: one sentence for them, and nothing sent to the peer."""

from typing import Any

import pytest

from mcp_bindings import v2025_11_25 as v
from mcp_runtime.core.errors import ConnectionClosed, MissingCapability, UnsupportedRevision
from mcp_runtime.core.options import CallOptions
from mcp_runtime.core.settings import ClientOptions, ServerOptions
from mcp_runtime.core.transports.stdio import connect_stdio, serve_stdio
from mcp_runtime.memory import connect_memory
from mcp_runtime.opening import open_any
from support.own import OWN, own
from support.roles import make_server, returns
from support.samples import REVISIONS
from support.talk import bindings, talk
from support.tools_server import Tools


class Handlers(v.ClientHandlers):
    """Handles nothing."""


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"options": {"timeout": 5}}, r"options are an object, ClientOptions\(timeout=5\), not \{'timeout': 5\}"),
        ({"handlers": Handlers}, r"Handlers is a class; pass an instance: Handlers\(\)"),
        ({"handlers": Tools()}, "expected an instance of a generated ClientHandlers, not <"),
        ({"require": "tools"}, r"require is a list of capabilities, such as \['tools'\], not 'tools'"),
        ({"require": ["tolls"]}, "no server declares 'tolls'; there are .*prompts, resources.*tools"),
        ({"require": ["tools.listchanged"]}, "no server declares 'tools.listchanged'"),
    ],
)
async def test_wrong_arguments_of_open_are_explained(arguments: dict[str, Any], said: str) -> None:
    async with connect_memory(Tools()) as peer:
        with pytest.raises((TypeError, ValueError), match=said):
            await v.Client.open(peer, **arguments)
        client = await v.Client.open(peer, require=["tools", "tools.listChanged", "logging"])
        await client.ping()


@pytest.mark.parametrize("revision", [REVISIONS[0], REVISIONS[-1]])
async def test_a_capability_can_be_required_in_each_revision(revision: str) -> None:
    server = make_server(revision, list_tools=returns("ListToolsResult", tools=[]))
    async with connect_memory(server) as peer:
        with pytest.raises(ValueError, match=r"no server declares 'tolls'; there are .*prompts, resources.*tools"):
            await bindings(revision).Client.open(peer, require=["tolls"])
        assert (await bindings(revision).Client.open(peer, require=["tools"])).connection.revision == revision
    async with connect_memory(server) as peer:
        with pytest.raises(MissingCapability, match="prompts"):
            await bindings(revision).Client.open(peer, require=["prompts"])


@pytest.mark.requirement("modern.extension-names")
@pytest.mark.parametrize(
    ("name", "is_right"),
    [
        ("com.example/search", True),
        ("a-1.b/c_d.e-f", True),
        ("com.example/", True),
        ("search", False),
        ("/search", False),
        ("com..example/x", False),
        ("1com/x", False),
        ("com-/x", False),
        ("com.example/-x", False),
        ("com.example/x y", False),
    ],
)
async def test_extensions_are_named_by_a_domain(name: str, is_right: bool) -> None:
    declared: dict[str, Any] = {"extensions": {name: {}}}
    server = make_server(
        "2026-07-28", ServerOptions(capabilities=declared), list_tools=returns("ListToolsResult", tools=[])
    )
    plain = make_server("2026-07-28", list_tools=returns("ListToolsResult", tools=[]))
    client = bindings("2026-07-28").Client
    if not is_right:
        with pytest.raises(ValueError, match=r"an extension is named by a domain, a slash and a name \(com.example/se"):
            async with connect_memory(server):
                pass
        async with connect_memory(plain) as peer:
            with pytest.raises(ValueError, match=r"an extension is named by"):
                await client.open(peer, options=ClientOptions(capabilities=declared))
        return
    async with connect_memory(server) as peer:
        opened = await client.open(peer, options=ClientOptions(capabilities=declared))
        assert opened.capabilities["extensions"] == {name: {}}


async def test_a_capability_of_one_of_several_revisions_may_be_required() -> None:
    from mcp_bindings import v2024_11_05

    async with connect_memory(Tools()) as peer:
        with pytest.raises(ValueError, match="no server declares 'tolls'"):
            await open_any(peer, v2024_11_05.Client, v.Client, require=["tolls"])
        await open_any(peer, v2024_11_05.Client, v.Client, require=["tools"], options=ClientOptions())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"timeout": "5"}, "timeout: must be a number of seconds, not '5'"),
        ({"max_time": True}, "max_time: must be a number of seconds, not True"),
        ({"progress": 1}, "progress: must be a function of three arguments, not 1"),
    ],
)
def test_wrong_call_options_are_explained(arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(TypeError, match=said):
        CallOptions(**arguments)


async def test_a_dictionary_for_options_leaves_no_open_request() -> None:
    async with talk(Tools()) as both:
        sent = len(both.sent)
        options: Any = {"timeout": 5}
        with pytest.raises(TypeError, match=r"options: must be a CallOptions, such as CallOptions\(timeout=5\)"):
            await both.client.list_tools(options=options)
        assert len(both.sent) == sent


def test_a_class_cannot_be_served() -> None:
    server: Any = Tools
    with pytest.raises(TypeError, match=r"Tools is a class; pass an instance: Tools\(\)"):
        serve_stdio(server)


async def test_a_command_line_in_one_string_is_refused() -> None:
    async with connect_stdio("python server.py") as peer:
        with pytest.raises(
            ConnectionClosed,
            match=r'pass the program and its arguments separately: connect_stdio\("python", "server.py"\)',
        ):
            await v.Client.open(peer)


async def test_a_revision_error_says_how_to_support_more_revisions() -> None:
    from mcp_bindings import v2024_11_05, v2025_03_26

    advice = r"; pass open_any\(\) a client of each revision that the peer may speak, or allow .*revisions='all'"
    async with connect_memory(own(Tools())) as peer:
        with pytest.raises(UnsupportedRevision, match=advice):
            await v2024_11_05.Client.open(peer, options=OWN)
    async with connect_memory(own(Tools())) as peer:
        with pytest.raises(UnsupportedRevision, match=advice):
            await open_any(peer, v2024_11_05.Client, v2025_03_26.Client)


async def test_handlers_without_a_listing_are_reported_at_start(caplog: pytest.LogCaptureFixture) -> None:
    class Hidden(v.Server):
        async def call_tool(
            self, params: v.CallToolRequestParams, ctx: v.Context
        ) -> v.CallToolResult | v.CreateTaskResult:
            return v.CallToolResult(content=[])

    with caplog.at_level("WARNING", "mcp_runtime"):
        hidden = Hidden()
        for _ in range(2):  # once per server, however often it is served
            async with talk(hidden):
                assert caplog.messages == ["Hidden answers tools/call, but not tools/list: no client finds them"]
        caplog.clear()
        async with talk(Tools()):
            assert caplog.messages == []
