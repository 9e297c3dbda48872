"""The scenarios of the matrix, over both transports of HTTP: ours and the Python SDK, both ways."""

import itertools
from typing import Any

import pytest

from interop.expected import expected
from interop.peers import offer
from interop.processes import OURS, SDK1, SDK2, Side, outcomes_over_http

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
