"""A custom transport: a real client and server over TCP, and connections that are cut."""

import asyncio
import json
import socket
import struct
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from mcp_bindings import v2025_11_25 as v
from mcp_bindings.v2025_11_25.methods import NOTIFICATIONS_MESSAGE
from mcp_runtime.core.errors import ConnectionClosed
from mcp_runtime.core.handlers import connections_of
from support.stdio_peers import Collector, soon
from support.tcp import TcpTransport, connect_tcp, serve_tcp
from support.tools_server import Host, Tools, text_result

pytestmark = pytest.mark.usefixtures("nothing_left")


class Unhurried(Tools):
    """Takes a moment for each call."""

    async def call_tool(self, params: v.CallToolRequestParams, ctx: v.Context) -> v.CallToolResult | v.CreateTaskResult:
        await asyncio.sleep(0.1)
        return await super().call_tool(params, ctx)


def hello(id_: int = 1) -> bytes:
    """Return the first request of a client."""
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "raw", "version": "0"}}
    return json.dumps({"jsonrpc": "2.0", "id": id_, "method": "initialize", "params": params}).encode()


@asynccontextmanager
async def connected(**options: float) -> AsyncGenerator[tuple[TcpTransport, Collector, TcpTransport, Collector]]:
    """Connect two transports; return ours and its receiver, and theirs and its receiver."""
    loop = asyncio.get_running_loop()
    accepted: asyncio.Future[TcpTransport] = loop.create_future()
    listener = await loop.create_server(
        lambda: TcpTransport(on_accepted=accepted.set_result, grace=options.get("grace", 2)), "127.0.0.1", 0
    )
    here = TcpTransport(listener.sockets[0].getsockname()[:2], grace=options.get("grace", 2))
    ours, theirs = Collector(), Collector()
    await here.start(ours)
    there = await accepted
    await there.start(theirs)
    try:
        yield here, ours, there, theirs
    finally:
        listener.close()
        await here.close()
        await there.close()


async def test_clients_and_a_server_talk() -> None:
    server = Tools()
    async with serve_tcp(server) as port, connect_tcp("127.0.0.1", port) as peer, connect_tcp("localhost", port) as two:
        client = await v.Client.open(peer, handlers=Host())
        other = await v.Client.open(two)
        stream = client.notifications(NOTIFICATIONS_MESSAGE)
        calls = [client.call_tool(name="echo", arguments={"n": n}) for n in range(100)]
        assert await asyncio.gather(*calls) == [text_result(f"{{'n': {n}}}") for n in range(100)]
        assert await client.call_tool(name="sample") == text_result("!")
        await client.call_tool(name="log")
        params = await stream.next(timeout=30)
        assert params is not None and params.data == {"a": 1}
        large = "x" * 1_000_000
        assert await other.call_tool(name="echo", arguments={"x": large}) == text_result(f"{{'x': '{large}'}}")
        assert len(connections_of(server)) == 2
    assert connections_of(server) == ()


async def test_a_port_without_a_listener() -> None:
    with socket.socket() as bound:  # It does not listen, and keeps others from using its port.
        bound.bind(("127.0.0.1", 0))
        port = bound.getsockname()[1]
        async with connect_tcp("127.0.0.1", port) as peer:
            with pytest.raises(ConnectionClosed, match=rf"127\.0\.0\.1:{port} cannot be reached: "):
                await v.Client.open(peer)


async def test_bytes_that_come_one_at_a_time_and_one_message_that_is_too_long() -> None:
    async with serve_tcp(Tools(), max_message_bytes=1000) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for byte in hello() + b"\r\n":
            writer.write(bytes((byte,)))
            await writer.drain()
        assert json.loads(await reader.readline())["result"]["serverInfo"]["name"] == "tools"
        writer.write(b'{"x": "' + b"y" * 2000 + b'"}\n{"jsonrpc": "2.0", "id": 2, "method": "ping"}\n')
        refusal = json.loads(await reader.readline())
        assert refusal["error"]["code"] == -32600 and "more than 1000 bytes" in refusal["error"]["message"]
        assert json.loads(await reader.readline()) == {"jsonrpc": "2.0", "id": 2, "result": {}}
        writer.close()


class TestCuts:
    async def test_the_server_is_gone_in_the_middle_of_a_call(self) -> None:
        server = Tools()
        async with serve_tcp(server) as port, connect_tcp("127.0.0.1", port) as peer:
            client = await v.Client.open(peer)
            call = asyncio.create_task(client.call_tool(name="slow"))
            await server.begun.wait()
            await connections_of(server)[0].aclose("maintenance")
            with pytest.raises(ConnectionClosed, match="the peer closed the connection"):
                await call
            with pytest.raises(ConnectionClosed):
                await client.ping()
            assert server.ended == ["True maintenance"]

    @pytest.mark.parametrize(
        ("last", "reason"),
        [
            (b'{"jsonrpc": "2.0", "met', "the TCP connection ended in the middle of a message"),
            (b"", "the peer closed the connection"),
        ],
    )
    async def test_the_client_leaves(self, last: bytes, reason: str) -> None:
        server = Tools()
        async with serve_tcp(server) as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(hello() + b"\n")
            await reader.readline()
            (connection,) = connections_of(server)
            writer.write(last)
            writer.close()
            async with asyncio.timeout(30):
                assert await connection.wait_closed() == reason

    async def test_a_client_that_closes_its_end_still_gets_its_answers(self) -> None:
        async with serve_tcp(Unhurried()) as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "echo"}}
            writer.write(b"\n".join((hello(), b'{"jsonrpc": "2.0", "method": "notifications/initialized"}')) + b"\n")
            writer.write(json.dumps(call).encode() + b"\n")
            writer.write_eof()
            answers = [json.loads(line) async for line in reader]
            assert [answer["id"] for answer in answers] == [1, 2]
            assert answers[1]["result"]["content"][0]["text"] == "None"
            writer.close()

    async def test_the_connection_is_reset(self) -> None:
        async def reset(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readline()
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.transport.abort()

        listener = await asyncio.start_server(reset, "127.0.0.1", 0)
        async with listener, connect_tcp("127.0.0.1", listener.sockets[0].getsockname()[1]) as peer:
            with pytest.raises(ConnectionClosed, match=r"the TCP connection broke: .*[Rr]eset"):
                await v.Client.open(peer)


class TestPressure:
    async def test_a_peer_that_does_not_read(self) -> None:
        """Sending waits, little is buffered, and everything arrives once the peer reads again."""
        async with connected(grace=0.2) as (here, _, there, seen):
            there.pause_reading()
            sent = 0
            async with asyncio.timeout(60):
                while await soon(here.drain(), 0.2):
                    here.send(b'"' + b"x" * 100_000 + b'"')
                    sent += 1
            assert sent < 500 and not seen.messages
            there.resume_reading()
            await here.drain()
            await seen.count(sent)

    async def test_a_pause_holds_back_messages_already_read(self) -> None:
        async with connected() as (here, _, there, seen):
            seen.on_message = lambda _: there.pause_reading()
            for number in range(3):
                here.send(b"%d" % number)
            for number in (1, 2, 3):
                assert await seen.count(number) == [b"0", b"1", b"2"][:number]
                await asyncio.sleep(0.01)
                assert len(seen.messages) == number
                there.resume_reading()

    async def test_closing_does_not_wait_forever(self) -> None:
        async with connected(grace=0.2) as (here, ours, there, _):
            there.pause_reading()
            for _ in range(200):
                here.send(b"x" * 100_000)
            async with asyncio.timeout(30):
                await here.close()
                assert await ours.end() is None
                await here.close()


async def test_nothing_is_read_before_the_transport_starts() -> None:
    accepted: asyncio.Future[TcpTransport] = asyncio.get_running_loop().create_future()
    listener = await asyncio.get_running_loop().create_server(
        lambda: TcpTransport(on_accepted=accepted.set_result, grace=0.2), "127.0.0.1", 0
    )
    here, seen = TcpTransport(listener.sockets[0].getsockname()[:2], grace=0.2), Collector()
    await here.start(Collector())
    for _ in range(200):
        here.send(b"x" * 100_000)
    assert not await soon(here.drain(), 0.5)
    there = await accepted
    await there.start(seen)
    assert len(await seen.count(200)) == 200
    listener.close()
    await here.close()
    await there.close()


async def test_only_one_packet_is_read_before_the_start() -> None:
    accepted: list[TcpTransport] = []
    started = asyncio.Event()

    def accept() -> TcpTransport:
        transport = TcpTransport(on_accepted=lambda _: started.set())
        accepted.append(transport)
        return transport

    listener = await asyncio.get_running_loop().create_server(accept, "127.0.0.1", 0)
    _, writer = await asyncio.open_connection(*listener.sockets[0].getsockname()[:2])
    line = b'"' + b"x" * 1000 + b'"\n'
    count = 20_000
    writer.write(line * count)
    await started.wait()
    await asyncio.sleep(0.05)
    # The peer's bytes wait in the network's buffers, not here.
    assert writer.transport.get_write_buffer_size() > len(line) * count // 4
    collector = Collector()
    await accepted[0].start(collector)
    await collector.count(count)
    assert collector.messages == [line[:-1]] * count
    writer.close()
    await collector.end()
    await accepted[0].close()
    listener.close()
