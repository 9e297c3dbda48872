"""A server that echoes each line over the transport under test, unless it is a command: a colon and a word."""

import asyncio
import ctypes
import logging
import os
import subprocess
import sys
from typing import Any

from mcp_runtime.core.connection.transport import ACCEPTED, Channel, Outcome, Receiver, TransportError
from mcp_runtime.core.transports.stdio import StdioServerTransport

STRAY_CHILD = (sys.executable, "-S", "-E", "-c", "print('stray from a child')")
READING_CHILD = (sys.executable, "-S", "-E", "-c", "import sys; sys.exit(len(sys.stdin.read()))")

print("stray before the start")
logging.basicConfig(stream=sys.stdout)


class Echo(Receiver):
    def __init__(self, transport: StdioServerTransport) -> None:
        self.transport = transport
        self.lost: asyncio.Future[TransportError | None] = asyncio.get_running_loop().create_future()

    def message_received(self, message: bytes, channel: Channel, value: Any = None) -> Outcome:
        name, _, rest = message.decode("utf-8", "replace").partition(" ")
        match name:
            case ":stray":
                print("stray from Python: \udce9")
                os.write(1, b"stray from a descriptor\n")
                libc = ctypes.CDLL(None)
                libc.puts(b"stray from C")
                libc.fflush(None)
                subprocess.run(STRAY_CHILD, check=True)
                logging.warning("stray from logging")
                self.transport.send(b"done")
            case ":steal":
                read = subprocess.run(READING_CHILD, check=False).returncode
                try:
                    input()
                except EOFError:
                    self.transport.send(b"a child read %d bytes" % read)
            case ":flood":
                self.flood = asyncio.create_task(self.fill(int(rest)))
            case ":slow":  # answers after the client has closed its end
                asyncio.get_running_loop().call_later(0.03, self.transport.send, b"late")
            case ":descriptors":
                inherited = [fd for fd in range(3, 64) if is_open(fd) and os.get_inheritable(fd)]
                self.transport.send(b"%d" % len(inherited))
            case _:
                self.transport.send(message)
        return ACCEPTED

    def message_refused(self, reason: str, channel: Channel, start: bytes = b"", end: bytes = b"") -> Outcome:
        self.transport.send(reason.encode())
        return ACCEPTED

    def channel_lost(self, channel: Channel, reason: TransportError | None) -> None:
        raise AssertionError("stdio has one stream")

    def connection_lost(self, reason: TransportError | None) -> None:
        self.lost.set_result(reason)

    async def fill(self, count: int) -> None:
        for _ in range(count):
            self.transport.send(b"x" * 999)
            await self.transport.drain()
        print("flooded")


def is_open(fd: int) -> bool:
    try:
        os.fstat(fd)
    except OSError:
        return False
    return True


async def main() -> None:
    stdin, stdout, limit = (int(word) for word in (sys.argv[1:] or ("0", "1", "1000000")))
    transport = StdioServerTransport(stdin=stdin, stdout=stdout, max_message_bytes=limit, grace=0.3)
    echo = Echo(transport)
    try:
        await transport.start(echo)
    except TransportError as error:
        sys.exit(f"not started: {error}")
    reason = await echo.lost
    await asyncio.sleep(0.1)
    await transport.close()
    await transport.close()
    print("lost:", reason)


asyncio.run(main())
