"""A client that sends what it is told to send, valid or not, and records and judges everything that is said.

It is written by itself, since the runtime's client cannot send anything wrong.
"""

import asyncio
import json
import os
import signal
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final, cast

from mcp_bindgen.diagnostics import InputError
from mcp_bindgen.live.bindings import packages_of, revisions

MAX_LINE: Final = 4 << 20
"""The maximum length of a line of the server, in bytes; a longer one is not judged."""
MAX_SAID: Final = 10_000
"""The maximum number of messages of one conversation."""
GRACE: Final = 2.0
"""Seconds that a server has to end after its input is closed, and again after it is asked to."""
PAUSE: Final = 0.3
"""Seconds in which a server that answers what it should ignore does so."""
METHOD_NOT_FOUND: Final = -32601


def object_of(value: Any) -> dict[str, Any]:
    """Return an object of JSON; an empty one for anything else."""
    return cast(dict[str, Any], value) if isinstance(value, dict) else {}


def list_of(value: Any) -> list[Any]:
    """Return an array of JSON; an empty one for anything else."""
    return [*cast("list[object]", value)] if isinstance(value, list) else []


class Silent(Exception):
    """The server does not answer: it took too long, said too much, or has ended; the text says which."""


class Ended(Silent):
    """The server has ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wrong:
    """What the observer finds wrong with a message of the server: where in it, and why."""

    pointer: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One message: whether the client sent it, its text, what is wrong with it if the server did.

    `is_valid` is false if the client sent on purpose what it may not send.
    """

    by_client: bool
    text: str
    wrong: tuple[Wrong, ...] = ()
    is_valid: bool = True


class Peer:
    """One conversation with a server; how lines reach it and come back is up to a subclass.

    Attributes:
        timeout: seconds to wait for an answer.
        revision: the revision of the handshake, once that is over.
        said: all messages, in order.
        ours: why messages of this client that are meant to be valid are not: a bug of ours.
    """

    def __init__(self, timeout: float) -> None:
        from mcp_runtime.observe.observer import Observer
        from mcp_runtime.protocol.legacy import Side

        self.timeout = timeout
        self.revision = ""
        self._observer = Observer(package.BINDING for package in packages_of(revisions()))
        self._client, self._server = Side.CLIENT, Side.SERVER
        self._last_id = 0
        # The observer expects other messages than those that are sent, so what it says no longer counts.
        self._is_lost = False
        self.said: list[Said] = []
        self.ours: list[str] = []

    async def send(self, message: Any, *, is_valid: bool = True) -> None:
        """Send a message, or a text as it is; `is_valid` says that the client may send it.

        Raises:
            Silent: the server has ended.
        """
        text = message if isinstance(message, str) else json.dumps(message)
        found = self._observer.take(self._client, text.encode())
        if is_valid and found:
            if not any(each.wrong for each in self.said):
                self.ours += [f"{each.pointer or '/'}: {each.reason}" for each in found]
            self._is_lost = True
        self.said.append(Said(by_client=True, text=text, is_valid=is_valid))
        await self._transmit(text)

    def note(self, text: str) -> None:
        """Record something that the client sends, and is not a message that the observer expects."""
        self.said.append(Said(by_client=True, text=text, is_valid=False))

    async def _transmit(self, text: str) -> None:
        """Send a text to the server; raises like `send`."""
        raise NotImplementedError

    async def _line(self, deadline: float) -> bytes:
        """Return the next text from the server; raises like `next`."""
        raise NotImplementedError

    async def ask(self, method: str, params: Any = None, *, id: Any = None, is_valid: bool = True) -> dict[str, Any]:
        """Send a request, and return its answer; what the server asks meanwhile is answered.

        Raises:
            Silent: the server does not answer.
        """
        self._last_id += 1
        id_ = self._last_id if id is None else id
        content = {} if params is None else {"params": params}
        await self.send({"jsonrpc": "2.0", "id": id_, "method": method, **content}, is_valid=is_valid)
        return await self.answer_to(id_)

    async def answer_to(self, id_: Any) -> dict[str, Any]:
        """Return the answer to a request.

        Raises:
            Silent: the server does not answer.
        """
        deadline = asyncio.get_running_loop().time() + self.timeout
        while True:
            message = await self.next(deadline)
            if message.get("id") == id_ and "method" not in message:
                return message

    async def next(self, deadline: float) -> dict[str, Any]:
        """Return the next message of the server that is an object, by a time of the event loop.

        Raises:
            Silent: none comes.
        """
        while True:
            line = await self._line(deadline)
            found = self._observer.take(self._server, line)
            wrong = () if self._is_lost else tuple(Wrong(pointer=f.pointer, reason=f.reason) for f in found)
            self.said.append(Said(by_client=False, text=line.decode("utf-8", "replace"), wrong=wrong))
            if len(self.said) > MAX_SAID:
                raise Silent(f"the server sent more than {MAX_SAID:,} messages")
            with suppress(ValueError, RecursionError):
                value: Any = json.loads(line)
                if batch := list_of(value):
                    return {"batch": batch}
                if message := object_of(value):
                    await self._reply(message)
                    return message

    async def settle(self, seconds: float) -> list[dict[str, Any]]:
        """Return the messages that the server sends in some time without being asked.

        Raises:
            Ended: it ends instead.
        """
        found: list[dict[str, Any]] = []
        deadline = asyncio.get_running_loop().time() + seconds
        try:
            while True:
                found.append(await self.next(deadline))
        except Ended:
            raise
        except Silent:
            return found

    async def _reply(self, message: Mapping[str, Any]) -> None:
        """Answer a request of the server: this client has no capabilities, but every client answers a ping."""
        if "method" not in message or "id" not in message:
            return
        error = {"code": METHOD_NOT_FOUND, "message": "Method not found"}
        answer: dict[str, Any] = {"result": {}} if message["method"] == "ping" else {"error": error}
        await self.send({"jsonrpc": "2.0", "id": message["id"], **answer})


class _Process(Peer):
    """A conversation over the standard input and output of a server."""

    def __init__(self, process: asyncio.subprocess.Process, timeout: float) -> None:
        from mcp_runtime.transports.framing import LineFramer

        super().__init__(timeout)
        self._process = process
        self._framer = LineFramer(MAX_LINE)
        self._lines: list[bytes] = []

    async def end_input(self) -> bool:
        """Close the input of the server; return whether it ends by itself."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        with suppress(TimeoutError):
            await asyncio.wait_for(self._process.wait(), GRACE)
            return True
        return False

    async def _transmit(self, text: str) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(text.encode() + b"\n")
            await asyncio.wait_for(self._process.stdin.drain(), self.timeout)
        except (OSError, TimeoutError):
            raise Silent("the server does not read, or has ended") from None

    async def _line(self, deadline: float) -> bytes:
        assert self._process.stdout is not None
        while not self._lines:
            left = deadline - asyncio.get_running_loop().time()
            try:
                data = await asyncio.wait_for(self._process.stdout.read(1 << 16), max(left, 0.001))
            except TimeoutError:
                raise Silent("no answer in time") from None
            if not data:
                raise Ended("the server has ended")
            for line in self._framer.feed(data):
                if isinstance(line, bytes):
                    self._lines.append(line)
                else:
                    self._observer.skip(self._server, line.start, line.end)
        return self._lines.pop(0)


@asynccontextmanager
async def started(
    words: tuple[str, ...], env: Mapping[str, str], cwd: str | None, timeout: float
) -> AsyncGenerator[Peer]:
    """Start a server, and end it, with everything that it started.

    Raises:
        InputError: it cannot be started.
    """
    pipe, nothing = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
    try:
        process = await asyncio.create_subprocess_exec(
            *words, stdin=pipe, stdout=pipe, stderr=nothing, env={**os.environ, **env}, cwd=cwd, start_new_session=True
        )
    except OSError as error:
        raise InputError.at(words[0], f"cannot be started: {error.strerror}") from None
    peer = _Process(process, timeout)
    try:
        yield peer
    finally:
        if not await peer.end_input():
            _signal(process.pid, signal.SIGTERM)
            with suppress(TimeoutError):
                await asyncio.wait_for(process.wait(), GRACE)
        _signal(process.pid, signal.SIGKILL)
        await process.wait()


def _signal(group: int, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)
