"""A client that sends what it is told to send, valid or not, and records and judges everything that is said.

It is written by itself, since the runtime's client cannot send anything wrong.
"""

import asyncio
import json
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

from mcp_bindgen.check.requirements import LEGACY
from mcp_bindgen.ir.diagnostics import InputError, clip
from mcp_bindgen.ir.json_values import as_list, as_object, is_list, json_value
from mcp_bindgen.live.bindings import packages_of, revisions
from mcp_bindgen.live.target import Command
from mcp_runtime.core.connection.transport import ACCEPTED, Channel, Outcome, Receiver, TransportError
from mcp_runtime.core.protocol.dispatch import Side
from mcp_runtime.core.transports.stdio_client import StdioClientTransport
from mcp_runtime.observe.observer import Finding as Wrong
from mcp_runtime.observe.observer import Observer

MAX_LINE: Final = 4 << 20
"""The maximum length of a line of the server, in bytes; a longer one is not judged."""
MAX_SAID: Final = 10_000
"""The maximum number of messages of one conversation."""
MAX_BYTES: Final = 64 << 20
"""The maximum size of all that the server says in one conversation."""
MAX_TEXT: Final = 4_000
"""The number of characters of a message that are kept."""
BRIEF: Final = 0.5
"""Seconds of each step of the end of a server: after its input is closed, and after it is asked to end."""
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


class NotJudged(Exception):
    """What the server does can be right or wrong; the text says why."""


class Unreachable(NotJudged):
    """What is between the client and the server answers, or the session has ended."""


class Cut(Unreachable):
    """The connection ended before the answer."""


class Silent(Exception):
    """The server does not answer: it took too long, said too much, or has ended; the text says which."""


class Ended(Silent):
    """The server has ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One message: whether the client sent it, its text, and what the observer finds wrong with it."""

    by_client: bool
    text: str
    wrong: tuple[Wrong, ...] = ()


class Peer(ABC):
    """One conversation with a server; how texts reach it and come back is up to a subclass.

    Attributes:
        timeout: seconds to wait for an answer.
        begun: when it was started or reached, in time of the event loop.
        revision: the revision of the conversation, once the server has agreed to it.
        capabilities: those of the client.
        offered: the capabilities of the server.
        server: its name and version.
        said: all messages, in order.
        ours: why messages of this client that are meant to be valid are not: a bug of ours.
    """

    cancels = True
    """Whether a notification cancels; over HTTP, clients of the modern era close the stream instead."""

    def __init__(self, timeout: float) -> None:
        self.timeout = timeout
        self.begun = 0.0
        self.revision = ""
        self.capabilities: Mapping[str, Any] = {}
        self.offered: dict[str, Any] = {}
        self.server: dict[str, Any] = {}
        self._observer = Observer(package.BINDING for package in packages_of(revisions()))
        self._last_id = self._bytes = 0
        self.said: list[Said] = []
        self.ours: list[str] = []

    @property
    def is_legacy(self) -> bool:
        """Whether the conversation begins with a handshake."""
        return self.revision in LEGACY

    @property
    def always(self) -> str:
        """The request that every server of the era answers."""
        return "ping" if self.is_legacy else "server/discover"

    @property
    def hello(self) -> dict[str, Any]:
        """The parameters of `initialize`."""
        return {"protocolVersion": self.revision, "capabilities": self.capabilities, "clientInfo": CLIENT}

    async def send(self, message: Any, *, is_valid: bool = True) -> None:
        """Send a message, or a text as it is; `is_valid` says that the client may send it.

        Raises:
            Silent: the server has ended.
            NotJudged: something else answers.
        """
        text = message if isinstance(message, str) else json.dumps(message)
        found = tuple(self._observer.take(Side.CLIENT, text.encode()))
        # A message of the server that broke the protocol may have led the observer astray.
        if is_valid and found and not any(each.wrong for each in self.said):
            self.ours += [f"{each.pointer or '/'}: {each.reason}" for each in found]
        self.record(text, found, by_client=True)
        await self._transmit(text)

    def record(self, text: str, wrong: tuple[Wrong, ...] = (), *, by_client: bool) -> None:
        """Keep what was said."""
        self.said.append(Said(by_client=by_client, text=clip(text, MAX_TEXT), wrong=wrong))

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

    def meta(self) -> dict[str, Any]:
        """Return the metadata of a request of the modern era (basic, "_meta")."""
        return {
            f"{META}protocolVersion": self.revision,
            f"{META}clientCapabilities": self.capabilities,
            f"{META}clientInfo": CLIENT,
        }

    async def ask(
        self, method: str, params: Mapping[str, Any] | None = None, *, id_: Any = None, is_valid: bool = True
    ) -> dict[str, Any]:
        """Send a request, and return its answer; what the server asks meanwhile is answered.

        Raises:
            Silent: the server does not answer.
            NotJudged: something else answers.
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
        """Return the next message of the server that is an object, by a time of the event loop; raises like `ask`."""
        while True:
            line = await self._line(deadline)
            self.record(line.decode("utf-8", "replace"), tuple(self._observer.take(Side.SERVER, line)), by_client=False)
            self._bytes += len(line)
            if len(self.said) > MAX_SAID or self._bytes > MAX_BYTES:
                raise Silent(f"the server sent more than {MAX_SAID:,} messages or {MAX_BYTES >> 20} MiB")
            value = json_value(line)
            if is_list(value):
                return {"batch": value}
            if message := as_object(value):
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
        is_request = "method" in message and isinstance(message.get("id"), int | str)
        if is_request and (self.is_legacy or not self.revision):
            method = str(message["method"])
            is_open = method == "ping" or method.partition("/")[0] in self.capabilities
            answer = _REFUSALS.get(method, _NOT_FOUND) if is_open else _NOT_FOUND
            await self.send({"jsonrpc": "2.0", "id": message["id"], **answer})

    async def begin(self, revision: str) -> str:
        """Begin a conversation; return why the server does not speak the revision, empty if it does.

        Raises:
            Silent: the server does not answer.
            NotJudged: something else answers.
        """
        self.revision = revision
        answer = await (self.ask("initialize", self.hello) if self.is_legacy else self.ask("server/discover"))
        result = as_object(answer.get("result"))
        spoken = [result.get("protocolVersion")] if self.is_legacy else as_list(result.get("supportedVersions"))
        self.offered = as_object(result.get("capabilities"))
        named = as_object(as_object(result.get("_meta")).get(f"{META}serverInfo"))
        self.server = as_object(result.get("serverInfo")) or named
        if revision not in spoken:
            return f"it answers with {told(answer)}"
        if self.is_legacy:
            await self.send(self.request("notifications/initialized"))
            await self.settle(PAUSE / 3)
        return ""


class Process(Peer, Receiver):
    """A conversation over the standard input and output of a server.

    Attributes:
        transport: starts and ends the server, with everything that it started.
    """

    def __init__(self, command: Command, timeout: float, grace: float) -> None:
        super().__init__(timeout)
        self.transport = StdioClientTransport(
            *command.words,
            env=command.env,
            inherit_env=True,
            cwd=command.cwd,
            stderr=lambda line: None,  # its last lines are in the error
            max_message_bytes=MAX_LINE,
            grace=grace,
        )
        self._lines: list[bytes] = []
        self._changed = asyncio.Event()
        self._end = ""

    def message_received(self, message: bytes, channel: Channel, value: Any = None) -> Outcome:
        """Take a line, and no other one until it is asked for."""
        self._lines.append(message)
        self.transport.pause_reading()
        self._changed.set()
        return ACCEPTED

    def message_refused(self, reason: str, channel: Channel, start: bytes = b"", end: bytes = b"") -> Outcome:
        """Skip a line that is too long."""
        self._observer.skip(Side.SERVER, start, end)
        return ACCEPTED

    def connection_lost(self, reason: TransportError | None) -> None:
        """Note the end, with the last line of the standard error."""
        first, *rest = str(reason or "the server has ended").splitlines()
        said = f", and says {rest[-1].strip()!r}" if rest else ""
        self._end = first.removesuffix("; its standard error ended with:") + clip(said, 200)
        self._changed.set()

    async def _transmit(self, text: str) -> None:
        if self._end:
            raise Ended(self._end)
        self.transport.send(text.encode())
        try:
            await asyncio.wait_for(self.transport.drain(), self.timeout)
        except TimeoutError:
            raise Silent("the server does not read") from None

    async def _line(self, deadline: float) -> bytes:
        while not self._lines:
            if self._end:
                raise Ended(self._end)
            self._changed.clear()
            self.transport.resume_reading()
            await before(deadline, self._changed.wait())
        return self._lines.pop(0)


@asynccontextmanager
async def started(command: Command, timeout: float, grace: float = BRIEF) -> AsyncGenerator[Process]:
    """Start a server, and end it, with everything that it started.

    Raises:
        InputError: it cannot be started.
    """
    peer = Process(command, timeout, grace)
    try:
        await peer.transport.start(peer)
    except TransportError as error:
        raise InputError.at(command.words[0], str(error)) from None
    try:
        yield peer
    finally:
        await peer.transport.close()


async def before(deadline: float, work: Any) -> Any:
    """Wait until a time of the event loop.

    Raises:
        Silent: it takes longer.
    """
    try:
        return await asyncio.wait_for(work, max(deadline - asyncio.get_running_loop().time(), 0.001))
    except TimeoutError:
        raise Silent("no answer in time") from None


def code_of(answer: Mapping[str, Any]) -> Any:
    """Return the code of an error; None for a result."""
    return as_object(answer.get("error")).get("code")


def told(answer: Mapping[str, Any]) -> str:
    """Spell an answer in a few words."""
    return f"the error {code_of(answer)}" if "error" in answer else "a result" if "result" in answer else "no answer"
