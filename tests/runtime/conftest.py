"""Fixtures for the tests of the runtime."""

import asyncio

import pytest

from support.virtual_time import use_virtual_time


@pytest.fixture
async def virtual_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let sleeps and timeouts of a test in memory take no time (`support.virtual_time`)."""
    use_virtual_time(asyncio.get_running_loop(), monkeypatch)
