"""How far a stream of events was read, and when to resume it."""

import asyncio
from collections import OrderedDict
from functools import partial
from http import HTTPStatus
from typing import Final, Unpack

import httpx2

from mcp_runtime.core import sources
from mcp_runtime.core.connection.timers import log
from mcp_runtime.core.connection.transport import ANSWER_SENT, Sent, TransportError
from mcp_runtime.core.errors import clipped
from mcp_runtime.core.protocol import names
from mcp_runtime.core.protocol.names import INITIALIZE, NOTIFICATIONS_INITIALIZED
from mcp_runtime.core.transports.http.client import endpoint, posting
from mcp_runtime.core.transports.http.client.endpoint import EVENTS, Endpoint, HttpClientOptions, Refused, SessionGone
from mcp_runtime.core.transports.http.client.posting import PostingTransport, SessionSetup, SseClientTransport
from mcp_runtime.core.transports.http.client.standalone import Standalone, StandaloneRequests

RETRY: Final = 1.0
"""Seconds before a stream is requested again, unless the server sets another delay."""
MIN_RETRY: Final = 0.05
MAX_RETRY: Final = 60.0
MAX_DOUBLINGS: Final = 16
"""A server may be away for so long that doubling on would exceed every number."""
LONGEST_RETRY: Final = 86_400_000
"""The longest delay in milliseconds that a server can ask for: a day."""


class Position:
    """How far a stream was read, and when to resume it."""

    def __init__(self) -> None:
        self.id = ""
        self.retry: float | None = None

    def note(self, event: httpx2.ServerSentEvent) -> None:
        """Process an event."""
        self.id = event.id or self.id
        if event.retry is not None and event.retry >= 0:
            self.retry = min(event.retry, LONGEST_RETRY) / 1000

    def wait(self, failures: int) -> float:
        """Return the seconds to wait, longer after each of the first consecutive failures."""
        asked = RETRY if self.retry is None else self.retry
        return max(asked, MIN_RETRY, min(RETRY * 2 ** min(failures, MAX_DOUBLINGS), MAX_RETRY) if failures else 0)


LEGACY: Final = "legacy"
MAX_SERVERS: Final = 256
"""How many servers are remembered."""
SECONDS: Final = 3600.0
"""Seconds for which a server is remembered."""


class Servers:
    """Servers by URL, without user, query and fragment; several on one origin may belong to different eras."""

    def __init__(self) -> None:
        self._eras: OrderedDict[str, tuple[str, float]] = OrderedDict()

    def era(self, url: str) -> str:
        """Return the era of a server; empty if unknown."""
        era, until = self._eras.get(url, ("", 0.0))
        return era if sources.now() < until else ""

    def learn(self, url: str, era: str) -> None:
        """Remember the era of a server; an empty one forgets it."""
        self._eras.pop(url, None)
        if era:
            self._eras[url] = era, sources.now() + SECONDS
            if len(self._eras) > MAX_SERVERS:
                self._eras.popitem(last=False)

    def clear(self) -> None:
        """Forget all servers."""
        self._eras.clear()


servers: Final = Servers()
"""The servers known in this process."""


MAX_FAILURES: Final = 6
"""How often in a row a stream may fail before it is abandoned."""
RENEW_TIMEOUT: Final = 30.0
"""Seconds in which a server must begin another session after it has forgotten one."""

_UNAUTHORIZED: Final = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)
_OLDER: Final = (HTTPStatus.BAD_REQUEST, HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED)
"""What servers of HTTP+SSE answer a POST to their stream with (2025-03-26, basic/transports)."""


class HttpClientTransport(PostingTransport):
    """Communicates with a server over HTTP; it implements `mcp_runtime.transports.Transport`.

    Args:
        url: the server's endpoint.
        options: see `HttpClientOptions`.

    Raises:
        ValueError: the URL is not an HTTP URL.
    """

    def __init__(self, url: str, **options: Unpack[HttpClientOptions]) -> None:
        super().__init__(Endpoint(url, options))
        self._older = partial(SseClientTransport, url, **options)
        self._setup = SessionSetup()
        self._alone: set[int | str] = set()
        self._standalone = StandaloneRequests(self._endpoint, self._deliver)
        self._renewing = asyncio.Lock()
        self._is_refused = False
        self._may_be_older = False

    remembers_era = True

    @property
    def era(self) -> str:
        """The era of the server, as known from its answers or earlier connections; empty if unknown."""
        return LEGACY if self._is_refused else servers.era(self._endpoint.shown)

    def learn_era(self, era: str) -> None:
        """Remember the era of the server.

        Args:
            era: ``legacy`` or ``modern``; empty to forget it.
        """
        self._is_refused = False
        servers.learn(self._endpoint.shown, era)

    def older(self) -> SseClientTransport | None:
        """Return a transport for HTTP+SSE, if the server refused to begin a session as one of 2024-11-05 does."""
        return self._older() if self._may_be_older else None

    def send(self, message: bytes, about: Sent = ANSWER_SENT) -> None:
        """Send a message in a separate request: requests immediately, everything else in order."""
        if self._is_closed:
            return
        if about.meta and about.id is not None:
            self._ask_alone(Standalone(message, about.id, about.method, about.params, about.meta, about.named))
        elif about.cancels is not None and about.cancels in self._alone:
            # Closing the stream cancels the request (2026-07-28, basic/patterns/cancellation).
            self._requests[about.cancels].cancel()
        else:
            super().send(message, about)

    def _ask_alone(self, request: Standalone) -> None:
        self._endpoint.version = request.meta[names.VERSION]
        self._alone.add(request.id)
        task = self._start(partial(self._stand_alone, request), request.id)
        task.add_done_callback(lambda _: self._alone.discard(request.id))

    async def _stand_alone(self, request: Standalone) -> None:
        try:
            await self._standalone.exchange(request)
        except Refused as refused:
            self._is_refused = self._is_refused or not refused.may_be_of_either_era
            raise
        # A server may have answered another request instead.
        self._lose(request.id, TransportError(f"{self._endpoint.shown} did not answer {request.method}"))

    async def _post_unanswered(self, message: bytes, about: Sent) -> None:
        """Send a notification or an answer."""
        session = await self._session()
        try:
            try:
                await self._endpoint.post(message)
            except SessionGone:
                await self._renew(session, may_ask=False)
                await self._endpoint.post(message)
        except Exception as error:
            log.warning("a message was not delivered: %s", clipped(str(endpoint.reason_for(error))))
        if about.method == NOTIFICATIONS_INITIALIZED:
            self._setup.initialized = message
            self._listener = asyncio.create_task(self._listen())
        elif about.cancels is not None and (task := self._requests.get(about.cancels)) is not None:
            # It will not be answered any more.
            task.cancel()

    async def _begin(self, message: bytes, id_: int | str) -> None:
        """Send `initialize`, and learn the session and the revision from the answer."""
        for asked in self._alone:
            # The question about the server's era is not waited for any longer.
            self._requests[asked].cancel()
        self._endpoint.session = self._endpoint.version = ""
        try:
            answer = await self._first_answer(message, id_, may_ask=True)
        except Refused as refused:
            self._may_be_older = refused.status in _OLDER
            raise
        self._endpoint.version = posting.revision_of(answer)
        if not await self._deliver(answer):
            raise Refused(f"{self._endpoint.shown} did not answer initialize")

    async def _first_answer(self, message: bytes, id_: int | str, *, may_ask: bool) -> bytes:
        """Send `initialize`, and return its answer."""
        async with self._endpoint.request("POST", message, may_ask=may_ask) as response:
            self._endpoint.learn_session(response)
            if endpoint.type_of(response) != EVENTS:
                return await self._endpoint.body(response)
            async for event in self._endpoint.events(response):
                text = event.data.encode()
                if posting.is_answer_to(text, id_):
                    return text
                if text:
                    await self._deliver(text)
        raise Refused(f"{self._endpoint.shown} did not answer initialize")

    async def _request(self, message: bytes, about: Sent) -> None:
        """Send a request, and deliver its answer and what precedes it."""
        self._setup.note(message, about)
        if about.method == INITIALIZE:
            await self._begin(message, about.id or 0)
            return
        session = await self._session()
        try:
            await self._exchange(message)
        except SessionGone:
            # The server did not process it, so it may be sent again.
            await self._renew(session, may_ask=True)
            await self._exchange(message)

    async def _exchange(self, message: bytes) -> None:
        position, session = Position(), self._endpoint.session
        try:
            async with self._endpoint.request("POST", message, may_ask=True) as response:
                if response.status_code == HTTPStatus.ACCEPTED:
                    raise Refused(f"{self._endpoint.shown} answered a request with 202, as if it were a notification")
                if endpoint.type_of(response) != EVENTS:
                    if not await self._deliver(await self._endpoint.body(response)):
                        raise Refused(f"{self._endpoint.shown} answered a request with a body that is not its response")
                    return
                if await self._read(response, position):
                    return
        except (Refused, SessionGone):
            raise
        except TransportError:
            if not position.id:
                raise
        await self._resume(position, session)

    async def _resume(self, position: Position, session: str) -> None:
        """Resume a stream of a session that ended before its answer, until the answer arrives."""
        failures = 0
        while position.id:
            await asyncio.sleep(position.wait(failures))
            try:
                if self._endpoint.session != session:
                    # The standalone stream noticed first, and another session has begun.
                    raise SessionGone
                async with self._endpoint.request("GET", accept=EVENTS, last_event_id=position.id) as response:
                    failures = 0
                    if await self._read(response, position):
                        return
            except SessionGone:
                raise TransportError("the session ended before the request was answered") from None
            except TransportError as error:
                failures += 1
                if failures == MAX_FAILURES or (isinstance(error, Refused) and not error.is_passing):
                    raise
        raise TransportError(f"{self._endpoint.shown} ended the stream before the request was answered")

    async def _read(self, response: httpx2.Response, position: Position) -> bool:
        """Deliver the messages of a stream; return whether one of them was an answer."""
        events = self._endpoint.events(response)
        async for event in events:
            position.note(event)
            if event.data.strip() and await self._deliver(event.data.encode()):
                await endpoint.read_rest(events)
                return True
        return False

    async def _listen(self) -> None:
        """Listen to messages that belong to no request, for as long as the server offers that."""
        position, failures, refusals = Position(), 0, 0
        while refusals < MAX_FAILURES:
            session = self._endpoint.session
            try:
                async with self._endpoint.request("GET", accept=EVENTS, last_event_id=position.id) as response:
                    failures = refusals = 0
                    await self._read(response, position)
            except SessionGone as gone:
                position = Position()
                try:
                    await self._renew(session, may_ask=False)
                except Exception:
                    return
                refusals += 1
                if refusals == 1:
                    # At once; later ones are of a server that forgets each new session.
                    continue
                self._warn_of(gone, refusals)
            except TransportError as error:
                if not isinstance(error, Refused) or error.is_passing:
                    failures += 1
                elif error.status == HTTPStatus.METHOD_NOT_ALLOWED:
                    return
                else:
                    position.id = ""
                    refusals += 1
                    self._warn_of(error, refusals)
            except Exception as error:
                log.warning("the stream for messages from the server cannot be opened: %s", endpoint.reason_for(error))
                return
            await asyncio.sleep(position.wait(failures + refusals))

    def _warn_of(self, error: TransportError, refusals: int) -> None:
        if refusals == MAX_FAILURES:
            log.warning("the stream for messages from the server cannot be opened: %s", clipped(str(error)))

    async def _session(self) -> str:
        """Return the id of the session, waiting if it is being renewed."""
        if self._renewing.locked():
            async with self._renewing:
                pass
        return self._endpoint.session

    async def _renew(self, gone: str, *, may_ask: bool) -> None:
        """Begin a new session in place of one that the server has forgotten, and restore its state.

        Raises:
            Exception: that failed, so the connection has ended.
        """
        async with self._renewing:
            if self._endpoint.session != gone:
                return
            version = self._endpoint.version
            self._endpoint.session = self._endpoint.version = ""
            try:
                await self._begin_again(version, may_ask=may_ask)
            except Exception as error:
                if not may_ask and isinstance(error, Refused) and error.status in _UNAUTHORIZED:
                    # The next request of the caller may lead to a sign-in.
                    self._endpoint.session, self._endpoint.version = gone, version
                else:
                    self._end(endpoint.reason_for(error))
                raise
            listener = self._listener
            if listener is not None and listener is not asyncio.current_task():
                # Immediately, whatever delay it waits for to resume the old session.
                listener.cancel()
                self._listener = asyncio.create_task(self._listen())

    async def _begin_again(self, version: str, *, may_ask: bool) -> None:
        """Repeat the handshake, and restore the state of the session that the server has forgotten.

        Raises:
            TransportError: the server did not begin a session in the same revision, or not in time.
        """
        id_, hello = self._setup.hello
        missing = f"the session ended, and {self._endpoint.shown} did not begin another one"
        try:
            async with self._endpoint.patience.timeout(RENEW_TIMEOUT):
                answer = await self._first_answer(hello, id_, may_ask=may_ask)
        except TimeoutError:
            raise TransportError(f"{missing} within {RENEW_TIMEOUT:g} s") from None
        if posting.revision_of(answer) != version:
            raise Refused(missing)
        self._endpoint.version = version
        for message in self._setup.rest:
            await self._endpoint.post(message)
