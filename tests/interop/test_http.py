"""The scenarios of the matrix over both HTTP transports: our implementation and the Python SDK, in both roles."""

import itertools
from typing import Any

import pytest

from interop.expected import expected
from interop.peers import offer
from interop.processes import OURS, SDK1, SDK2, Side, outcomes_over_http, serving
from mcp_bindings import v2025_11_25, v2026_07_28
from mcp_runtime.core.transports.http import connect_http
from mcp_runtime.opening import open_any

pytestmark = pytest.mark.interop

PAIRS = [(OURS, OURS), *(pair for pair in itertools.permutations((OURS, SDK1, SDK2), 2) if OURS in pair)]
TALKS = [
    pytest.param(client, server, revision, id=f"{client.name}-to-{server.name}-{revision}")
    for client, server in PAIRS
    for revision in offer.LEGACY
]


@pytest.mark.parametrize(("client", "server", "revision"), TALKS)
@pytest.mark.requirement("http.task-streams")
def test_client_sees_what_the_server_offers(client: Side, server: Side, revision: str) -> None:
    wanted: dict[str, Any] = expected(revision, tasks=client.tasks and server.tasks)
    assert outcomes_over_http(client, server, revision) == wanted


@pytest.mark.parametrize(("client", "server", "revision"), TALKS)
def test_client_sees_the_same_over_http_sse(client: Side, server: Side, revision: str) -> None:
    wanted: dict[str, Any] = expected(revision, tasks=client.tasks and server.tasks)
    assert outcomes_over_http(client, server, revision, "sse") == wanted


@pytest.mark.parametrize("server", [SDK1, SDK2], ids=lambda side: side.name)
async def test_a_client_that_tries_streamable_http_first_reaches_a_server_of_http_sse(server: Side) -> None:
    with serving(server.server_command("--sse")) as url:
        async with connect_http(url) as peer:
            client = await open_any(peer, v2026_07_28.Client, v2025_11_25.Client)
            assert isinstance(client, v2025_11_25.Client)
            added = await client.call_tool(name="add", arguments={"a": 1, "b": 2})
            assert added.content == [v2025_11_25.TextContent(text="3")]
