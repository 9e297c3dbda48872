"""A server for FastMCP and what porting made of it: a client sees the same."""

import pytest

from interop.processes import PEERS, SDK1, interpreter
from support.documents import ROOT
from support.pantry import seen

pytestmark = pytest.mark.interop


async def test_a_ported_server_answers_as_before() -> None:
    before = await seen(interpreter(SDK1.runs), str(PEERS / "fastmcp_pantry.py"))
    after = await seen(interpreter(""), str(ROOT / "examples" / "pantry_server.py"))
    assert after == before
