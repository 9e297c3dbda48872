"""The client's end of stdio, a server as a child process, and what both ends share (specification: stdio)."""

import asyncio
from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from os import PathLike, fspath
from typing import IO, TypedDict, Unpack

from mcp_runtime.core.connection.transport import ANSWER_SENT, Receiver, Sent, Transport, TransportError
from mcp_runtime.core.errors import printable
from mcp_runtime.core.functions import refuse_unknown
from mcp_runtime.core.transports import pipes
from mcp_runtime.core.transports.pipes import Descriptor, LineWriter, line_writer
from mcp_runtime.core.transports.process import Child, child_environment, how_it_ended
from mcp_runtime.core.transports.reader import LineReader, byte_reader

DEFAULT_MAX_MESSAGE_BYTES = 16 << 20
"""The maximum size of an incoming message in bytes."""
DEFAULT_GRACE = 2.0
"""Seconds for each step of a shutdown."""

# Seconds between the first sign of an end and its report, in which the exit status may become known.
_LINGER = 0.5


StderrCallback = Callable[[str], None]
"""Called with each line, without its end. The text is the child's own: escape it before showing it."""

_LINE = 64 * 1024  # bytes; a longer line is split
_TAIL_LINES = 8
_TAIL_WIDTH = 300


class StdioClientOptions(TypedDict, total=False):
    """How a server is started, connected to and stopped.

    Attributes:
        env: environment variables to set for it.
        inherit_env: which of our variables it inherits: False (the default) for the safe ones (locale, paths, user),
            True for all, or the names of additional ones.
        cwd: its working directory; by default that of this process.
        stderr: called with each line of its standard error, whose last lines are then part of the error if it dies; by
            default it shares our standard error.
        max_message_bytes: longer messages are skipped, and reported to `Receiver.message_refused`; 16 MiB.
        grace: seconds that each step of `close` waits; 2.
    """

    env: Mapping[str, str] | None
    inherit_env: bool | Iterable[str]
    cwd: str | PathLike[str] | None
    stderr: StderrCallback | None
    max_message_bytes: int
    grace: float


class StdioTransport(Transport):
    """Either end of stdio: it reads and writes one message on each line.

    Args:
        max_message_bytes: longer messages are skipped, and reported to `Receiver.message_refused`.
        grace: seconds that each step of `close` waits.
    """

    has_authorization = False
    _loop: asyncio.AbstractEventLoop
    _reader: LineReader
    _writer: LineWriter

    def __init__(self, max_message_bytes: int, grace: float) -> None:
        self._max_message_bytes = max_message_bytes
        self._grace = grace
        self._receiver: Receiver | None = None
        self._is_started = False
        self._timers: list[asyncio.TimerHandle] = []

    def _begin(self, receiver: Receiver, source: Descriptor, target: Descriptor) -> None:
        self._loop = asyncio.get_running_loop()
        self._receiver = receiver
        self._writer = line_writer(target, self._writing_failed)
        self._reader = LineReader(
            source,
            receiver,
            self,
            max_message_bytes=self._max_message_bytes,
            on_alone=self._writer.hurry,
            on_end=self._input_ended,
        )
        self._is_started = True

    def send(self, message: bytes, about: Sent = ANSWER_SENT) -> None:
        """Queue a message; messages sent in one turn of the event loop are written together.

        Args:
            message: a JSON text without line ends.
            about: what it is; ignored.
        """
        if self._is_started:
            self._writer.send(message)

    async def drain(self) -> None:
        """Wait until few enough bytes are queued to continue sending, or the peer no longer reads."""
        if self._is_started:
            await self._writer.drain()

    def pause_reading(self) -> None:
        """Stop delivering messages at once."""
        if self._is_started:
            self._reader.pause()

    def resume_reading(self) -> None:
        """Resume delivering messages, from the next turn of the event loop on."""
        if self._is_started:
            self._reader.resume()

    @abstractmethod
    def _input_ended(self, error: OSError | None) -> None:
        """Handle that nothing more can be read."""

    @abstractmethod
    def _writing_failed(self, error: OSError) -> None:
        """Handle that nothing more can be written, although messages may still be on their way to us."""

    def _report_end(self, reason: TransportError | None) -> None:
        for timer in self._timers:
            timer.cancel()
        receiver, self._receiver = self._receiver, None
        if receiver is not None:
            receiver.connection_lost(reason)


class StdioClientTransport(StdioTransport):
    """Starts a server and communicates with it over its standard input and output.

    It implements `mcp_runtime.transports.Transport`. The child leads its own session and process group,
    so whatever it starts ends with it; only processes that leave the group on purpose (daemons) escape.

    Args:
        command: the program, looked up on the PATH of its environment.
        args: its arguments.
        options: see `StdioClientOptions`.
    """

    def __init__(
        self, command: str | PathLike[str], *args: str | PathLike[str], **options: Unpack[StdioClientOptions]
    ) -> None:
        refuse_unknown(options, StdioClientOptions.__optional_keys__)
        if isinstance(command, list | tuple):
            raise TypeError("pass each word of the command by itself: connect_stdio('python', 'server.py')")
        super().__init__(
            options.get("max_message_bytes", DEFAULT_MAX_MESSAGE_BYTES), options.get("grace", DEFAULT_GRACE)
        )
        self._command = tuple(fspath(word) for word in (command, *args))
        cwd = options.get("cwd")
        self._cwd = None if cwd is None else fspath(cwd)
        self._env = child_environment(options.get("env"), options.get("inherit_env", False))
        self._stderr_callback = options.get("stderr")
        self._stderr: StderrReader | None = None
        self._output_has_ended = False
        self._is_closed = False
        self._closing: asyncio.Task[None] | None = None

    _child: Child

    @property
    def pid(self) -> int | None:
        """The process id of the server; None before `start`."""
        return self._child.process.pid if self._is_started else None

    async def start(self, receiver: Receiver) -> None:
        """Start the server.

        Args:
            receiver: receives the messages.

        Raises:
            TransportError: it cannot be started.
        """
        if self._is_started or self._is_closed:
            raise TransportError("a transport can be started only once; create a new one for another connection")
        child = Child(self._command, env=self._env, cwd=self._cwd, capture=self._stderr_callback is not None)
        try:
            process, self._child = child.process, child
            assert process.stdin is not None and process.stdout is not None
            if process.stderr is not None and self._stderr_callback is not None:
                self._stderr = StderrReader(_descriptor_of(process.stderr), self._stderr_callback)
            self._begin(receiver, _descriptor_of(process.stdout), _descriptor_of(process.stdin))
            child.exited.add_done_callback(self._child_exited)
        except BaseException:
            child.kill_and_reap()
            raise

    async def close(self) -> None:
        """End the server: close its input, then ask its group to end, then kill it; each step has `grace` seconds.

        Queued messages are still written, within the first step. When cancelled, the group is killed at once.
        """
        self._is_closed = True
        if not self._is_started:
            return
        if self._closing is None:
            self._closing = self._loop.create_task(self._shut_down(self._grace))
        try:
            await asyncio.shield(self._closing)
        except asyncio.CancelledError:
            self._child.kill()
            await asyncio.wait((self._closing,), timeout=self._grace)
            raise

    async def _shut_down(self, grace: float) -> None:
        try:
            self._reader.read_the_rest()
            self._writer.finish()
            if await self._child.wait_gone(grace):
                return
            self._child.terminate()
            if await self._child.wait_gone(grace):
                return
            self._child.kill()
            if not await self._child.wait_gone(grace):
                self._child.reap_later()
        except BaseException:
            self._child.kill_and_reap()
            raise
        finally:
            self._release()

    def _release(self) -> None:
        self._writer.close()
        self._reader.close()
        if self._stderr is not None:
            self._stderr.close()
        self._report_end(None)

    def _writing_failed(self, error: OSError) -> None:
        # Not the end yet: its last messages and its exit status may still be on their way.
        self._timers.append(self._loop.call_later(_LINGER, self._lose_unless_exited))

    def _input_ended(self, error: OSError | None) -> None:
        self._output_has_ended = True
        if self._child.exited.done():
            self._lose()
        else:
            self._timers.append(self._loop.call_later(_LINGER, self._lose_unless_exited))

    def _child_exited(self, _: asyncio.Future[int | None]) -> None:
        if self._stderr is not None:
            self._stderr.read_rest()
        if self._output_has_ended:
            self._loop.call_soon(self._lose)
        else:
            self._reader.read_rest()

    def _lose_unless_exited(self) -> None:
        if not self._child.exited.done():
            self._lose()

    def _lose(self) -> None:
        if self._closing is None and self._receiver is not None:
            self._writer.close()
            self._reader.close()
            self._report_end(TransportError(self._why()))

    def _why(self) -> str:
        child = self._child
        if child.exited.done():
            what = how_it_ended(child.exited.result())
        else:
            what = f"closed its {'output' if self._output_has_ended else 'input'}, although it is still running"
        middle = " in the middle of a message" if self._reader.unfinished else ""
        tail = self._stderr.tail if self._stderr is not None else ()
        lines = ["; its standard error ended with:", *(f"    {each}" for each in tail)] if tail else [""]
        return f"{child.name} {what}{middle}" + "\n".join(lines)


def _descriptor_of(file: IO[bytes]) -> Descriptor:
    return pipes.of_pipe(file.fileno(), file.close)


class StderrReader:
    """Reads a child's standard error, so that the child never blocks on it.

    Args:
        descriptor: the descriptor to read; closed by the reader.
        callback: called with each line.
    """

    def __init__(self, descriptor: Descriptor, callback: StderrCallback) -> None:
        self._callback = callback
        self._loop = asyncio.get_running_loop()
        self._rest = b""
        self._tail: deque[str] = deque(maxlen=_TAIL_LINES)
        self._bytes = byte_reader(descriptor, self._arrived, self._ended)
        self._bytes.resume()

    @property
    def tail(self) -> tuple[str, ...]:
        """The last lines, bounded and printable."""
        lines = (printable(line[: _TAIL_WIDTH + 1].rstrip()) for line in self._tail)
        return tuple(line if len(line) <= _TAIL_WIDTH else line[:_TAIL_WIDTH] + "..." for line in lines)

    def read_rest(self) -> None:
        """Read what is already available as the rest."""
        self._bytes.read_rest()

    def close(self) -> None:
        """Stop for good; an incomplete line is passed on."""
        self._bytes.close()
        self._ended(None)

    def _arrived(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._pass_on(line)
        while len(self._rest) >= _LINE:
            part, self._rest = self._rest[:_LINE], self._rest[_LINE:]
            self._pass_on(part)

    def _ended(self, _: OSError | None) -> None:
        rest, self._rest = self._rest, b""
        if rest:
            self._pass_on(rest)

    def _pass_on(self, raw: bytes) -> None:
        line = raw.removesuffix(b"\r").decode("utf-8", "replace")
        if line.strip():
            self._tail.append(line[: 4 * _TAIL_WIDTH])
        try:
            self._callback(line)
        except Exception as error:
            self._loop.call_exception_handler({"message": "the stderr callback failed", "exception": error})
