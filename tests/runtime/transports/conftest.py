"""Fixtures for tests with real processes: they must leave nothing behind."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from mcp_runtime.core.transports.stdio_client import StdioClientOptions, StdioClientTransport
from support.stdio_peers import PATIENCE, RAW_PEER, Raw, StartRaw, children, descriptors, eventually


@pytest.fixture
async def nothing_left() -> AsyncIterator[None]:
    """Fail if a test leaves a task, a file descriptor or a child process, a zombie included."""
    tasks, open_before, running = asyncio.all_tasks(), descriptors(), children()

    def tasks_left() -> set[asyncio.Task[object]]:
        return asyncio.all_tasks() - tasks - {task for task in (asyncio.current_task(),) if task}

    yield
    try:
        # Threads close what they use, so it may take a moment.
        await eventually(lambda: descriptors() == open_before and children() == running and not tasks_left())
    except AssertionError:
        files = set(descriptors().items()) - set(open_before.items())
        pytest.fail(f"left: {files}, processes {children() - running}, tasks {tasks_left()}")


@pytest.fixture
async def start(nothing_left: None) -> AsyncIterator[StartRaw]:
    """Starts raw peers, and closes them after the test."""
    started: list[Raw] = []

    async def start_one(options: StdioClientOptions) -> Raw:
        waits: StdioClientOptions = {"grace": PATIENCE}
        waits.update(options)
        raw = Raw(StdioClientTransport(*RAW_PEER, **waits))
        started.append(raw)
        await raw.transport.start(raw.seen)
        return raw

    yield start_one
    for raw in started:
        await raw.transport.close()
