"""The client's end of stdio: a server that runs as a child process (specification: transports, stdio)."""

import asyncio
from collections.abc import Iterable, Mapping
from os import PathLike, fspath
from typing import TypedDict, Unpack

from mcp_runtime.connection.transport import ANSWER_SENT, Channel, Receiver, Sent, Transport, TransportError
from mcp_runtime.transports import pipes
from mcp_runtime.transports.pipes import LineWriter, line_writer
from mcp_runtime.transports.process import Child, child_environment, how_it_ended
from mcp_runtime.transports.reader import LineReader, StderrCallback, StderrReader

DEFAULT_MAX_MESSAGE_BYTES = 16 << 20
"""The maximum size of an incoming message in bytes."""
DEFAULT_GRACE = 2.0
"""Seconds for each step of a shutdown."""

# Seconds between the first sign of an end and its report, in which the exit status may become known.
_LINGER = 0.5


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


class StdioClientTransport(Transport):
    """Starts a server and communicates with it over its standard input and output.

    It implements `mcp_runtime.connection.transport.Transport`. The child leads its own session and process group, so
    whatever it starts ends with it; only processes that leave the group on purpose (daemons) escape.

    Args:
        command: the program, looked up on the PATH of its environment.
        args: its arguments.
        options: see `StdioClientOptions`.
    """

    def __init__(
        self, command: str | PathLike[str], *args: str | PathLike[str], **options: Unpack[StdioClientOptions]
    ) -> None:
        self._command = tuple(fspath(word) for word in (command, *args))
        cwd = options.get("cwd")
        self._cwd = None if cwd is None else fspath(cwd)
        self._env = child_environment(options.get("env"), options.get("inherit_env", False))
        self._stderr_callback = options.get("stderr")
        self._max_message_bytes = options.get("max_message_bytes", DEFAULT_MAX_MESSAGE_BYTES)
        self._grace = options.get("grace", DEFAULT_GRACE)
        self._live: _Live | None = None
        self._closed = False

    @property
    def pid(self) -> int | None:
        """The process id of the server; None before `start`."""
        return None if self._live is None else self._live.child.process.pid

    async def start(self, receiver: Receiver) -> None:
        """Start the server.

        Args:
            receiver: receives the messages.

        Raises:
            TransportError: it cannot be started.
        """
        if self._live is not None or self._closed:
            raise TransportError("a transport can be started only once; create a new one for another connection")
        child = Child(
            self._command,
            env=self._env,
            cwd=self._cwd,
            capture=self._stderr_callback is not None,
        )
        try:
            self._live = _Live(child, receiver, self, self._stderr_callback, self._max_message_bytes)
        except BaseException:
            child.kill_and_reap()
            raise

    def send(self, message: bytes, about: Sent = ANSWER_SENT) -> None:
        """Queue a message; messages sent in one turn of the event loop are written together.

        Args:
            message: a JSON text without line ends.
            about: what it is; ignored.
        """
        if self._live is not None:
            self._live.writer.send(message)

    async def drain(self) -> None:
        """Wait until few enough bytes are queued to continue sending, or the connection is lost."""
        if self._live is not None:
            await self._live.writer.drain()

    def pause_reading(self) -> None:
        """Stop delivering messages at once."""
        if self._live is not None:
            self._live.reader.pause()

    def resume_reading(self) -> None:
        """Resume delivering messages, from the next turn of the event loop on."""
        if self._live is not None:
            self._live.reader.resume()

    async def close(self) -> None:
        """End the server: close its input, then ask its group to end, then kill it; each step has `grace` seconds.

        Queued messages are still written, within the first step. When cancelled, the group is killed at once.
        """
        self._closed = True
        if self._live is not None:
            await self._live.close(self._grace)


class _Live:
    """A running server."""

    def __init__(
        self,
        child: Child,
        receiver: Receiver,
        channel: Channel,
        stderr: StderrCallback | None,
        max_message_bytes: int,
    ) -> None:
        self.child = child
        self._receiver: Receiver | None = receiver
        self._loop = asyncio.get_running_loop()
        self._closing: asyncio.Task[None] | None = None
        self._stdout_ended = False
        self._timers: list[asyncio.TimerHandle] = []
        stdin, stdout, err = child.process.stdin, child.process.stdout, child.process.stderr
        assert stdin is not None
        assert stdout is not None
        self._stderr: StderrReader | None = None
        if err is not None and stderr is not None:
            self._stderr = StderrReader(pipes.of_pipe(err.fileno(), err.close), stderr)
        self.writer: LineWriter = line_writer(pipes.of_pipe(stdin.fileno(), stdin.close), self._writing_failed)
        self.reader = LineReader(
            pipes.of_pipe(stdout.fileno(), stdout.close),
            receiver,
            channel,
            max_message_bytes=max_message_bytes,
            on_alone=self.writer.hurry,
            on_end=self._output_ended,
        )
        child.exited.add_done_callback(self._child_exited)

    async def close(self, grace: float) -> None:
        if self._closing is None:
            self._closing = self._loop.create_task(self._shut_down(grace))
        try:
            await asyncio.shield(self._closing)
        except asyncio.CancelledError:
            self.child.kill()
            await asyncio.wait((self._closing,), timeout=grace)
            raise

    async def _shut_down(self, grace: float) -> None:
        try:
            self.reader.read_the_rest()
            self.writer.finish()
            if await self.child.wait_gone(grace):
                return
            self.child.terminate()
            if await self.child.wait_gone(grace):
                return
            self.child.kill()
            if not await self.child.wait_gone(grace):
                self.child.reap_later()
        except BaseException:
            self.child.kill_and_reap()
            raise
        finally:
            self._release()

    def _release(self) -> None:
        self.writer.close()
        self.reader.close()
        if self._stderr is not None:
            self._stderr.close()
        self._tell(None)

    def _writing_failed(self, _: OSError) -> None:
        # Not the end yet: its last messages and its exit status may still be on their way.
        self._timers.append(self._loop.call_later(_LINGER, self._lose_unless_exited))

    def _output_ended(self, _: OSError | None) -> None:
        self._stdout_ended = True
        if self.child.exited.done():
            self._lose()
        else:
            self._timers.append(self._loop.call_later(_LINGER, self._lose_unless_exited))

    def _child_exited(self, _: asyncio.Future[int | None]) -> None:
        if self._stderr is not None:
            self._stderr.read_rest()
        if self._stdout_ended:
            self._loop.call_soon(self._lose)
        else:
            self.reader.read_rest()

    def _lose_unless_exited(self) -> None:
        if not self.child.exited.done():
            self._lose()

    def _lose(self) -> None:
        if self._closing is None and self._receiver is not None:
            self.writer.close()
            self.reader.close()
            self._tell(TransportError(self._why()))

    def _tell(self, reason: TransportError | None) -> None:
        for timer in self._timers:
            timer.cancel()
        receiver, self._receiver = self._receiver, None
        if receiver is not None:
            receiver.connection_lost(reason)

    def _why(self) -> str:
        child = self.child
        if child.exited.done():
            what = how_it_ended(child.exited.result())
        else:
            what = f"closed its {'output' if self._stdout_ended else 'input'}, although it is still running"
        middle = " in the middle of a message" if self.reader.unfinished else ""
        tail = self._stderr.tail if self._stderr is not None else ()
        said = ["; its standard error ended with:", *(f"    {line}" for line in tail)] if tail else [""]
        return f"{child.name} {what}{middle}" + "\n".join(said)
