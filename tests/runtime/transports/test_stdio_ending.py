"""A server's process ends in time, whatever its handlers do."""

import json
import signal
import subprocess
import sys
import threading
import time

import pytest

from support.stdio_peers import PEERS

LATE = 1 + 0.5 + 1
"""Seconds that it may take: what the server is told, and its linger for a client that may still read."""
SLACK = 2.5
"""Seconds for a busy machine."""
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "0"}}


def ended(tool: str, number: signal.Signals | None) -> tuple[int, str, float]:
    """Call a tool and end the server; returns its status, its output, and the time taken."""
    command = (sys.executable, str(PEERS / "stubborn.py"))
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True) as process:
        killer = threading.Timer(20, process.kill)
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
        assert b"begun" in process.stdout.readline()
        time.sleep(0.3)  # it says so a little before
        begun = time.monotonic()
        if number is None:
            process.stdin.close()
        else:
            process.send_signal(number)
        status = process.wait(20)
        killer.cancel()
        return status, process.stderr.read().decode(), time.monotonic() - begun


@pytest.mark.parametrize("how", [None, signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("tool", ["swallows", "thread"])
def test_handlers_that_do_not_end(tool: str, how: signal.Signals | None) -> None:
    status, said, seconds = ended(tool, how)
    assert status == 1
    assert "the server was killed: 1.5 s after shutdown began, still running: " in said
    assert ("tools/call" if tool == "swallows" else "MainThread, asyncio_0") in said
    assert seconds < LATE + SLACK


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_handler_that_blocks_the_event_loop(how: signal.Signals) -> None:
    status, said, seconds = ended("blocks", how)
    assert (status, "tools/call" in said) == (1, True)
    assert seconds < LATE + SLACK


@pytest.mark.parametrize("how", [None, signal.SIGINT, signal.SIGTERM])
def test_handlers_that_end_when_they_are_cancelled(how: signal.Signals | None) -> None:
    status, said, seconds = ended("sleeps", how)
    assert (status, said) == (0, "served\n")
    assert seconds < LATE + SLACK
