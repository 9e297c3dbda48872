"""Restart a server when a Python file changes, and keep its client on stdio connected meanwhile.

The process that the client has started relays the messages of the server, its child. A new server is told what the
client told the old one: the handshake and the subscriptions. The client then hears that the lists have changed.
"""

import asyncio
import json
import shlex
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from mcp_bindgen.live.lines import MAX_MESSAGE_BYTES, Lines, Message, failure, id_in, line_of, messages_in, object_in
from mcp_runtime.core.connection.transport import Transport, TransportError
from mcp_runtime.core.transports.process import on_signals
from mcp_runtime.core.transports.stdio import StdioServerTransport
from mcp_runtime.core.transports.stdio_client import StdioClientTransport

GRACE: Final = 1.0
"""Seconds for each step of the end of a server: it may answer what is open, is asked to end, and is killed."""
_LISTEN: Final = "subscriptions/listen"
_CHANGED: Final = "ListChanged"


class Memory:
    """What a client and its server have said, as far as the next server has to know it.

    The ids of the server's requests get the number of the server, since each server counts from the start.
    """

    def __init__(self) -> None:
        self._told: dict[object, Message] = {}
        self._replayed: set[object] = set()
        self._open: set[object] = set()
        self._asked: set[str] = set()
        self._lists: list[str] = []
        self._number = 0
        self._is_ending = False

    def from_client(self, line: bytes) -> list[bytes]:
        """Return what the server gets of a line of the client."""
        return _mapped(line, self._of_client)

    def from_server(self, line: bytes) -> list[bytes]:
        """Return what the client gets of a line of the server."""
        return _mapped(line, self._of_server)

    def end(self) -> None:
        """Note that the server is about to end, which does not end the client's subscriptions."""
        self._is_ending = True

    def unanswered(self) -> list[bytes]:
        """Return what the client gets when a server is gone: errors, and cancellations of what it was asked."""
        lines = [failure(id_, "the server was restarted, or does not start") for id_ in self._open]
        lines += [_notification("cancelled", {"requestId": id_}) for id_ in self._asked]
        self._open.clear()
        self._asked.clear()
        return [line_of(message) for message in lines]

    def replay(self) -> list[bytes]:
        """Return what a new server gets first."""
        self._number += 1
        self._is_ending = False
        self._replayed = {message["id"] for message in self._told.values() if "id" in message}
        return [line_of(message) for message in self._told.values()]

    def _of_client(self, message: Message) -> list[Message]:
        method, id_, params = message.get("method"), id_in(message), object_in(message, "params")
        if method is None:
            if not isinstance(id_, str) or id_ not in self._asked:  # an earlier server asked
                return []
            self._asked.discard(id_)
            return [{**message, "id": json.loads(id_.partition(":")[2])}]
        if method == _LISTEN:
            self._told[_LISTEN, id_] = message
            return [message]
        if id_ is not None:
            self._open.add(id_)
        match method:
            case "resources/subscribe":
                self._told["resource", str(params.get("uri"))] = message
            case "resources/unsubscribe":
                self._told.pop(("resource", str(params.get("uri"))), None)
            case "notifications/cancelled":
                self._told.pop((_LISTEN, id_in(params, "requestId")), None)
                self._open.discard(id_in(params, "requestId"))
            case "initialize" | "notifications/initialized" | "logging/setLevel":
                self._told[method] = message
            case _:
                pass
        return [message]

    def _of_server(self, message: Message) -> list[Message]:
        method, id_, params = message.get("method"), id_in(message), object_in(message, "params")
        if method is None:
            return self._of_answer(message, id_)
        if method == "notifications/cancelled":
            asked = self._own(ended := id_in(params, "requestId"))
            if asked in self._asked:
                self._asked.discard(asked)
                return [{**message, "params": {**params, "requestId": asked}}]
            return [] if self._is_ending and (_LISTEN, ended) in self._told else [message]
        if method == "notifications/subscriptions/acknowledged":
            subscription = id_in(object_in(params, "_meta"), "io.modelcontextprotocol/subscriptionId")
            if subscription not in self._replayed:
                return [message]
            self._replayed.discard(subscription)
            lists = [name for name in object_in(params, "notifications") if name.endswith(_CHANGED)]
            meta = {"_meta": params["_meta"]}
            return [_notification(f"{name.removesuffix(_CHANGED)}/list_changed", meta) for name in lists]
        if id_ is None:
            return [message]
        self._asked.add(asked := self._own(id_))
        return [{**message, "id": asked}]

    def _of_answer(self, message: Message, id_: object) -> list[Message]:
        if (_LISTEN, id_) in self._told:
            if not self._is_ending:
                del self._told[_LISTEN, id_]
            return [] if self._is_ending else [message]
        is_greeting = id_ == self._told.get("initialize", {}).get("id", self)
        if id_ in self._replayed:
            self._replayed.discard(id_)
            return [_notification(f"{name}/list_changed") for name in self._lists] if is_greeting else []
        if is_greeting:
            offered = object_in(object_in(message, "result"), "capabilities")
            self._lists = [name for name in offered if object_in(offered, name).get("listChanged") is True]
        self._open.discard(id_)
        return [message]

    def _own(self, id_: object) -> str:
        return f"{self._number}:{json.dumps(id_)}"


class Relay:
    """Relays between a client on standard input and output and the current server."""

    def __init__(self, command: Sequence[str]) -> None:
        self._command = command
        self._memory = Memory()
        self._client = StdioServerTransport(max_message_bytes=MAX_MESSAGE_BYTES)
        self._server: StdioClientTransport | None = None
        self._left = asyncio.Event()
        self._is_restarting = False
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self, folder: Path) -> None:
        """Serve until the client leaves; restart the server when a Python file in or below the folder changes."""
        # It is not imported as usual: its types name those of trio.
        watchfiles: Any = import_module("watchfiles")
        changes = watchfiles.awatch(folder, watch_filter=watchfiles.PythonFilter(), stop_event=self._left)
        with on_signals(asyncio.get_running_loop(), self._left.set, lambda: None):
            await self._start()
            await self._client.start(Lines(self._from_client, lambda _: self._left.set()))
            async for _ in changes:
                self._is_restarting = True
                self._client.pause_reading()
                await self._stop()
                await self._start()
                self._is_restarting = False
                self._client.resume_reading()
            await self._stop()
            await self._client.close()

    async def _start(self) -> None:
        self._server = server = StdioClientTransport(
            *self._command, inherit_env=True, max_message_bytes=MAX_MESSAGE_BYTES, grace=GRACE
        )

        def take(line: bytes) -> None:
            for each in self._memory.from_server(line):
                self._pass(each, self._client, server)

        def lost(reason: TransportError | None) -> None:
            if reason is not None:  # it has ended by itself
                self._server = None
                self._answer()

        await server.start(Lines(take, lost))
        for line in self._memory.replay():
            server.send(line)

    async def _stop(self) -> None:
        self._memory.end()
        if self._server is not None:
            await self._server.close()
        self._answer()

    def _from_client(self, line: bytes) -> None:
        for each in self._memory.from_client(line):
            if self._server is None:
                self._answer()
            else:
                self._pass(each, self._server, self._client)

    def _answer(self) -> None:
        for line in self._memory.unanswered():
            self._client.send(line)

    def _pass(self, line: bytes, target: Transport, source: Transport) -> None:
        """Send a message, and read on when the target has room for more."""

        async def read_on() -> None:
            await target.drain()
            if not self._is_restarting:
                source.resume_reading()

        target.send(line)
        source.pause_reading()
        task = asyncio.create_task(read_on())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def serve_reloading(path: Path, arguments: Sequence[str], *, http: bool) -> None:
    """Serve a file as `mcp-bindgen run` does, and restart its server when a Python file in its folder changes.

    Args:
        path: the file.
        arguments: those of `mcp-bindgen run`.
        http: whether they ask for HTTP, where clients connect again by themselves.

    Raises:
        ModuleNotFoundError: watchfiles is not installed.
    """
    from watchfiles import PythonFilter, run_process

    # -B: Python takes cached bytecode for a source of the same size and second, so it would miss a quick change.
    command = (sys.executable, "-B", "-m", "mcp_runtime", *arguments)
    folder = path.resolve().parent
    if http:
        run_process(folder, target=shlex.join(command), target_type="command", watch_filter=PythonFilter())
    else:
        asyncio.run(Relay(command).run(folder))


def _mapped(line: bytes, each: Callable[[Message], list[Message]]) -> list[bytes]:
    """Return the lines that a function makes of the messages of a line; other lines stay as they are."""
    messages = messages_in(line)
    if messages is None:
        return [line]
    made = [new for message in messages for new in each(message)]
    if len(made) == len(messages) and all(new is old for new, old in zip(made, messages, strict=True)):
        return [line]
    return [line_of(new) for new in made]


def _notification(name: str, params: Message | None = None) -> Message:
    return {"jsonrpc": "2.0", "method": f"notifications/{name}", **({"params": params} if params else {})}
