"""What both client transports have in common: every message of the client is a POST of its own."""

import asyncio
import logging
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final

from mcp_runtime.connection.transport import LostRequestReceiver, Receiver, TransportError
from mcp_runtime.protocol.text import clipped
from mcp_runtime.transports.http.client.received import error_of, is_answer_to
from mcp_runtime.transports.http.client.sent import request_of
from mcp_runtime.transports.http.client.wire import Endpoint, Refused, reason_for

MAX_QUEUED: Final = 1 << 20
"""How many bytes may be queued before `drain` waits."""

log: Final = logging.getLogger("mcp_runtime")


class PostingTransport(ABC):
    """Posts requests immediately, each in a task of its own, and everything else in order.

    Args:
        endpoint: the URL that the transport was created for.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._receiver: Receiver
        self._lose: Callable[[int | str, TransportError], None]
        self._requests: dict[int | str, asyncio.Task[None]] = {}
        self._ordered: deque[bytes] = deque()
        self._queued = 0
        self._sender: asyncio.Task[None] | None = None
        self._listener: asyncio.Task[None] | None = None
        self._readable = asyncio.Event()
        self._readable.set()
        self._sendable = asyncio.Event()
        self._sendable.set()
        self._is_closed = False
        self._has_ended = True  # until it starts

    async def start(self, receiver: Receiver) -> None:
        """Start carrying messages; the connection is opened with the first one."""
        if not isinstance(receiver, LostRequestReceiver):
            raise TypeError(
                f"{type(receiver).__name__} needs request_lost(id, reason): over HTTP a request can be lost"
            )
        self._receiver, self._lose = receiver, receiver.request_lost
        self._has_ended = False

    def send(self, message: bytes) -> None:
        """Post a message: requests immediately, everything else in order."""
        if self._is_closed:
            return
        if self._sender is None and (request := request_of(message)) is not None:
            self._ask(message, *request)
            return
        self._ordered.append(message)
        self._count(len(message))
        if self._sender is None:
            self._sender = asyncio.create_task(self._send_in_order())

    async def drain(self) -> None:
        """Wait until few bytes are queued."""
        await self._sendable.wait()

    def pause_reading(self) -> None:
        """Stop delivering messages until `resume_reading`."""
        self._readable.clear()

    def resume_reading(self) -> None:
        """Resume delivering messages."""
        self._readable.set()

    async def close(self) -> None:
        """Send queued messages, end the session, and close the connections."""
        if self._is_closed:
            return
        self._is_closed = True
        self._readable.set()
        self._sendable.set()
        if self._sender is not None:
            await asyncio.wait((self._sender,), timeout=self._endpoint.close_timeout)
        running = [*self._requests.values(), *filter(None, (self._listener, self._sender))]
        for task in running:
            task.cancel()
        if running:
            await asyncio.wait(running)
        await self._endpoint.end_session()
        await self._endpoint.aclose()
        self._end(None)

    @abstractmethod
    async def _request(self, message: bytes, id_: int, method: str) -> None:
        """Post a request; raises an exception if there will be no answer."""

    @abstractmethod
    async def _tell(self, message: bytes) -> None:
        """Post a notification or an answer; failures are logged."""

    def _ask(self, message: bytes, id_: int, method: str) -> None:
        self._start(partial(self._request, message, id_, method), id_)

    def _start(self, work: Callable[[], Awaitable[None]], id_: int | str) -> asyncio.Task[None]:
        task = self._requests[id_] = asyncio.create_task(self._carry(work, id_))
        task.add_done_callback(lambda _: self._requests.pop(id_, None))
        return task

    async def _carry(self, work: Callable[[], Awaitable[None]], id_: int | str) -> None:
        """Post a request; its caller gets the error if it fails."""
        try:
            await work()
        except Refused as refused:
            if is_answer_to(refused.body, id_) and await self._deliver(refused.body):
                return
            said = error_of(refused.body)
            self._lose(id_, TransportError(f"{refused}: {clipped(said)}") if said else refused)
        except Exception as error:
            self._lose(id_, reason_for(error))

    async def _send_in_order(self) -> None:
        """Post ordered messages: the next one is sent when the server has accepted this one."""
        try:
            while self._ordered:
                message = self._ordered.popleft()
                self._count(-len(message))
                if (request := request_of(message)) is not None:
                    self._ask(message, *request)
                else:
                    await self._tell(message)
        finally:
            self._sender = None

    def _count(self, size: int) -> None:
        self._queued += size
        if self._queued > MAX_QUEUED:
            self._sendable.clear()
        else:
            self._sendable.set()

    async def _deliver(self, message: bytes) -> bool:
        """Deliver a message; return whether it was the answer to a request."""
        await self._readable.wait()
        return self._receiver.message_received(message.strip(), self).is_answer

    def _end(self, reason: TransportError | None) -> None:
        if not self._has_ended:
            self._has_ended = True
            self._receiver.connection_lost(reason)
