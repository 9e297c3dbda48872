"""How a connection to a server ends: what is reported, and that nothing is left behind."""

import asyncio
import ctypes
import os
import random
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from mcp_runtime.core.connection.transport import TransportError
from mcp_runtime.core.transports import process
from mcp_runtime.core.transports.stdio_client import StdioClientTransport
from support.stdio_peers import PATIENCE, PEERS, RAW_PEER, Collector, StartRaw, children, eventually, is_running

pytestmark = pytest.mark.usefixtures("nothing_left")

ROUNDS = 200 if os.environ.get("MCP_SOAK") else 20


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (":exit 0", "exited with status 0"),
        (":exit 3", "exited with status 3"),
        (":kill 9", "was killed by SIGKILL (9)"),
        (":kill 11", "was killed by SIGSEGV (11)"),
        (":close 1", "closed its output, although it is still running"),
        (':partial {"jsonrpc":', "exited with status 0 in the middle of a message"),
    ],
)
async def test_an_unexpected_end_is_explained(start: StartRaw, command: str, expected: str) -> None:
    peer = await start({})
    peer.transport.send(command.encode())
    reason = await peer.seen.end()
    assert isinstance(reason, TransportError)
    assert str(reason) == f"{sys.executable} {expected}"


async def test_a_server_that_no_longer_reads_is_lost(start: StartRaw) -> None:
    peer = await start({"grace": 0.2})
    peer.transport.send(b":close 0")
    async with asyncio.timeout(60):
        while not peer.seen.lost:
            await asyncio.sleep(0.02)
            peer.transport.send(b"anyone?")
    assert "closed its input, although it is still running" in str(await peer.seen.end())


async def test_messages_sent_before_a_crash_arrive_first(start: StartRaw) -> None:
    peer = await start({})
    peer.transport.send(b":many 50000\n".strip())
    peer.transport.send(b":exit 1")
    await peer.seen.end()
    assert len(peer.seen.messages) == 50_000


async def test_messages_held_back_by_a_pause_arrive_before_the_end(start: StartRaw) -> None:
    peer = await start({})
    peer.seen.on_message = lambda _: peer.transport.pause_reading()
    peer.transport.send(b":many 20000")
    peer.transport.send(b":exit 1")
    await peer.seen.count(1)
    await asyncio.sleep(0.1)
    assert peer.seen.lost == []
    peer.seen.on_message = None
    peer.transport.resume_reading()
    await peer.seen.end()
    assert len(peer.seen.messages) == 20_000


async def test_the_last_words_of_a_server_are_part_of_the_reason(start: StartRaw) -> None:
    peer = await start({"stderr": lambda _: None})
    peer.transport.send(b":complain " + rb"old\n" * 100 + rb"\x1b[31mNo such file: \u202ecfg\n" + b"y" * 1000)
    peer.transport.send(b":exit 1")
    text = str(await peer.seen.end())
    assert "its standard error ended with:" in text
    assert r"\x1b[31mNo such file: \u202ecfg" in text
    assert text.isprintable() is False  # line ends
    assert all(line.isprintable() and len(line) < 400 for line in text.split("\n"))
    assert len(text.split("\n")) <= 10


async def test_options_of_the_command_stay_out_of_the_reason() -> None:
    transport, seen = StdioClientTransport(sys.executable, "-c", "exit('secret')", "--key=hunter2"), Collector()
    await transport.start(seen)
    assert str(await seen.end()) == f"{sys.executable} exited with status 1"
    await transport.close()


async def test_the_end_of_a_server_is_reported_though_its_child_holds_the_pipes(start: StartRaw) -> None:
    peer = await start({"grace": 0.2})
    pid = int(await peer.ask(":stubborn"))
    peer.transport.send(b":exit 1")
    await peer.seen.end()
    assert is_running(pid)
    await peer.transport.close()
    await eventually(lambda: not is_running(pid))


@pytest.mark.parametrize(
    ("command", "cwd", "expected"),
    [
        ("no-such-command-here", None, "no such command"),
        (str(PEERS / "peer.py"), None, "permission denied"),
        (sys.executable, "/no/such/folder", "its working directory does not exist: /no/such/folder"),
        ("a\0b", None, r"cannot start a\x00b: embedded null byte"),
    ],
)
async def test_a_server_that_cannot_be_started_says_why_in_one_line(
    command: str, cwd: str | None, expected: str
) -> None:
    transport, seen = StdioClientTransport(command, cwd=cwd), Collector()
    with pytest.raises(TransportError) as caught:
        await transport.start(seen)
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)
    await transport.close()
    assert seen.lost == []


async def test_a_file_of_no_known_format_cannot_be_started(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("print(1)\n", "utf-8")
    script.chmod(0o755)
    with pytest.raises(TransportError, match="Exec format error"):
        await StdioClientTransport(script).start(Collector())


async def test_closing_first_closes_the_input(start: StartRaw) -> None:
    lines: list[str] = []
    peer = await start({"stderr": lines.append})
    await peer.ask("hello")
    await peer.transport.close()
    assert lines == ["the input ended"]
    assert await peer.seen.end() is None


async def test_queued_messages_are_written_before_the_input_is_closed(start: StartRaw) -> None:
    peer = await start({})
    peer.transport.send(b"x" * 3_000_000)
    peer.transport.send(b"last")
    await peer.transport.close()
    assert peer.seen.messages[-1] == b"last"
    assert await peer.seen.end() is None


async def test_closing_while_paused_does_not_wait_for_a_server_that_writes(start: StartRaw) -> None:
    lines: list[str] = []
    peer = await start({"stderr": lines.append})
    peer.transport.pause_reading()
    peer.transport.send(b":big 5000000")
    await peer.transport.close()
    assert lines == ["the input ended"]
    assert peer.seen.messages == []


@pytest.mark.slow
async def test_a_server_that_ignores_the_end_of_its_input_gets_sigterm(start: StartRaw) -> None:
    lines: list[str] = []
    peer = await start({"grace": 3.0, "stderr": lines.append})
    await peer.ask(":linger")
    await peer.ask(":obey")
    began = time.monotonic()
    await peer.transport.close()
    assert time.monotonic() - began >= 3.0
    assert lines == ["asked to end"]
    assert await peer.seen.end() is None


@pytest.mark.parametrize("grace", [0.2, 0.0001], ids=["in time", "too late"])
async def test_a_server_that_ignores_sigterm_is_killed(grace: float, start: StartRaw) -> None:
    """It is reaped also if it needs longer to end than the transport waits."""
    peer = await start({"grace": grace})
    await peer.ask(":linger")
    await peer.ask(":ignore SIGTERM")
    began = time.monotonic()
    await peer.transport.close()
    assert time.monotonic() - began >= 2 * grace
    assert await peer.seen.end() is None
    await eventually(lambda: peer.transport.pid not in children())


@pytest.mark.parametrize("parent", ["polite", "dead", "stubborn"])
async def test_children_of_a_server_end_with_it(start: StartRaw, parent: str) -> None:
    peer = await start({"grace": 0.15})
    pids = [int(await peer.ask(":stubborn")) for _ in range(2)]
    match parent:
        case "dead":
            peer.transport.send(b":kill 9")
            await peer.seen.end()
        case "stubborn":
            await peer.ask(":linger")
            await peer.ask(":ignore SIGTERM")
        case _:
            pass
    assert all(map(is_running, pids))
    await peer.transport.close()
    await eventually(lambda: not any(map(is_running, pids)))


@pytest.mark.slow
async def test_adopted_children_of_a_server_are_not_zombies(start: StartRaw) -> None:
    set_child_subreaper, libc = 36, ctypes.CDLL(None)  # as a container's first process is
    assert libc.prctl(set_child_subreaper, 1, 0, 0, 0) == 0
    try:
        peer = await start({"grace": 2.0})
        pids = {int(await peer.ask(":stubborn")) for _ in range(2)}
        await peer.transport.close()
        assert not pids & children()
    finally:
        libc.prctl(set_child_subreaper, 0, 0, 0, 0)


async def test_a_server_has_its_own_session(start: StartRaw) -> None:
    peer = await start({})
    assert await peer.ask(":ids") == f"{peer.transport.pid} {peer.transport.pid}".encode()


async def test_closing_again_changes_nothing(start: StartRaw) -> None:
    peer = await start({})
    await asyncio.gather(*(peer.transport.close() for _ in range(3)))
    await peer.transport.close()
    assert peer.seen.lost == [None]


async def test_closing_after_a_loss_reports_nothing_more(start: StartRaw) -> None:
    peer = await start({})
    peer.transport.send(b":exit 3")
    await peer.seen.end()
    await peer.transport.close()
    assert len(peer.seen.lost) == 1


async def test_a_cancelled_close_kills_at_once(start: StartRaw) -> None:
    peer = await start({"grace": 3600})
    await peer.ask(":linger")
    pid = int(await peer.ask(":stubborn"))
    closing = asyncio.create_task(peer.transport.close())
    await asyncio.sleep(0.05)
    closing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await closing
    assert not is_running(pid)
    assert peer.transport.pid not in children()


def run_and_leave(close: bool, seen: list[int | None]) -> None:
    """Run an event loop that ends while a server runs, or while it is being closed."""

    async def main() -> None:
        transport, collector = StdioClientTransport(*RAW_PEER, grace=60), Collector()
        await transport.start(collector)
        transport.send(b":linger")
        await collector.count(1)
        seen.append(transport.pid)
        if close:
            seen.append(id(asyncio.create_task(transport.close())))
            await asyncio.sleep(0.05)
        else:
            assert transport.pid is not None
            os.kill(transport.pid, signal.SIGKILL)
            await transport.close()

    asyncio.run(main())


@pytest.mark.parametrize("close", [True, False])
async def test_an_event_loop_that_ends_takes_the_server_with_it(close: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "_LAST_RESORT", PATIENCE)
    seen: list[int | None] = []
    thread = threading.Thread(target=run_and_leave, args=(close, seen))
    thread.start()
    await asyncio.to_thread(thread.join, 60)
    assert not thread.is_alive()
    assert seen[0] not in children()
    await asyncio.get_running_loop().shutdown_default_executor()


def answers(transport: StdioClientTransport, rng: random.Random) -> Callable[[bytes], None]:
    return lambda _: transport.send(b"x" * rng.choice([1, 100, 100_000]))


@pytest.mark.slow
async def test_a_kill_at_any_moment_is_reported_once_and_leaves_nothing() -> None:
    rng = random.Random(4)
    for _ in range(ROUNDS):
        transport, seen = StdioClientTransport(*RAW_PEER), Collector()
        await transport.start(seen)
        seen.on_message = answers(transport, rng)
        for _ in range(64):
            transport.send(b"y" * 1000)
        await asyncio.sleep(rng.random() * 0.08)
        assert transport.pid is not None
        os.kill(transport.pid, signal.SIGKILL)
        assert "was killed by SIGKILL (9)" in str(await seen.end())
        assert {len(message) for message in seen.messages} <= {1, 100, 1000, 100_000}
        await transport.close()
        assert len(seen.lost) == 1
        assert transport.pid not in children()
