"""Each way in which an author's code starts or continues has the rights of the request that starts or continues it."""

from typing import Any

import pytest

from mcp_bindings import v2025_11_25, v2026_07_28
from support.way_world import SECRET, token
from support.ways import WAYS, Way, served_to

EACH = pytest.mark.parametrize(
    ("way", "package"),
    [
        pytest.param(way, package, id=f"{way.name}, {package.REVISION}")
        for way in WAYS
        for package in (v2025_11_25, v2026_07_28)
        if package is v2026_07_28 or not way.is_new
    ],
)


@EACH
async def test_a_request_has_the_rights_of_its_own_token(way: Way, package: Any) -> None:
    async with served_to(way, package) as world:
        for kind, status in (("expired", 401), ("narrow", 403)):
            answer = await way.step(world, token(kind, kind))
            assert answer.status == status, kind
            assert SECRET not in answer.text and kind not in world.ran
            world.begin_again()
        answer = await way.step(world, token("wide", "step"))
        assert answer.status in (200, 202) and way.shows in answer.text
        assert not way.runs or world.ran[-1] == "step"
