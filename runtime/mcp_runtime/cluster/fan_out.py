"""How the processes of one server share changes, so that each can notify its own clients."""

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import aclosing, suppress
from typing import Any, Final, TypeAlias

from pydantic_core import to_json

from mcp_runtime.core import sources
from mcp_runtime.core.changes.listeners import EVERYTHING, MAX_URI, RESOURCE
from mcp_runtime.core.connection.background import bounded
from mcp_runtime.core.errors import clipped
from mcp_runtime.core.handlers import ServerHandlers, Serving
from mcp_runtime.core.json.text import NotIJson, read
from mcp_runtime.core.protocol import names

__all__ = ["FanOut", "MemoryFanOut"]


MAX_WAITING: Final = 10_000
"""How many messages a `MemoryFanOut` keeps for a server that does not read them."""


class FanOut(ABC):
    """Carries short messages to all processes of a server, this one included.

    It may be slow, it may raise, and it may lose messages, as long as it reports that.
    """

    @abstractmethod
    async def publish(self, message: bytes) -> None:
        """Send a message to everything that currently iterates over `messages`.

        Args:
            message: a short message.

        Raises:
            Exception: the message may not have been sent; it is published again later.
        """

    @abstractmethod
    def messages(self) -> AsyncGenerator[bytes | None]:
        """Iterate over the messages that are sent from now on.

        None comes first, once nothing is missed any more, and again whenever messages may have been lost.

        Raises:
            Exception: the iteration cannot continue; `messages` is called again later.
        """

    def relay(self, server: ServerHandlers, notify: "Notify") -> "Relay":
        """Return what relays the changes of a server in this event loop; see `settings.FanOut`.

        Args:
            server: the server.
            notify: notifies the clients of this process of a change, with its kind and the resource.
        """
        return relay_of(server, self, notify)


class MemoryFanOut(FanOut):
    """Connects server objects in the same event loop: for tests, or if several of them share their data."""

    def __init__(self) -> None:
        self._queues: set[asyncio.Queue[bytes | None]] = set()

    async def publish(self, message: bytes) -> None:
        """Send `message` to everything that currently iterates over `messages`."""
        for queue in tuple(self._queues):
            if queue.qsize() < MAX_WAITING:
                queue.put_nowait(message)
            else:
                while not queue.empty():
                    queue.get_nowait()
                queue.put_nowait(None)

    async def messages(self) -> AsyncGenerator[bytes | None]:
        """Iterate over the messages that are sent from now on; None where some of them were dropped."""
        queue: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._queues.add(queue)
        try:
            yield None
            while True:
                yield await queue.get()
        finally:
            self._queues.discard(queue)


log: Final = logging.getLogger("mcp_runtime")

MAX_MESSAGE: Final = 65_536
"""The maximum size of a message from another process in bytes."""
MAX_UNPUBLISHED: Final = 1_000
"""How many changes may wait to be published; beyond that, everything counts as changed."""
TIMEOUT: Final = 5.0
"""Seconds that publishing may take, and that a new subscriber waits for the other processes."""
PAUSES: Final = (0.1, 5.0)
"""Seconds before a retry: initially, and at most."""

Notify: TypeAlias = Callable[[str, str], Coroutine[Any, Any, None]]
"""Notifies the clients of this process of a change, with its kind and the resource."""


class Relay:
    """Publishes a server's changes to other processes, and reports their changes to the clients of this one.

    Nothing waits for it: what cannot be published is kept and published later, and when changes may have been missed,
    clients are notified that everything they listen for may have changed.

    Args:
        name: the server's name, the same in all processes.
        fan_out: carries the messages.
        notify: notifies the clients of this process.
    """

    def __init__(self, name: str, fan_out: FanOut, notify: Notify) -> None:
        self._name = name
        self._fan_out = fan_out
        self._notify = notify
        self._own = sources.token_hex(8)
        self._loop = asyncio.get_running_loop()
        self._heard = asyncio.Event()
        self._waiting: dict[bytes, None] = {}
        self._sender: asyncio.Task[None] | None = None
        self._listener: asyncio.Task[None] | None = None
        self._failing: set[str] = set()

    @property
    def is_of_this_loop(self) -> bool:
        """Whether it belongs to the running event loop."""
        return self._loop is asyncio.get_running_loop()

    def publish(self, what: str, uri: str) -> None:
        """Publish a change to the other processes, asynchronously."""
        waiting = self._waiting
        if len(uri) > MAX_URI or len(waiting) >= MAX_UNPUBLISHED:
            waiting.clear()
            what, uri = EVERYTHING, ""
        waiting[to_json([self._own, self._name, what, uri])] = None
        if self._sender is None:
            self._sender = asyncio.create_task(self._send())

    def listen(self) -> None:
        """Receive what the other processes publish, from now until the event loop ends."""
        if self._listener is None:
            self._listener = asyncio.create_task(self._hear())

    async def heard(self) -> None:
        """Wait briefly until nothing is missed any more: then clients are notified that everything may have changed."""
        if not self._heard.is_set() and "hear" not in self._failing:
            with suppress(TimeoutError):
                async with asyncio.timeout(TIMEOUT):
                    await self._heard.wait()

    async def _send(self) -> None:
        pause = PAUSES[0]
        while self._waiting:
            message = next(iter(self._waiting))
            del self._waiting[message]
            try:
                await bounded(self._fan_out.publish(message), TIMEOUT)
            except Exception as error:
                self._fails("publish", "cannot publish changes to other processes, keeping them: %s", error)
                # Changes that arrive in the meantime may be sent first: their order does not matter.
                self._waiting[message] = None
                await asyncio.sleep(pause)
                pause = min(2 * pause, PAUSES[1])
            else:
                self._works("publish", "publishing changes to other processes again")
                pause = PAUSES[0]
        self._sender = None

    async def _hear(self) -> None:
        pause = PAUSES[0]
        while True:
            try:
                async with aclosing(self._fan_out.messages()) as messages:
                    async for message in messages:
                        pause = PAUSES[0]
                        await self._take(message)
                raise ConnectionError("it ended")
            except Exception as error:
                check_cancelled()
                self._heard.clear()
                self._fails("hear", "not receiving changes from other processes: %s", error)
            await asyncio.sleep(pause)
            pause = min(2 * pause, PAUSES[1])

    async def _take(self, message: bytes | None) -> None:
        if message is None:
            self._heard.set()
            self._works(
                "hear", "receiving changes from other processes again; clients are notified that all may have changed"
            )
            await self._tell_all((EVERYTHING, ""))
        elif (change := self._read(message)) is not None:
            await self._tell_all(change)

    async def _tell_all(self, change: tuple[str, str]) -> None:
        try:
            await self._notify(*change)
        except Exception:
            log.exception("cannot notify the clients of this process of a change")

    def _read(self, message: bytes) -> tuple[str, str] | None:
        """Return the change in a message; None if it is not for this server, or not valid."""
        try:
            value = read(message) if len(message) <= MAX_MESSAGE else None
        except NotIJson:
            value = None
        match value:
            case [str(sender), str(name), str(what), str(uri)]:
                if sender == self._own or name != self._name:
                    return None
                is_known = not uri and what in (*names.AREAS, EVERYTHING)
                if is_known or (what == RESOURCE and 0 < len(uri) <= MAX_URI):
                    return what, uri
            case _:
                pass
        self._fails("read", "ignoring an invalid message from another process: %s", ValueError(message[:100]))
        return None

    def _fails(self, what: str, text: str, error: Exception) -> None:
        if what not in self._failing:
            self._failing.add(what)
            reason = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
            log.warning(text, clipped(reason))

    def _works(self, what: str, text: str) -> None:
        if what in self._failing:
            self._failing.discard(what)
            log.warning(text)


def relay_of(server: ServerHandlers, fan_out: FanOut, notify: Notify) -> Relay:
    """Return the relay of a server in this event loop."""
    serving = Serving.of(server)
    found: Relay | None = serving.relay
    if found is None or not found.is_of_this_loop:
        options = server.effective_options()
        name = f"{options.name or type(server).__name__} {server.__binding__.revision}"
        found = serving.relay = Relay(name, fan_out, notify)
    return found


def check_cancelled() -> None:
    """Propagate a cancellation of the current task that other people's code has dropped, or replaced by an error.

    For iterations, which have no timeout: called after each step, and where an error of theirs is handled.

    Raises:
        asyncio.CancelledError: the current task was cancelled.
    """
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError
