"""The client's end of HTTP+SSE (specification of 2024-11-05: basic/transports, HTTP with SSE)."""

import asyncio
import logging
from typing import Final, Unpack

import httpx2

from mcp_runtime.connection.transport import Receiver, Sent, TransportError
from mcp_runtime.errors import clipped
from mcp_runtime.transports.http.client.endpoint import EVENTS, Endpoint, HttpClientOptions, Refused, reason_for
from mcp_runtime.transports.http.client.posting import PostingTransport

ENDPOINT_TIMEOUT: Final = 30.0
"""Seconds in which the server must have named the endpoint for messages, by default."""
POST_TIMEOUT: Final = 30.0
"""Seconds in which the server must accept a notification or an answer. A request may take as long as its call does."""

log: Final = logging.getLogger("mcp_runtime")


class SseClientOptions(HttpClientOptions, total=False):
    """How to connect to a server over HTTP+SSE.

    Attributes:
        endpoint_timeout: seconds in which the server must have named the endpoint for messages; 30.
    """

    endpoint_timeout: float


class SseClientTransport(PostingTransport):
    """Communicates with a server over HTTP+SSE; it implements `mcp_runtime.connection.transport.Transport`.

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
            async with asyncio.timeout(self._endpoint_timeout):
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
        reason = TransportError(f"{self._endpoint.shown} ended the stream, and the session with it")
        try:
            async with self._endpoint.request("GET", accept=EVENTS) as response:
                events = self._endpoint.events(response)
                self._messages = self._endpoint_of(await anext(events, None), response.url)
                opened.set_result(None)
                async for event in events:
                    # Servers may send other events, such as keep-alives; they are not part of the protocol.
                    if event.event == "message" and (text := event.data.encode()).strip():
                        await self._deliver(text)
        except Exception as error:
            reason = reason_for(error)
        if opened.done():
            for task in self._requests.values():
                task.cancel()
            self._end(reason)
        else:
            opened.set_exception(reason)

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
            await self._post(message)
        except TransportError as error:
            # Some servers keep the POST of a request open until they have answered it on the stream.
            if not isinstance(error.__cause__, httpx2.ReadTimeout):
                raise

    async def _tell(self, message: bytes, about: Sent) -> None:
        """Post a notification or an answer."""
        cancelled = self._requests.get(about.cancels) if about.cancels is not None else None
        if cancelled is not None:
            # A cancellation must not arrive before the request.
            await asyncio.wait((cancelled,), timeout=self._endpoint.close_timeout)
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
