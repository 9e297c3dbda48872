"""The client's end of HTTP+SSE (specification of 2024-11-05: basic/transports, HTTP with SSE)."""

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from typing import Final, Unpack

import httpx2

from mcp_runtime.connection.transport import LosesRequests, Receiver, TransportError
from mcp_runtime.protocol.text import clipped
from mcp_runtime.transports.http.client.sent import cancelled_by, request_of
from mcp_runtime.transports.http.client.taken import error_of, is_answer_to
from mcp_runtime.transports.http.client.wire import EVENTS, Endpoint, HttpClientOptions, Refused, reason_for

ENDPOINT_TIMEOUT: Final = 30.0
"""Seconds in which the server must have named the endpoint for messages, by default."""
POST_TIMEOUT: Final = 30.0
"""Seconds in which the server must accept a notification or an answer. A request may take as long as its call does."""
MAX_QUEUED: Final = 1 << 20
"""How many bytes may be queued before `drain` waits."""

log: Final = logging.getLogger("mcp_runtime")


class SseClientOptions(HttpClientOptions, total=False):
    """How to connect to a server over HTTP+SSE.

    Attributes:
        endpoint_timeout: seconds in which the server must have named the endpoint for messages; 30.
    """

    endpoint_timeout: float


class SseClientTransport:
    """Communicates with a server over HTTP+SSE; it implements `mcp_runtime.transports.base.Transport`.

    A GET opens the stream for the server's messages, and every message of the client is posted to the endpoint that the
    first event names. The stream is the session: it cannot be resumed, so its end is that of the connection. After
    Streamable HTTP has failed, `start` shows whether the server supports this instead.

    Args:
        url: the URL of the server's stream: ``https://example.com/sse``.
        options: see `SseClientOptions`.

    Raises:
        ValueError: the URL is not an HTTP URL.
    """

    def __init__(self, url: str, **options: Unpack[SseClientOptions]) -> None:
        self._stream = Endpoint(url, options)
        self._endpoint_timeout = options.get("endpoint_timeout", ENDPOINT_TIMEOUT)
        self._messages: Endpoint | None = None
        self._receiver: Receiver
        self._lose: Callable[[int | str, TransportError], None]
        self._listener: asyncio.Task[None] | None = None
        self._requests: dict[int, asyncio.Task[None]] = {}
        self._ordered: deque[bytes] = deque()
        self._sender: asyncio.Task[None] | None = None
        self._readable = asyncio.Event()
        self._readable.set()
        self._sendable = asyncio.Event()
        self._sendable.set()
        self._queued = 0
        self._is_closed = False
        self._has_ended = False

    async def start(self, receiver: Receiver) -> None:
        """Open the stream, and wait until the server has named the endpoint for messages.

        Raises:
            TransportError: the server cannot be reached, or does not support HTTP+SSE at this URL; or the endpoint
                belongs to another origin.
        """
        if not isinstance(receiver, LosesRequests):
            raise TypeError(f"{type(receiver).__name__} needs request_lost(id, reason): a POST can fail by itself")
        self._receiver, self._lose = receiver, receiver.request_lost
        opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._listener = asyncio.create_task(self._listen(opened))
        try:
            async with asyncio.timeout(self._endpoint_timeout):
                await opened
        except TimeoutError:
            seconds = f"{self._endpoint_timeout:g} s"
            raise TransportError(f"{self._stream.shown} named no endpoint for messages within {seconds}") from None
        finally:
            if self._messages is None:
                self._has_ended = True
                await self.close()

    def send(self, message: bytes) -> None:
        """Post a message: requests immediately, everything else in order."""
        if self._is_closed:
            return
        if self._sender is None and (request := request_of(message)) is not None:
            self._ask(message, request[0])
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
        """Send queued messages, and close the stream, which ends the session."""
        if self._is_closed:
            return
        self._is_closed = True
        self._readable.set()
        self._sendable.set()
        if self._sender is not None:
            await asyncio.wait((self._sender,), timeout=self._stream.close_timeout)
        running = [*self._requests.values(), *filter(None, (self._listener, self._sender))]
        for task in running:
            task.cancel()
        if running:
            await asyncio.wait(running)
        await self._stream.aclose()
        self._end(None)

    async def _listen(self, opened: "asyncio.Future[None]") -> None:
        """Deliver the messages of the stream until it ends.

        Args:
            opened: resolved as soon as the server has named the endpoint for messages.
        """
        reason = TransportError(f"{self._stream.shown} ended the stream, and the session with it")
        try:
            async with self._stream.request("GET", accept=EVENTS) as response:
                events = self._stream.events(response)
                self._messages = self._endpoint_of(await anext(events, None), response.url)
                opened.set_result(None)
                async for event in events:
                    # Servers may send other events, such as keep-alives; they are not part of the protocol.
                    if event.event == "message" and (text := event.data.encode().strip()):
                        await self._readable.wait()
                        self._receiver.message_received(text, self)
        except Exception as error:
            reason = reason_for(error)
        if opened.done():
            self._end(reason)
        else:
            opened.set_exception(reason)

    def _endpoint_of(self, event: httpx2.ServerSentEvent | None, base: httpx2.URL) -> Endpoint:
        """Return the endpoint that the first event of the stream names.

        Raises:
            Refused: it is another event, or the endpoint belongs to another origin.
        """
        if event is None:
            raise Refused(f"{self._stream.shown} ended the stream before it named the endpoint for messages")
        if event.event != "endpoint":
            found = clipped(repr(event.event), 60)
            raise Refused(f"{self._stream.shown} does not speak HTTP+SSE: its first event is {found}, not 'endpoint'")
        return self._stream.at(base, event.data)

    def _end(self, reason: TransportError | None) -> None:
        if not self._has_ended:
            self._has_ended = True
            for task in self._requests.values():
                task.cancel()
            self._receiver.connection_lost(reason)

    def _count(self, size: int) -> None:
        self._queued += size
        if self._queued > MAX_QUEUED:
            self._sendable.clear()
        else:
            self._sendable.set()

    def _ask(self, message: bytes, id_: int) -> None:
        task = self._requests[id_] = asyncio.create_task(self._carry(message, id_))
        task.add_done_callback(lambda _: self._requests.pop(id_, None))

    async def _carry(self, message: bytes, id_: int) -> None:
        """Post a request; its caller gets the error if the server does not accept it."""
        try:
            await self._post(message)
        except Refused as refused:
            if is_answer_to(refused.body, id_):
                self._receiver.message_received(refused.body, self)
                return
            said = error_of(refused.body)
            self._lose(id_, TransportError(f"{refused}: {clipped(said)}") if said else refused)
        except Exception as error:
            # Some servers keep the POST of a request open until they have answered it on the stream.
            if not isinstance(error.__cause__, httpx2.ReadTimeout):
                self._lose(id_, reason_for(error))

    async def _send_in_order(self) -> None:
        """Post ordered messages: the next one is sent when the server has accepted this one."""
        try:
            while self._ordered:
                message = self._ordered.popleft()
                self._count(-len(message))
                if (request := request_of(message)) is not None:
                    self._ask(message, request[0])
                else:
                    await self._tell(message)
        finally:
            self._sender = None

    async def _tell(self, message: bytes) -> None:
        """Post a notification or an answer."""
        cancelled = self._requests.get(cancelled_by(message))
        if cancelled is not None:
            # A cancellation must not arrive before the request.
            await asyncio.wait((cancelled,), timeout=self._stream.close_timeout)
            cancelled.cancel()
        try:
            async with asyncio.timeout(POST_TIMEOUT):
                await self._post(message)
        except TimeoutError:
            log.warning("a message was not delivered: the server did not take it within %g s", POST_TIMEOUT)
        except Exception as error:
            log.warning("a message was not delivered: %s", reason_for(error))

    async def _post(self, message: bytes) -> None:
        assert self._messages is not None
        async with self._messages.request("POST", message, accept="*/*") as response:
            await self._messages.skip(response)
