"""The fixture `mcp_errors`, in tests of a project that has installed the distribution."""

import subprocess
import sys
from pathlib import Path

import pytest

TESTS = """
import asyncio, logging
from mcp_bindings.v2025_11_25 import App
from mcp_runtime import testing

app = App("test")

@app.tool()
def divide(by: int) -> float:
    "Divide one by a number."
    return 1 / by

async def call(by):
    async with testing.connect(app) as client:
        await client.call_tool(name="divide", arguments={"by": by})

def test_good(mcp_errors):
    asyncio.run(call(1))

def test_bad(mcp_errors):
    asyncio.run(call(0))

def test_expected(mcp_errors):
    asyncio.run(call(0))
    assert "divide failed" in mcp_errors.pop().getMessage()
"""


@pytest.mark.slow
def test_a_server_that_logs_errors_fails_the_test(tmp_path: Path) -> None:
    (tmp_path / "test_server.py").write_text(TESTS, "utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", str(tmp_path)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "3 passed, 1 error" in done.stdout, done.stdout
    assert "the server logged errors" in done.stdout and "ZeroDivisionError" in done.stdout
