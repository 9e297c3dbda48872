"""The floor of the conversations over stdio: two processes echo lines with asyncio, and nothing is checked."""

import asyncio
import os
import sys
from collections import deque
from contextlib import AsyncExitStack
from typing import Any

from session_worker import usage

ASK_USAGE = b"?"


class Lines(asyncio.Protocol):
    """Splits incoming data into lines."""

    def __init__(self) -> None:
        self._rest: list[bytes] = []

    def data_received(self, data: bytes) -> None:
        if b"\n" not in data:
            self._rest.append(data)
            return
        *lines, rest = b"".join((*self._rest, data)).split(b"\n")
        self._rest = [rest] if rest else []
        for line in lines:
            self.line(line)

    def line(self, line: bytes) -> None:
        raise NotImplementedError


class Client(Lines):
    def __init__(self) -> None:
        super().__init__()
        self._waiting: deque[asyncio.Future[bytes]] = deque()
        self._loop = asyncio.get_running_loop()
        self.writer: Any = None

    def line(self, line: bytes) -> None:
        self._waiting.popleft().set_result(line)

    async def _ask(self, line: bytes) -> bytes:
        future: asyncio.Future[bytes] = self._loop.create_future()
        self._waiting.append(future)
        self.writer.write(line + b"\n")
        return await future

    async def echo(self, text: str) -> str:
        return (await self._ask(text.encode())).decode()

    async def usage(self) -> tuple[float, int]:
        seconds, peak = (await self._ask(ASK_USAGE)).decode().split()
        return float(seconds), int(peak)


class Server(Lines):
    def __init__(self) -> None:
        super().__init__()
        self.writer: Any = None
        self.ended = asyncio.Event()

    def line(self, line: bytes) -> None:
        if line == ASK_USAGE:
            line = "{} {}".format(*usage()).encode()
        self.writer.write(line + b"\n")

    def connection_lost(self, exc: Exception | None) -> None:
        self.ended.set()


async def _connect(protocol: Client | Server, source: int, target: int) -> None:
    loop = asyncio.get_running_loop()
    protocol.writer, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, os.fdopen(target, "wb", 0))
    await loop.connect_read_pipe(lambda: protocol, os.fdopen(source, "rb", 0))


async def stdio(stack: AsyncExitStack) -> Client:
    there_in, out = os.pipe()
    source, there_out = os.pipe()
    process = await asyncio.create_subprocess_exec(sys.executable, __file__, stdin=there_in, stdout=there_out)
    os.close(there_in)
    os.close(there_out)
    client = Client()
    await _connect(client, source, out)
    stack.push_async_callback(process.wait)
    stack.callback(client.writer.close)
    return client


OPEN = {"stdio": stdio}


async def serve() -> None:
    server = Server()
    await _connect(server, 0, 1)
    await server.ended.wait()


if __name__ == "__main__":
    asyncio.run(serve())
