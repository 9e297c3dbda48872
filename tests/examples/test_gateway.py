"""The example of a gateway between clients and servers of different revisions."""

import pytest

from support.at_terminal import EXAMPLES
from support.programs import run_program

pytestmark = pytest.mark.slow


def run(*words: str) -> tuple[list[str], list[str]]:
    """Run the client, which starts the gateway, which starts the server; returns what they print and complain of."""
    done = run_program(EXAMPLES / "gateway_client.py", *words)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines(), done.stderr.splitlines()


def test_an_old_client_reaches_a_new_server_and_its_questions_come_back() -> None:
    printed, complaints = run()
    assert printed == [
        "the client speaks 2024-11-05 with speaker",
        "progress: 1 1 done",
        '{"content":[{"type":"text","text":"old model said something"},'
        '{"type":"text","text":"[audio: audio/wav, 3 bytes]"}],"x-vendor":[1]}',
    ]
    assert complaints == []


def test_a_new_client_reaches_an_old_server() -> None:
    printed, complaints = run("new")
    assert printed == [
        "the client speaks 2025-11-25 with speaker",
        '{"content":[{"type":"text","text":'
        '"new model said: [audio: audio/wav, 3 bytes]\\n[audio: audio/wav, 3 bytes]"}],"x-vendor":[1]}',
    ]
    assert complaints == []
