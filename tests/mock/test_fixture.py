"""The fixture `mcp_mock`: the example that uses it passes, and a call that a session does not have fails the test."""

import subprocess
import sys
from pathlib import Path

import pytest

from mcp_bindings import Client
from mock.cafe import cafe, record
from support.documents import ROOT

TEST = """
import asyncio
from mcp_bindings import Client
from mcp_runtime.core.transports.http import connect_http

pytest_plugins = ["mcp_bindgen.mock.pytest_plugin"]

async def call(url, tea):
    async with connect_http(url) as peer:
        try:
            await (await Client.open(peer)).call_tool(name="serve", arguments={"tea": tea})
        except Exception:
            pass

def test_recorded(mcp_mock):
    asyncio.run(call(mcp_mock(session="s.jsonl").url, "green"))

def test_unrecorded(mcp_mock):
    asyncio.run(call(mcp_mock(session="s.jsonl").url, "white"))
"""


def run_tests(folder: Path) -> str:
    words = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(folder))
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False, timeout=100).stdout


@pytest.mark.slow
def test_the_example_passes() -> None:
    assert "3 passed" in run_tests(ROOT / "examples" / "mocked")


@pytest.mark.slow
async def test_a_call_that_a_session_does_not_have_fails_the_test(tmp_path: Path) -> None:
    await record(cafe(), Client, tmp_path / "s.jsonl")
    (tmp_path / "test_it.py").write_text(TEST, "utf-8")
    found = run_tests(tmp_path)
    assert "2 passed, 1 error" in found
    assert 'the session has no call of tools/call with {"arguments":{"tea":"white"},"name":"serve"}' in found
