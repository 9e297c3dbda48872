"""A client that sends what it is told to send, valid or not, and records and judges everything that is said.

It is written by itself, since the runtime's client cannot send anything wrong.
"""

import asyncio
import json
import os
import signal
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

from mcp_bindgen.check.requirements import LEGACY
from mcp_bindgen.diagnostics import InputError, clip
from mcp_bindgen.live.bindings import packages_of, revisions

if TYPE_CHECKING:
    from mcp_runtime.observe.observer import Finding as Wrong

MAX_LINE: Final = 4 << 20
"""The maximum length of a line of the server, in bytes; a longer one is not judged."""
MAX_SAID: Final = 10_000
"""The maximum number of messages of one conversation."""
MAX_TEXT: Final = 10_000
"""The number of characters of a message that are kept."""
GRACE: Final = 2.0
"""Seconds that a server has to end after it is asked to."""
BRIEF: Final = 0.5
"""Seconds that a server has to end after its input is closed, before it is asked to."""
PAUSE: Final = 0.3
"""Seconds in which a server that answers what it should ignore does so."""
META: Final = "io.modelcontextprotocol/"
CLIENT: Final = {"name": "mcp-bindgen-check", "version": "1"}
EVERYTHING: Final[Mapping[str, Any]] = {
    "roots": {},
    "sampling": {"tools": {}},
    "elicitation": {"form": {}, "url": {}},
}
"""The capabilities of a client that is asked for input, and refuses."""
_REFUSALS: Final[Mapping[str, Mapping[str, Any]]] = {
    "ping": {"result": {}},
    "roots/list": {"result": {"roots": []}},
    "elicitation/create": {"result": {"action": "decline"}},
    "sampling/createMessage": {"error": {"code": -1, "message": "The user refused"}},
}
_NOT_FOUND: Final = {"error": {"code": -32601, "message": "Method not found"}}


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
class Said:
    """One message: whether the client sent it, its text, and what the observer finds wrong with it."""

    by_client: bool
    text: str
    wrong: "tuple[Wrong, ...]" = ()


class Peer(ABC):
    """One conversation with a server; how texts reach it and come back is up to a subclass.

    Attributes:
        timeout: seconds to wait for an answer.
        revision: the revision of the conversation, once the server has agreed to it.
        capabilities: those of the client.
        offered: the capabilities of the server.
        server: its name and version.
        said: all messages, in order.
        ours: why messages of this client that are meant to be valid are not: a bug of ours.
    """

    def __init__(self, timeout: float) -> None:
        from mcp_runtime.observe.observer import Observer
        from mcp_runtime.protocol.dispatch import Side

        self.timeout = timeout
        self.revision = ""
        self.capabilities: Mapping[str, Any] = {}
        self.offered: dict[str, Any] = {}
        self.server: dict[str, Any] = {}
        self._observer = Observer(package.BINDING for package in packages_of(revisions()))
        self._client, self._server = Side.CLIENT, Side.SERVER
        self._last_id = 0
        self.said: list[Said] = []
        self.ours: list[str] = []

    @property
    def is_legacy(self) -> bool:
        """Whether the conversation begins with a handshake."""
        return self.revision in LEGACY

    async def send(self, message: Any, *, is_valid: bool = True) -> None:
        """Send a message, or a text as it is; `is_valid` says that the client may send it.

        Raises:
            Silent: the server has ended.
        """
        text = message if isinstance(message, str) else json.dumps(message)
        found = tuple(self._observer.take(self._client, text.encode()))
        # A message of the server that broke the protocol may have led the observer astray.
        if is_valid and found and not any(each.wrong for each in self.said):
            self.ours += [f"{each.pointer or '/'}: {each.reason}" for each in found]
        self.said.append(Said(by_client=True, text=clip(text, MAX_TEXT), wrong=found))
        await self._transmit(text)

    @abstractmethod
    async def _transmit(self, text: str) -> None:
        """Send a text to the server; raises like `send`."""

    @abstractmethod
    async def _line(self, deadline: float) -> bytes:
        """Return the next text from the server; raises like `next`."""

    def request(self, method: str, params: Mapping[str, Any] | None = None, id_: Any = None) -> dict[str, Any]:
        """Return a message in the form of the revision: a request, or the notification of that name."""
        params = params if self.is_legacy else {"_meta": self.meta(), **(params or {})}
        head: dict[str, Any] = {"jsonrpc": "2.0"}
        if not method.startswith("notifications/"):
            self._last_id += 1
            head["id"] = self._last_id if id_ is None else id_
        elif "_meta" in (params or {}):
            params = {key: value for key, value in (params or {}).items() if key != "_meta"} or None
        return {**head, "method": method, **({} if params is None else {"params": params})}

    def meta(self, revision: str = "") -> dict[str, Any]:
        """Return the metadata of a request of the modern era (basic, "_meta")."""
        return {
            f"{META}protocolVersion": revision or self.revision,
            f"{META}clientCapabilities": self.capabilities,
            f"{META}clientInfo": CLIENT,
        }

    async def ask(
        self, method: str, params: Mapping[str, Any] | None = None, *, id_: Any = None, is_valid: bool = True
    ) -> dict[str, Any]:
        """Send a request, and return its answer; what the server asks meanwhile is answered.

        Raises:
            Silent: the server does not answer.
        """
        request = self.request(method, params, id_)
        await self.send(request, is_valid=is_valid)
        return await self.answer_to(request["id"])

    async def answer_to(self, id_: Any) -> dict[str, Any]:
        """Return the answer to a request; raises like `ask`."""
        deadline = asyncio.get_running_loop().time() + self.timeout
        while True:
            message = await self.next(deadline)
            if message.get("id") == id_ and type(message["id"]) is type(id_) and "method" not in message:
                return message

    async def next(self, deadline: float) -> dict[str, Any]:
        """Return the next message of the server that is an object, by a time of the event loop.

        Raises:
            Silent: none comes.
        """
        while True:
            line = await self._line(deadline)
            wrong = tuple(self._observer.take(self._server, line))
            self.said.append(Said(by_client=False, text=clip(line.decode("utf-8", "replace"), MAX_TEXT), wrong=wrong))
            if len(self.said) > MAX_SAID:
                raise Silent(f"the server sent more than {MAX_SAID:,} messages")
            with suppress(ValueError, RecursionError):
                value: Any = json.loads(line)
                if isinstance(value, list):
                    return {"batch": list_of(cast("object", value))}
                if message := object_of(value):
                    await self._reply(message)
                    return message

    async def settle(self, seconds: float = PAUSE) -> list[dict[str, Any]]:
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
        """Answer a request of the server; in the modern era a client sends no answers."""
        if (
            "method" not in message
            or not isinstance(message.get("id"), int | str)
            or self.revision not in ("", *LEGACY)
        ):
            return
        method = str(message["method"])
        is_open = method == "ping" or any(method.startswith(f"{name}/") for name in self.capabilities)
        answer = _REFUSALS.get(method, _NOT_FOUND) if is_open else _NOT_FOUND
        await self.send({"jsonrpc": "2.0", "id": message["id"], **answer})

    async def begin(self, revision: str) -> bool:
        """Begin a conversation; return whether the server speaks the revision, which it may decline.

        Raises:
            Silent: the server does not answer.
        """
        self.revision = revision
        if not self.is_legacy:
            result = object_of((await self.ask("server/discover")).get("result"))
            is_spoken = revision in list_of(result.get("supportedVersions"))
        else:
            hello = {"protocolVersion": revision, "capabilities": self.capabilities, "clientInfo": CLIENT}
            result = object_of((await self.ask("initialize", hello)).get("result"))
            if is_spoken := result.get("protocolVersion") == revision:
                await self.send(self.request("notifications/initialized"))
                await self.settle(PAUSE / 3)
        self.offered = object_of(result.get("capabilities"))
        named = object_of(object_of(result.get("_meta")).get(f"{META}serverInfo"))
        self.server = object_of(result.get("serverInfo")) or named
        return is_spoken


class Process(Peer):
    """A conversation over the standard input and output of a server."""

    def __init__(self, process: asyncio.subprocess.Process, timeout: float) -> None:
        from mcp_runtime.transports.framing import LineFramer

        super().__init__(timeout)
        self.process = process
        self._framer = LineFramer(MAX_LINE)
        self._lines: list[bytes] = []

    async def end_input(self, seconds: float = BRIEF) -> bool:
        """Close the input of the server; return whether it ends by itself in time."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        with suppress(TimeoutError):
            await asyncio.wait_for(self.process.wait(), seconds)
            return True
        return False

    async def discard(self) -> None:
        """Read the output to its end, since asyncio keeps its pipe open until then."""
        assert self.process.stdout is not None
        while await self.process.stdout.read(1 << 16):
            pass

    async def _transmit(self, text: str) -> None:
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(text.encode() + b"\n")
            await asyncio.wait_for(self.process.stdin.drain(), self.timeout)
        except TimeoutError:
            raise Silent("the server does not read") from None
        except OSError:
            raise Ended("the server has ended") from None

    async def _line(self, deadline: float) -> bytes:
        assert self.process.stdout is not None
        while not self._lines:
            left = deadline - asyncio.get_running_loop().time()
            try:
                data = await asyncio.wait_for(self.process.stdout.read(1 << 16), max(left, 0.001))
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
) -> AsyncGenerator[Process]:
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
    peer = Process(process, timeout)
    try:
        yield peer
    finally:
        if not await peer.end_input():
            kill(process.pid, signal.SIGTERM)
            with suppress(TimeoutError):
                await asyncio.wait_for(process.wait(), GRACE)
        kill(process.pid, signal.SIGKILL)
        await process.wait()
        with suppress(TimeoutError):
            await asyncio.wait_for(peer.discard(), GRACE)


def kill(group: int, number: int) -> None:
    """Send a signal to a server and everything that it started."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)
