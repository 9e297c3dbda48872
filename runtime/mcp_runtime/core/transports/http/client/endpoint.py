"""HTTP requests to one endpoint, and their responses: each wait has a timeout, each response a size limit."""

import asyncio
import re
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from copy import copy
from functools import cache
from http import HTTPStatus
from typing import Final, TypedDict

import httpx2

from mcp_runtime.core.connection.transport import TransportError
from mcp_runtime.core.errors import clipped
from mcp_runtime.core.transports.http.client.signing import Authorizer, Patience, address_of, renewed
from mcp_runtime.core.transports.http.mirrored import VERSION

BOTH: Final = "application/json, text/event-stream"
EVENTS: Final = "text/event-stream"
SESSION: Final = "mcp-session-id"

MAX_REDIRECTS: Final = 5
MAX_ERROR_BYTES: Final = 1 << 20
"""How many bytes are read of an error, or of a response that has no meaning."""
MAX_IDLE: Final = 4.0
"""Seconds for which an idle connection is kept. Many servers close one after 5, perhaps just when it is used again."""
READ_REST: Final = 1.0
"""Seconds in which the rest of a response is read, so that its connection can be reused."""

_PASSING: Final = (429, 502, 503, 504)
"""Too many requests, and what gateways answer: errors that may pass."""
_OF_NO_ERA: Final = frozenset((*_PASSING, 401, 403, 407, 408))
"""These, and those of authorization, proxies and timeouts: servers of either era send them."""
_VISIBLE: Final = re.compile(r"[\x21-\x7e]{1,1024}")


class HttpClientOptions(TypedDict, total=False):
    """How to connect to a server over HTTP.

    Attributes:
        headers: headers of every request.
        auth: obtains access tokens, such as `mcp_runtime.OAuth`; or authenticates requests as in httpx2: a pair of
            name and password, or an `httpx2.Auth`.
        max_message_bytes: the maximum size of a message from the server, decompressed; 16 MiB.
        connect_timeout: seconds to connect, and to wait for a free connection; 10.
        write_timeout: seconds to send a piece of a request; 30.
        read_timeout: seconds without a byte from the server after which a stream counts as lost; 300.
        close_timeout: seconds in which the session is ended when the client closes; 5.
        http: a client for sending the requests, which is not closed: for certificates, proxies and so on. Its timeouts
            apply, and it must not follow redirects.
    """

    headers: Mapping[str, str] | None
    auth: Authorizer | httpx2.Auth | tuple[str, str] | None
    max_message_bytes: int
    connect_timeout: float
    write_timeout: float
    read_timeout: float
    close_timeout: float
    http: httpx2.AsyncClient | None


class SessionGone(TransportError):
    """The server no longer knows the session."""


class Refused(TransportError):
    """The server answered with an error status, or with something unreadable.

    Attributes:
        status: the HTTP status; 0 if it is not an error.
        body: the beginning of the response.
    """

    def __init__(self, text: str, status: int = 0, body: bytes = b"") -> None:
        super().__init__(text)
        self.status = status
        self.body = body

    @property
    def is_passing(self) -> bool:
        """Whether the same request may succeed a little later: the server is busy, or restarting behind a proxy."""
        return self.status in _PASSING

    @property
    def may_be_of_either_era(self) -> bool:
        """Whether a server of either era, or a proxy, may have sent this response."""
        return self.status in _OF_NO_ERA


class Endpoint:
    """Sends HTTP requests to one URL.

    Args:
        url: the URL.
        options: see `HttpClientOptions`.

    Attributes:
        shown: the URL without secrets.
        session: the id of the session; empty before there is one.
        version: the agreed revision; empty before that.
        patience: the timeouts of the connection.
        extensions: the extensions that its authorization is declared by.
    """

    def __init__(self, url: str, options: HttpClientOptions) -> None:
        parsed = httpx2.URL(url)
        if parsed.scheme not in ("http", "https") or not parsed.host:
            raise ValueError("the URL of a server must begin with http:// or https:// and name a host")
        if parsed.port is not None and not 0 < parsed.port < 1 << 16:
            raise ValueError(f"{parsed.port} is not a port")
        self.shown = _shown(parsed)
        self.session = ""
        self.version = ""
        self.close_timeout = options.get("close_timeout", 5.0)
        self._url = parsed
        self._max_bytes = options.get("max_message_bytes", 16 << 20)
        self._given = options.get("http")
        self._http = self._given or _client(options)
        given = options.get("headers") or {}
        self._headers = {name.lower(): value for name, value in given.items()}
        for name, value in given.items():
            if not (name + value).isascii() or not (name + value).isprintable():
                raise ValueError(f"the header {name!r} has characters that HTTP does not allow; encode its value")
        auth = options.get("auth")
        self._authorizer = auth if isinstance(auth, Authorizer) else None
        # Neither the user in a URL nor a default of the client may replace a token.
        self._auth = (httpx2.Auth() if isinstance(auth, Authorizer) else auth) or httpx2.USE_CLIENT_DEFAULT
        self._resource = url
        self.extensions = (self._authorizer.extension,) if self._authorizer and self._authorizer.extension else ()
        self.patience = Patience()

    def at(self, base: httpx2.URL, reference: str) -> "Endpoint":
        """Return another endpoint that shares connections, cookies, headers and options with this one.

        Args:
            base: the URL that the reference is relative to.
            reference: the other endpoint, as named by a server.

        Raises:
            Refused: it belongs to another origin, or is not a URL.
        """
        try:
            target = base.join(reference).copy_with(userinfo=self._url.userinfo, fragment=None)
        except (httpx2.InvalidURL, ValueError) as error:
            raise Refused(f"{self.shown} names an endpoint that is not a URL: {clipped(repr(reference))}") from error
        if not _is_same_origin(target, self._url):
            where = clipped(_origin(target))
            raise Refused(f"{self.shown} names an endpoint at {where}: messages are not sent to other origins")
        other = copy(self)
        other._url = target
        other.shown = _shown(target)
        return other

    @asynccontextmanager
    async def request(
        self,
        method: str,
        content: bytes | None = None,
        *,
        accept: str = BOTH,
        last_event_id: str = "",
        mirrored: Mapping[str, str] | None = None,
        may_ask: bool = False,
    ) -> AsyncGenerator[httpx2.Response]:
        """Send a request and open its response, whose status is not an error.

        Args:
            method: the HTTP method.
            content: a JSON-RPC message.
            accept: the accepted media types.
            last_event_id: the last event of a stream to resume; empty for a new one.
            mirrored: the headers that repeat the content of a modern-era request, which has no session.
            may_ask: whether a person may be asked to sign in, as for a request of the caller.

        Raises:
            AuthorizationError: the access token that the server asks for cannot be obtained.
            SessionGone: the server no longer knows the session.
            Refused: the server answered with an error status, or redirects elsewhere.
            TransportError: the server cannot be reached, or the connection was lost.
        """
        session = "" if mirrored is not None else self.session
        own = {
            "accept": accept,
            VERSION: self.version,
            "content-type": "" if content is None else "application/json",
            SESSION: session,
            "last-event-id": last_event_id,
        }
        headers = {**self._headers, **{name: value for name, value in own.items() if value}, **(mirrored or {})}
        signing = await self._authorizer.begin(self._resource) if self._authorizer is not None else None
        url, redirected = self._url, 0
        try:
            while redirected < MAX_REDIRECTS:
                if signing is not None and signing.token:
                    headers["authorization"] = f"Bearer {signing.token}"
                encoded = httpx2.Headers(headers, encoding="utf-8")  # the id of an event may be any text
                async with self._http.stream(
                    method, url, content=content, headers=encoded, auth=self._auth, follow_redirects=False
                ) as response:
                    if response.has_redirect_location:
                        url = self._redirected(url, response)
                        redirected += 1
                        continue
                    if len(_encodings(response)) > 1:
                        raise Refused(f"{self.shown} sends a response that is compressed more than once")
                    if not response.is_error:
                        yield response
                        return
                    address = address_of(response)  # before its body is read, which may close the connection
                    refused = await self._refusal(response, session)
                if signing is None or not await renewed(signing, response, address, self.patience, may_ask=may_ask):
                    raise refused
        except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError, httpx2.SSEError) as error:
            raise self._failure(error) from error
        raise Refused(f"{self.shown} redirects too many times")

    def _failure(self, error: Exception) -> TransportError:
        """Return what an error of the client library means."""
        reason = clipped(str(error) or type(error).__name__)
        if isinstance(error, httpx2.NetworkError):
            problem = "cannot connect" if isinstance(error, httpx2.ConnectError) else "the connection broke"
            reason = f"{problem} ({reason}); check the URL, and that the server is running"
        return (Refused if isinstance(error, httpx2.SSEError) else TransportError)(f"{self.shown}: {reason}")

    async def post(self, message: bytes) -> None:
        """Send a message that needs no answer; raises what `request` does."""
        async with self.request("POST", message) as response:
            with suppress(TimeoutError):
                async with asyncio.timeout(READ_REST):
                    await self.skip(response)

    async def body(self, response: httpx2.Response) -> bytes:
        """Read a complete response.

        Raises:
            Refused: it is too large.
        """
        parts: list[bytes] = []
        size = 0
        async for part in response.aiter_bytes():
            size += len(part)
            if size > self._max_bytes:
                raise Refused(f"an answer has more than {self._max_bytes:,} bytes (max_message_bytes)")
            parts.append(part)
        return b"".join(parts)

    async def skip(self, response: httpx2.Response) -> None:
        """Read a response that has no meaning, unless it is large, so that the connection can be reused."""
        size = 0
        with suppress(httpx2.HTTPError):
            async for part in response.aiter_bytes():
                size += len(part)
                if size > MAX_ERROR_BYTES:
                    return

    def events(self, response: httpx2.Response) -> AsyncIterator[httpx2.ServerSentEvent]:
        """Iterate over the events of a stream: always UTF-8, perhaps with a byte order mark (HTML Standard, 9.2.5)."""
        decoded = httpx2.Response(
            response.status_code,
            headers={"content-type": type_of(response)},
            content=_pieces(response),
            request=response.request,
            default_encoding="utf-8-sig",
        )
        return aiter(httpx2.EventSource(decoded, max_event_size=self._max_bytes))

    def learn_session(self, response: httpx2.Response) -> None:
        """Read the session id from the answer to a handshake.

        Raises:
            Refused: it is not valid.
        """
        found = response.headers.get(SESSION, "")
        if found and not _VISIBLE.fullmatch(found):
            raise Refused("the server gave a session id that is not visible ASCII")
        self.session = found

    async def end_session(self) -> None:
        """End the session at the server, if there is one; a server may refuse that."""
        if not self.session:
            return
        with suppress(TransportError, TimeoutError):
            async with asyncio.timeout(self.close_timeout), self.request("DELETE", accept="*/*"):
                pass
        self.session = ""

    async def aclose(self) -> None:
        """Close the connections."""
        if self._given is None:
            await self._http.aclose()

    def _redirected(self, url: httpx2.URL, response: httpx2.Response) -> httpx2.URL:
        """Return the target of a redirect, which must be the same origin: the headers may be secret."""
        same = _is_same_origin(target := url.join(response.headers["location"]), url)
        if not same or response.status_code not in (HTTPStatus.TEMPORARY_REDIRECT, HTTPStatus.PERMANENT_REDIRECT):
            where = f"{_origin(target)}{target.path}" if same else _origin(target)
            why = "with a status that makes a GET of it" if same else "requests are not sent to other origins"
            raise Refused(f"{self.shown} redirects to {clipped(where)}, {why}: use that URL")
        # The router of a mounted application would redirect each request.
        self._url = target if target == url.copy_with(path=f"{url.path}/") else self._url
        return target

    async def _refusal(self, response: httpx2.Response, session: str) -> TransportError:
        """Return what an error response means."""
        if response.status_code == HTTPStatus.NOT_FOUND and session:
            return SessionGone(f"{self.shown}: the server no longer knows the session")
        body = b""
        async for part in response.aiter_bytes():
            body += part
            if len(body) > MAX_ERROR_BYTES:
                break
        reason = f"{response.status_code} {response.reason_phrase}".rstrip()
        return Refused(f"{self.shown} answered {reason}", response.status_code, body[:MAX_ERROR_BYTES])


def _shown(url: httpx2.URL) -> str:
    """Return a URL without secrets."""
    return str(url.copy_with(userinfo=b"", query=None, fragment=None))


def _origin(url: httpx2.URL) -> str:
    return f"{url.scheme}://{url.netloc.decode('ascii', 'replace').rpartition('@')[2]}"


def _is_same_origin(one: httpx2.URL, other: httpx2.URL) -> bool:
    return (one.scheme, one.host, one.port) == (other.scheme, other.host, other.port)


def reason_for(error: Exception) -> TransportError:
    """Return why something was not sent or received, as text that is safe to show."""
    if isinstance(error, TransportError):
        return error
    # For example, a client that the application has closed, or a failed authentication.
    return TransportError(clipped(f"the request could not be sent: {type(error).__name__}: {error}"))


async def read_rest(stream: AsyncIterator[object]) -> None:
    """Read a stream that has no more meaning, so that its connection can be reused: normally it ends at once."""
    with suppress(TimeoutError, TransportError, httpx2.HTTPError, httpx2.StreamError):
        async with asyncio.timeout(READ_REST):
            async for _ in stream:
                pass


def type_of(response: httpx2.Response) -> str:
    """Return the media type of a response, without its parameters."""
    return response.headers.get("content-type", "").partition(";")[0].strip().lower()


def _encodings(response: httpx2.Response) -> list[str]:
    return response.headers.get_list("content-encoding", split_commas=True)


async def _pieces(response: httpx2.Response) -> AsyncGenerator[bytes]:
    """Iterate over the decompressed pieces of a response.

    A few compressed bytes may be gigabytes without an event; other tasks and timeouts run between two pieces of them.
    """
    is_compressed = bool(_encodings(response))
    async for piece in response.aiter_bytes():
        yield piece
        if is_compressed:
            await asyncio.sleep(0)


def _client(options: HttpClientOptions) -> httpx2.AsyncClient:
    connect = options.get("connect_timeout", 10.0)
    timeout = httpx2.Timeout(
        connect=connect, pool=connect, write=options.get("write_timeout", 30.0), read=options.get("read_timeout", 300.0)
    )
    # As many connections as there are requests, which the runtime limits by timeouts.
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=100, keepalive_expiry=MAX_IDLE)
    return httpx2.AsyncClient(verify=_trusted(), timeout=timeout, limits=limits, follow_redirects=False)


@cache
def _trusted() -> ssl.SSLContext:
    """Return the certificates to trust. Reading them blocks for 30 ms, so all clients of a process share them."""
    return httpx2.create_ssl_context()
