"""A server and a client of any two revisions can communicate, whichever of them is bridged."""

from itertools import product
from pathlib import Path

import pytest

from bridge.conversation import converse
from bridge.everyone import Received, expected, make_handlers, make_server, use_everything
from bridge.messages import LEGACY, PAIRS, REVISIONS
from mcp_bindings.bridges import ERAS
from mcp_runtime.core.settings import ClientOptions
from mcp_runtime.core.transports.http import asgi_app, connect_http
from mcp_runtime.core.transports.stdio import connect_stdio
from support.http import served
from support.own import OWN, own
from support.programs import quick_python
from support.talk import bindings

PROGRAM = Path(__file__).with_name("everyone_program.py")
ACROSS = [(s, c) for s, c in PAIRS if ERAS[s] != ERAS[c]]


@pytest.mark.parametrize("bridged", ["server", "client"])
@pytest.mark.parametrize(("server", "client"), list(product(REVISIONS, REVISIONS)))
async def test_each_pair_exchanges_everything_both_support(server: str, client: str, bridged: str) -> None:
    received = Received()
    talk = converse(
        make_server(server),
        client,
        handlers=make_handlers(client, received),
        bridged="all" if bridged == "client" else None,
    )
    async with talk as both:
        assert await use_everything(both.client, received) == expected(server, client)
        spoken = both.client.connection.revision
        assert spoken == (client if bridged == "server" else server)
        assert both.judge(spoken) > 20


@pytest.mark.slow
@pytest.mark.parametrize("bridged", ["server", "client"])
@pytest.mark.parametrize(("server", "client"), ACROSS[:1] + ACROSS[-1:])
async def test_the_same_with_processes(server: str, client: str, bridged: str) -> None:
    received = Received()
    async with connect_stdio(quick_python(), str(PROGRAM), server, bridged) as peer:
        opened = await bindings(client).Client.open(
            peer,
            handlers=make_handlers(client, received),
            options=ClientOptions(strict=True, check_sent=True, revisions="all" if bridged == "client" else "own"),
        )
        assert await use_everything(opened, received) == expected(server, client)


@pytest.mark.parametrize(
    ("server", "client", "bridged"),
    [
        (REVISIONS[-1], LEGACY[-1], "server"),
        (REVISIONS[-1], LEGACY[1], "server"),
        (LEGACY[-1], REVISIONS[-1], "client"),
    ],
)
async def test_the_same_over_http_in_the_revisions_that_have_a_handshake(
    server: str, client: str, bridged: str
) -> None:
    received, endpoint = Received(), make_server(server)
    app = asgi_app(endpoint if bridged == "server" else own(endpoint))
    async with served(app) as url, connect_http(f"{url}/mcp") as peer:
        opened = await bindings(client).Client.open(
            peer, handlers=make_handlers(client, received), options=OWN if bridged == "server" else None
        )
        assert await use_everything(opened, received) == expected(server, client)
