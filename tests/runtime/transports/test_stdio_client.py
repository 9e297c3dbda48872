"""The client's end of stdio, against real processes that speak raw lines."""

import asyncio
import json
import os
import tracemalloc
from typing import Any

import pytest

from mcp_runtime.core.transports.pipes import HIGH_WATER
from mcp_runtime.core.transports.stdio import connect_stdio
from mcp_runtime.core.transports.stdio_client import StdioClientTransport
from support.stdio_peers import RAW_PEER, Collector, Raw, StartRaw, eventually, soon

pytestmark = pytest.mark.usefixtures("nothing_left")


async def test_messages_arrive_whole_and_in_order(start: StartRaw) -> None:
    peer = await start({})
    sent = [b'{"n":%d}' % i for i in range(2000)]
    for message in sent:
        peer.transport.send(message)
    assert await peer.seen.count(2000) == sent


async def test_a_message_of_10_mb_comes_back(start: StartRaw) -> None:
    peer = await start({})
    message = b"a" * 10_000_000
    await peer.ask("ready?")
    peer.transport.send(message)
    assert (await peer.seen.count(2))[1] == message
    tracemalloc.start()
    try:
        peer.transport.send(message)
        await peer.seen.count(3)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2.3 * len(message)  # all of it for received data: nothing is copied for sending


async def test_long_and_short_messages_keep_their_order(start: StartRaw) -> None:
    peer = await start({})
    sent = [bytes([65 + i % 26]) * (1 if i % 3 else 70_000 * (i % 5)) for i in range(1, 60)]
    for message in sent:
        peer.transport.send(message)
        if len(message) % 7 == 1:
            await asyncio.sleep(0)
    await peer.seen.count(len([message for message in sent if message]))
    assert peer.seen.messages == [message for message in sent if message]


async def test_windows_line_ends_empty_lines_and_invalid_utf_8(start: StartRaw) -> None:
    peer = await start({})
    peer.transport.send(rb":say \r\n\n{}\r\n\n\xff\xfe\n1\n".replace(b"\n", b"\\n"))
    assert await peer.seen.count(3) == [b"{}", b"\xff\xfe", b"1"]


async def test_a_message_over_the_limit_is_refused_and_the_next_one_arrives(start: StartRaw) -> None:
    peer = await start({"max_message_bytes": 100_000})
    assert await peer.ask(":big 100000") == b"x" * 100_000
    peer.transport.send(b":big 100001")
    assert await peer.ask("next") == b"next"
    (reason,) = peer.seen.refused
    assert "100000 bytes" in reason


async def test_a_message_cannot_hold_a_line_feed(start: StartRaw) -> None:
    peer = await start({})
    with pytest.raises(ValueError, match="line feed"):
        peer.transport.send(b"1\n2")


async def test_a_pause_holds_back_messages_already_read(start: StartRaw) -> None:
    peer = await start({})
    peer.seen.on_message = lambda _: peer.transport.pause_reading()
    peer.transport.send(b":many 5")
    for number in range(1, 6):
        await peer.seen.count(number)
        await asyncio.sleep(0.01)
        assert len(peer.seen.messages) == number
        peer.transport.resume_reading()
    assert peer.seen.messages == [b"0", b"1", b"2", b"3", b"4"]


async def test_a_pause_blocks_the_server(start: StartRaw) -> None:
    peer = await start({})
    peer.transport.pause_reading()
    peer.transport.send(b":big 1000000")
    peer.transport.send(b":complain done")
    assert not await soon(peer.seen.until(lambda: bool(peer.seen.messages)), 0.2)
    peer.transport.resume_reading()
    assert len((await peer.seen.count(1))[0]) == 1_000_000


async def test_a_server_that_never_reads_makes_drain_wait(start: StartRaw) -> None:
    peer = await start({"grace": 0.1})
    await peer.ask(":stop-reading")
    sent = 0
    while sent < 100 * HIGH_WATER:
        peer.transport.send(b"x" * 10_000)
        sent += 10_000
        if not await soon(peer.transport.drain(), 0.05):
            break
    assert sent < 2 * HIGH_WATER
    waiting = asyncio.create_task(peer.transport.drain())
    await peer.transport.close()
    await asyncio.wait_for(waiting, 30)


async def test_drain_ends_when_the_server_dies(start: StartRaw) -> None:
    peer = await start({})
    await peer.ask(":stop-reading")
    peer.transport.send(b"x" * 10 * HIGH_WATER)
    waiting = asyncio.create_task(peer.transport.drain())
    await asyncio.sleep(0.02)
    assert peer.transport.pid is not None
    os.kill(peer.transport.pid, 9)
    await asyncio.wait_for(waiting, 30)
    assert "SIGKILL" in str(await peer.seen.end())
    await peer.transport.drain()
    peer.transport.send(b"dropped without a word")


async def test_a_cancelled_drain_leaves_the_others_waiting(start: StartRaw) -> None:
    peer = await start({})
    peer.transport.send(b"x" * 10 * HIGH_WATER)
    first, second = (asyncio.create_task(peer.transport.drain()) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.wait_for(second, 30)
    await peer.seen.count(1)


async def test_a_failing_receiver_loses_only_the_message_it_failed_on(
    start: StartRaw, caplog: pytest.LogCaptureFixture
) -> None:
    peer = await start({})

    def fail_once(message: bytes) -> None:
        if message == b"1":
            raise RuntimeError("broken on purpose")

    peer.seen.on_message = fail_once
    peer.transport.send(b":many 4")
    await peer.seen.count(4)
    assert "broken on purpose" in caplog.text


async def test_only_safe_variables_are_inherited(start: StartRaw, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("API_TOKEN", "secret")
    monkeypatch.setenv("LC_PAPER", "nb_NO.UTF-8")
    monkeypatch.setenv("TERM", "() { :; }; echo pwned")
    seen = json.loads(await (await start({"env": {"MINE": "1"}})).ask(":env"))
    assert seen["PATH"] == os.environ["PATH"]
    assert (seen["MINE"], seen["LC_PAPER"]) == ("1", "nb_NO.UTF-8")
    assert "API_TOKEN" not in seen
    assert "TERM" not in seen


async def test_more_of_the_environment_is_inherited_on_request(
    start: StartRaw, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("API_TOKEN", "secret")
    monkeypatch.setenv("OTHER", "x")
    monkeypatch.setenv("BASH_FUNC_ls%%", "() {  rm -rf /; }")
    named = json.loads(await (await start({"inherit_env": ["API_TOKEN"]})).ask(":env"))
    assert named["API_TOKEN"] == "secret"
    assert "OTHER" not in named
    everything = json.loads(await (await start({"inherit_env": True, "env": {"OTHER": "y"}})).ask(":env"))
    assert (everything["API_TOKEN"], everything["OTHER"]) == ("secret", "y")
    assert "BASH_FUNC_ls%%" not in everything


async def test_the_working_directory_is_chosen(start: StartRaw, tmp_path: os.PathLike[str]) -> None:
    peer = await start({"cwd": tmp_path})
    assert await peer.ask(":cwd") == os.fsencode(os.path.realpath(tmp_path))


async def test_standard_error_is_shared_unless_it_is_asked_for(
    start: StartRaw, capfd: pytest.CaptureFixture[str]
) -> None:
    peer = await start({})
    peer.transport.send(b":complain heard")
    await peer.ask("sync")
    assert capfd.readouterr().err == "heard"


async def test_standard_error_comes_line_by_line(start: StartRaw) -> None:
    lines: list[str] = []
    peer = await start({"stderr": lines.append})
    peer.transport.send(rb":complain   one\r\ntwo\n\n".replace(b"\n", b"\\n"))
    peer.transport.send(b":complain " + b"z" * 150_000)
    await peer.ask("sync")
    await peer.transport.close()
    assert lines[:3] == ["  one", "two", ""]
    assert "".join(lines[3:]) == "z" * 150_000 + "the input ended"


async def test_a_server_that_floods_standard_error_is_not_held_up(start: StartRaw) -> None:
    lines: list[str] = []
    peer = await start({"stderr": lines.append})
    peer.transport.send(b":complain " + rb"line\n" * 200_000)
    assert await peer.ask("still there") == b"still there"
    await eventually(lambda: len(lines) == 200_000)


async def test_a_transport_is_started_once(start: StartRaw) -> None:
    peer = await start({})
    with pytest.raises(Exception, match="started only once"):
        await peer.transport.start(Collector())


async def test_a_transport_that_was_never_started_closes() -> None:
    transport = StdioClientTransport(*RAW_PEER)
    await transport.close()
    await transport.close()
    assert transport.pid is None
    with pytest.raises(Exception, match="started only once"):
        await transport.start(Collector())


async def test_without_pidfd_a_thread_sees_the_end(start: StartRaw, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(pid: int) -> int:
        raise OSError("not on this kernel")

    monkeypatch.setattr(os, "pidfd_open", refuse)
    peer = await start({})
    peer.transport.send(b":exit 3")
    assert "status 3" in str(await peer.seen.end())
    polite: Raw = await start({})
    await polite.ask("hello")
    await polite.transport.close()
    assert await polite.seen.end() is None


@pytest.mark.parametrize("command", [["python", "server.py"], ("python",), []])
async def test_a_command_in_a_list_is_refused_with_the_way_to_pass_it(command: Any) -> None:
    with pytest.raises(TypeError, match=r"pass each word .* by itself: connect_stdio\('python', 'server\.py'\)"):
        async with connect_stdio(command):
            pass
