"""Stdio: a server as a child process, or this process as a server (specification: transports, stdio).

Both ends are a `stdio_client.StdioTransport`: lines in, lines out. What happens to bytes is the same for both, each
step in a file of its own:

- `pipes` prepares a descriptor for the event loop, whatever it is (a pipe, a socket, a file, a terminal; on Windows a
  thread takes part), and writes queued lines to it. A handler waits once too much is queued.
- `reader` reads from it, no longer than a turn at a time, makes lines of the bytes, and gives them to the receiver. A
  line that is too long is skipped, but for its two ends.

The client starts the server in a group of its own (`process`), and ends it as the protocol specifies: it closes the
input, waits, and then terminates whatever the server has started. The server takes over descriptors 0 and 1, so that
nothing that its handlers print can disturb the protocol. Signals and the end of the input both end it, within a given
time.
"""

import asyncio
import errno
import importlib
import os
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, asynccontextmanager, suppress
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING, TypedDict, Unpack

from mcp_runtime.core.connection.transport import Receiver, TransportError
from mcp_runtime.core.functions import refuse_unknown
from mcp_runtime.core.transports import pipes, stdio_client
from mcp_runtime.core.transports.process import Ending, on_signals
from mcp_runtime.core.transports.stdio_client import DEFAULT_GRACE, StdioTransport

if TYPE_CHECKING:
    from mcp_runtime.core.handlers import ServerHandlers
    from mcp_runtime.core.handshake.client import Peer

_LINGER = 0.5  # seconds for the end of the input to arrive after writing has failed
_HANGUPS = frozenset({errno.EIO, errno.ECONNRESET, errno.EPIPE, getattr(errno, "ECANCELED", errno.EPIPE)})


class StdioServerOptions(TypedDict, total=False):
    """The descriptors and timeouts of a stdio server.

    Attributes:
        stdin: the file descriptor to read, 0; any other one belongs to the transport from `start` on.
        stdout: the file descriptor to write, 1; any other one belongs to the transport from `start` on.
        max_message_bytes: longer messages are skipped, and reported to `Receiver.message_refused`; 16 MiB.
        grace: seconds that `close` gives the client to read what is queued; 2.
    """

    stdin: int
    stdout: int
    max_message_bytes: int
    grace: float


class StdioServerTransport(StdioTransport):
    """Takes over standard input and output, and communicates with the client over them.

    It implements `connection.transport.Transport`. From `start` on, permanently, file descriptor 1 is standard
    error and 0 is empty: output of handlers, C code or child processes cannot disturb the protocol, and they cannot
    read from it. Pipes, sockets, terminals and files all work; on Windows and for files, threads read and write.

    A client that only closed its sending end still receives messages until `close`, although `connection_lost` has been
    called.

    Args:
        options: see `StdioServerOptions`.
    """

    def __init__(self, **options: Unpack[StdioServerOptions]) -> None:
        refuse_unknown(options, StdioServerOptions.__optional_keys__)
        super().__init__(
            options.get("max_message_bytes", stdio_client.DEFAULT_MAX_MESSAGE_BYTES),
            options.get("grace", DEFAULT_GRACE),
        )
        self._stdin = options.get("stdin", 0)
        self._stdout = options.get("stdout", 1)

    async def start(self, receiver: Receiver) -> None:
        """Take over the descriptors and start reading.

        Args:
            receiver: receives the messages.

        Raises:
            TransportError: standard input or output is not open.
        """
        if self._is_started:
            raise TransportError("a transport can be started only once; create a new one for another connection")
        self._begin(receiver, *_take_over(self._stdin, self._stdout))

    @property
    def can_still_send(self) -> bool:
        """Whether the client may still be reading; there is no sign that it is not."""
        return self._is_started and not self._timers

    async def close(self) -> None:
        """Stop reading, write what is queued if the client reads it within `grace` seconds, close the descriptors."""
        if not self._is_started:
            return
        self._reader.close()
        self._writer.finish()
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._grace):
                    await self._writer.wait_closed()
        finally:
            self._writer.close()
            self._report_end(None)

    def _input_ended(self, error: OSError | None) -> None:
        if error is not None and error.errno not in _HANGUPS:
            reason = TransportError(f"cannot read from the client: {error.strerror}")
        elif self._reader.unfinished:
            reason = TransportError("the client closed its end in the middle of a message")
        else:
            reason = None
        self._reader.close()
        self._report_end(reason)

    def _writing_failed(self, error: OSError) -> None:
        # Not the end yet: a client that is gone has closed our input too, behind its last messages.
        reason = TransportError(f"cannot write to the client: {error.strerror}")
        self._timers.append(self._loop.call_later(_LINGER, self._lose, reason))

    def _lose(self, reason: TransportError) -> None:
        self._reader.close()
        self._report_end(reason)


def _take_over(stdin: int, stdout: int) -> tuple[pipes.Descriptor, pipes.Descriptor]:
    """Return the two directions, out of reach of everything else in this process and its children."""
    own_in = _moved(stdin, "standard input")
    try:
        own_out = _moved(stdout, "standard output")
    except TransportError:
        os.close(own_in)
        raise
    if stdin == 0:
        _replace(0, os.open(os.devnull, os.O_RDONLY))
    if stdout == 1:
        _divert_stdout()
    for given in {stdin, stdout} - {0, 1}:
        os.close(given)
    return pipes.adopt(own_in, writing=False), pipes.adopt(own_out, writing=True)


def _moved(fd: int, name: str) -> int:
    # If it was closed when Python started, something else may have its number by now.
    if (fd == 0 and sys.__stdin__ is None) or (fd == 1 and sys.__stdout__ is None):
        raise TransportError(f"{name} is not open")
    try:
        return os.dup(fd)
    except OSError as error:
        raise TransportError(f"{name} is not open (file descriptor {fd})") from error


def _divert_stdout() -> None:
    try:
        os.dup2(2, 1)
    except OSError:  # there is no standard error
        _replace(1, os.open(os.devnull, os.O_WRONLY))
    # Earlier output goes to standard error too. From here on it is for people: line-buffered, and never failing.
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    try:
        if callable(reconfigure):
            reconfigure(line_buffering=True, errors="backslashreplace")
    except OSError:  # it was a file, and tries to continue at its old position
        sys.stdout = sys.stderr
    if sys.platform == "win32":
        sys.stdout = sys.stderr


def _replace(fd: int, by: int) -> None:
    os.dup2(by, fd)
    if by != fd:
        os.close(by)


@asynccontextmanager
async def connect_stdio(
    command: str | PathLike[str], *args: str | PathLike[str], **options: Unpack[stdio_client.StdioClientOptions]
) -> AsyncGenerator["Peer"]:
    """Start a server program and connect to it, for as long as the context lasts; then stop it and all it started.

    The program starts when the peer is first used.

    Args:
        command: the program, looked up on the PATH of its environment.
        args: its arguments.
        options: see `StdioClientOptions`.
    """
    from mcp_runtime.core.handshake.client import Peer

    start = partial(stdio_client.StdioClientTransport, command, *args, **options)
    async with aclosing(Peer(start(), again=start)) as peer:
        yield peer


def serve_stdio(*servers: "ServerHandlers", end_timeout: float = 3.0, **options: Unpack[StdioServerOptions]) -> None:
    """Serve the client that started this process, until it disconnects; SIGINT and SIGTERM end it too.

    From here on, printed output goes to standard error. Uses uvloop if that is installed.

    Args:
        servers: one instance of a generated `Server` per revision; the client's choice decides which one answers.
        end_timeout: seconds that handlers have to end after that, in addition to the `grace` for queued messages; then
            the process exits with status 1.
        options: see `StdioServerOptions`.

    Raises:
        ValueError: there is no server, or two servers have the same revision.
        LifespanError: a lifespan of the servers failed.
        ConnectionClosed: standard input or output is not open.
    """
    refuse_unknown(options, {*StdioServerOptions.__optional_keys__, "end_timeout"})
    ending = Ending(options.get("grace", DEFAULT_GRACE) + end_timeout)
    with asyncio.Runner(loop_factory=_loop_factory()) as runner, suppress(KeyboardInterrupt):
        runner.run(_serve(servers, options, ending))
    ending.over()


async def _serve(servers: tuple["ServerHandlers", ...], options: StdioServerOptions, ending: Ending) -> None:
    from mcp_runtime.core.server import serving

    task = asyncio.current_task()
    assert task is not None
    if os.isatty(options.get("stdin", 0)):
        print("waiting for an MCP client on standard input; Ctrl-D ends it", file=sys.stderr, flush=True)
    loop = asyncio.get_running_loop()
    with on_signals(loop, task.cancel, partial(ending.begin, loop)), suppress(asyncio.CancelledError):
        async with serving(StdioServerTransport(**options), *servers) as connection:
            connection.on_close(lambda _: ending.begin(loop))
            await connection.wait_closed()


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        factory: Callable[[], asyncio.AbstractEventLoop] = importlib.import_module("uvloop").new_event_loop
    except ImportError:
        return None
    return factory
