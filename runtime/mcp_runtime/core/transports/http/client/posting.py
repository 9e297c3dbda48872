"""What both client transports have in common: every message of the client is a POST of its own."""

import asyncio
import re
from abc import abstractmethod
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, Unpack

import httpx2

from mcp_runtime.core.connection.timers import log
from mcp_runtime.core.connection.transport import ANSWER_SENT, Receiver, Sent, Transport, TransportError
from mcp_runtime.core.errors import AuthorizationError, clipped
from mcp_runtime.core.json.values import is_object
from mcp_runtime.core.protocol import names
from mcp_runtime.core.protocol.jsonrpc import Fault, parse
from mcp_runtime.core.transports.http.client.endpoint import EVENTS, Endpoint, HttpClientOptions, Refused, reason_for

_VISIBLE: Final = re.compile(r"[\x21-\x7e]{1,64}")


def is_answer_to(message: bytes, id_: int | str) -> bool:
    """Whether a message answers a request."""
    value = object_in(message)
    return value.get("id") == id_ and ("result" in value or "error" in value)


def error_of(message: bytes) -> str:
    """Return the text of an error response; empty if the message is none."""
    error: Any = object_in(message).get("error")
    text: Any = error.get("message") if is_object(error) else None
    return text if isinstance(text, str) else ""


def revision_of(message: bytes) -> str:
    """Return the revision in the answer to `initialize`, or an empty string."""
    result: Any = object_in(message).get("result")
    revision: Any = result.get("protocolVersion") if is_object(result) else None
    return revision if isinstance(revision, str) and _VISIBLE.fullmatch(revision) else ""


def object_in(message: bytes) -> dict[str, Any]:
    """Return a message as an object; empty if it is not one."""
    try:
        value: Any = parse(message)
    except Fault:
        return {}
    return value if is_object(value) else {}


@dataclass(slots=True)
class SessionSetup:
    """The state to restore in a new session, since the server has forgotten the old one.

    Attributes:
        hello: the id of the request that begins a session, and the request itself.
        initialized: the notification that follows it.
        level: the request that sets the log level; None if there was none.
        subscriptions: the requests that subscribe to resources, by URI.
    """

    hello: tuple[int | str, bytes] = (0, b"")
    initialized: bytes = b""
    level: bytes | None = None
    subscriptions: dict[str, bytes] = field(default_factory=dict[str, bytes])

    @property
    def rest(self) -> list[bytes]:
        """Everything that follows the request that begins a session."""
        return [message for message in (self.initialized, self.level, *self.subscriptions.values()) if message]

    def note(self, message: bytes, about: Sent) -> None:
        """Remember a request if it changes state at the server."""
        if about.method == names.INITIALIZE:
            self.hello = (about.id or 0, message)
        elif about.method == names.LOGGING_SET_LEVEL:
            self.level = message
        elif about.method == names.RESOURCES_SUBSCRIBE:
            self.subscriptions[about.params.uri] = message
        elif about.method == names.RESOURCES_UNSUBSCRIBE:
            self.subscriptions.pop(about.params.uri, None)


MAX_QUEUED: Final = 1 << 20
"""How many bytes may be queued before `drain` waits."""


class PostingTransport(Transport):
    """Posts requests immediately, each in a task of its own, and everything else in order.

    Args:
        endpoint: the URL that the transport was created for.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self.extensions = endpoint.extensions
        self._receiver: Receiver
        self._lose: Callable[[int | str, TransportError | AuthorizationError], None]
        self._requests: dict[int | str, asyncio.Task[None]] = {}
        self._ordered: deque[tuple[bytes, Sent]] = deque()
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
        self._receiver, self._lose = receiver, receiver.request_lost
        self._endpoint.patience.receiver = receiver
        self._has_ended = False

    def send(self, message: bytes, about: Sent = ANSWER_SENT) -> None:
        """Post a message: requests immediately, everything else in order."""
        if self._is_closed:
            return
        if self._sender is None and about.id is not None:
            self._ask(message, about, about.id)
            return
        self._ordered.append((message, about))
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
    async def _request(self, message: bytes, about: Sent) -> None:
        """Post a request; raises an exception if there will be no answer."""

    @abstractmethod
    async def _post_unanswered(self, message: bytes, about: Sent) -> None:
        """Post a notification or an answer; failures are logged."""

    def _ask(self, message: bytes, about: Sent, id_: int | str) -> None:
        self._start(partial(self._request, message, about), id_)

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
            reason = error_of(refused.body)
            self._lose(id_, TransportError(f"{refused}: {clipped(reason)}") if reason else refused)
        except AuthorizationError as error:
            self._lose(id_, error)
        except Exception as error:
            self._lose(id_, reason_for(error))

    async def _send_in_order(self) -> None:
        """Post ordered messages: the next one is sent when the server has accepted this one."""
        try:
            while self._ordered:
                message, about = self._ordered.popleft()
                self._count(-len(message))
                if about.id is not None:
                    self._ask(message, about, about.id)
                else:
                    await self._post_unanswered(message, about)
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


ENDPOINT_TIMEOUT: Final = 30.0
"""Seconds in which the server must have named the endpoint for messages, by default."""
POST_TIMEOUT: Final = 30.0
"""Seconds in which the server must accept a notification or an answer. A request may take as long as its call does."""


class SseClientOptions(HttpClientOptions, total=False):
    """How to connect to a server over HTTP+SSE.

    Attributes:
        endpoint_timeout: seconds in which the server must have named the endpoint for messages; 30.
    """

    endpoint_timeout: float


class SseClientTransport(PostingTransport):
    """Communicates with a server over HTTP+SSE; it implements `mcp_runtime.transports.Transport`.

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
        super().__init__(Endpoint(url, options))
        self._endpoint_timeout = options.get("endpoint_timeout", ENDPOINT_TIMEOUT)
        self._messages: Endpoint | None = None

    async def start(self, receiver: Receiver) -> None:
        """Open the stream, and wait until the server has named the endpoint for messages.

        Raises:
            TransportError: the server cannot be reached, or does not support HTTP+SSE at this URL; or the endpoint
                belongs to another origin.
        """
        await super().start(receiver)
        opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._listener = asyncio.create_task(self._listen(opened))
        try:
            async with self._endpoint.patience.timeout(self._endpoint_timeout):
                await opened
        except TimeoutError:
            seconds = f"{self._endpoint_timeout:g} s"
            raise TransportError(f"{self._endpoint.shown} named no endpoint for messages within {seconds}") from None
        finally:
            if self._messages is None:
                self._has_ended = True
                await self.close()

    async def _listen(self, opened: "asyncio.Future[None]") -> None:
        """Deliver the messages of the stream until it ends.

        Args:
            opened: resolved as soon as the server has named the endpoint for messages.
        """
        reason: Exception = TransportError(f"{self._endpoint.shown} ended the stream, and the session with it")
        try:
            async with self._endpoint.request("GET", accept=EVENTS, may_ask=True) as response:
                events = self._endpoint.events(response)
                self._messages = self._endpoint_of(await anext(events, None), response.url)
                opened.set_result(None)
                async for event in events:
                    # Servers may send other events, such as keep-alives; they are not part of the protocol.
                    if event.event == "message" and (text := event.data.encode()).strip():
                        await self._deliver(text)
        except Exception as error:
            reason = error
        if opened.done():
            for task in self._requests.values():
                task.cancel()
            self._end(reason_for(reason))
        else:
            opened.set_exception(reason if isinstance(reason, AuthorizationError) else reason_for(reason))

    def _endpoint_of(self, event: httpx2.ServerSentEvent | None, base: httpx2.URL) -> Endpoint:
        """Return the endpoint that the first event of the stream names.

        Raises:
            Refused: it is another event, or the endpoint belongs to another origin.
        """
        if event is None:
            raise Refused(f"{self._endpoint.shown} ended the stream before it named the endpoint for messages")
        if event.event != "endpoint":
            found = clipped(repr(event.event), 60)
            raise Refused(f"{self._endpoint.shown} does not speak HTTP+SSE: its first event is {found}, not 'endpoint'")
        return self._endpoint.at(base, event.data)

    async def _request(self, message: bytes, about: Sent) -> None:
        """Post a request; its answer comes on the stream."""
        try:
            await self._post(message, may_ask=True)
        except TransportError as error:
            # Some servers keep the POST of a request open until they have answered it on the stream.
            if not isinstance(error.__cause__, httpx2.ReadTimeout):
                raise

    async def _post_unanswered(self, message: bytes, about: Sent) -> None:
        """Post a notification or an answer."""
        cancelled = self._requests.get(about.cancels) if about.cancels is not None else None
        if cancelled is not None:
            # A cancellation must not arrive before the request.
            await asyncio.wait((cancelled,), timeout=self._endpoint.close_timeout)
            cancelled.cancel()
        try:
            async with asyncio.timeout(POST_TIMEOUT):
                await self._post(message, may_ask=False)
        except TimeoutError:
            log.warning("a message was not delivered: the server did not take it within %g s", POST_TIMEOUT)
        except Exception as error:
            log.warning("a message was not delivered: %s", reason_for(error))

    async def _post(self, message: bytes, *, may_ask: bool) -> None:
        assert self._messages is not None
        async with self._messages.request("POST", message, accept="*/*", may_ask=may_ask) as response:
            await self._messages.skip(response)
