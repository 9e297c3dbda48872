"""Every client runs every scenario with every server, in every legacy revision: ours and the official SDK's.

The pairs without our code show that the scenarios require nothing beyond the protocol.
"""

import itertools
from typing import Any

import pytest
from _pytest.mark import ParameterSet

from interop.expected import expected
from interop.peers import offer
from interop.processes import OURS, SDK1, SDK2, TYPESCRIPT, Side, outcomes

pytestmark = pytest.mark.interop

PAIRS = ((OURS, OURS), (TYPESCRIPT, OURS), (TYPESCRIPT, SDK1), *itertools.permutations((OURS, SDK1, SDK2), 2))
TALKS = [(client, server, revision) for client, server in PAIRS for revision in offer.LEGACY]


def _wanted(client: Side, server: Side, revision: str) -> dict[str, Any]:
    return expected(revision, tasks=client.tasks and server.tasks)


def _case(client: Side, server: Side, revision: str, *more: str) -> ParameterSet:
    # A single xdist worker runs all tests that need the same two processes.
    group = f"{client.name}-to-{server.name}-{revision}"
    marks = pytest.mark.xdist_group(group)
    return pytest.param(client, server, revision, *more, id="-".join((group, *more)), marks=marks)


@pytest.mark.parametrize(
    ("client", "server", "revision", "scenario"),
    [_case(*pair, scenario) for pair in TALKS for scenario in _wanted(*pair)],
)
def test_client_sees_what_the_server_offers(client: Side, server: Side, revision: str, scenario: str) -> None:
    assert outcomes(client, server, revision).get(scenario, "not tried") == _wanted(client, server, revision)[scenario]


@pytest.mark.parametrize(("client", "server", "revision"), [_case(*pair) for pair in TALKS])
def test_no_scenario_goes_unchecked(client: Side, server: Side, revision: str) -> None:
    assert set(outcomes(client, server, revision)) == set(_wanted(client, server, revision))
