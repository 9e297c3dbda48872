"""A server's process ends in time, whatever its handlers do."""

import json
import re
import signal
import subprocess
import sys
import threading

import pytest

from support.stdio_peers import PEERS

PATIENCE = 60
"""Seconds after which a server that has not ended fails the test."""
FURTHER = (signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow))
"""The signals that end a server; each test takes some seconds."""
RUNNING = re.compile(r"MainThread, [\w-]+_0")
"""The thread of the event loop and that of a handler, as asyncio and uvloop name it."""
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "0"}}


def end_during(tool: str, how: signal.Signals | None, end_timeout: float = 1) -> tuple[int, str]:
    """End the server by a signal, or by closing its input, while a tool runs; return its status and standard error."""
    command = (sys.executable, str(PEERS / "stubborn.py"), str(end_timeout))
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True) as process:
        killer = threading.Timer(PATIENCE, process.kill)
        killer.start()
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        for message in (
            {"id": 1, "method": "initialize", "params": HELLO},
            {"method": "notifications/initialized"},
            {"id": 2, "method": "tools/call", "params": {"name": tool}},
        ):
            process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        process.stdin.flush()
        assert b'"id":1' in process.stdout.readline()
        assert process.stderr.readline() == b"begun\n"
        if how is None:
            process.stdin.close()
        else:
            process.send_signal(how)
        status = process.wait(PATIENCE)
        killer.cancel()
        return status, process.stderr.read().decode()


@pytest.mark.parametrize("how", [*FURTHER, pytest.param(None, marks=pytest.mark.slow)])
@pytest.mark.parametrize("tool", ["swallows", "thread"])
def test_handlers_that_do_not_end(tool: str, how: signal.Signals | None) -> None:
    status, message = end_during(tool, how)
    assert status == 1
    assert "the server was killed: 1.5 s after shutdown began, still running: " in message
    assert "tools/call" in message if tool == "swallows" else RUNNING.search(message)


@pytest.mark.parametrize("how", FURTHER)
def test_a_signal_that_does_not_interrupt_the_wait_of_the_event_loop(how: signal.Signals) -> None:
    status, message = end_during("elsewhere", how)
    assert status == 1 and RUNNING.search(message)


@pytest.mark.parametrize("how", FURTHER)
def test_a_handler_that_blocks_the_event_loop(how: signal.Signals) -> None:
    status, message = end_during("blocks", how)
    assert (status, "tools/call" in message) == (1, True)


@pytest.mark.parametrize("how", [None, *FURTHER])
def test_handlers_that_end_when_they_are_cancelled(how: signal.Signals | None) -> None:
    assert end_during("sleeps", how, PATIENCE) == (0, "served\n")
