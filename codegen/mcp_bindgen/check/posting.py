"""The same client over Streamable HTTP: each message is a POST, whose answers are a body or the events of a stream."""

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final

import httpx2

from mcp_bindgen.check.client import MAX_LINE, META, Cut, Ended, NotJudged, Peer, Silent, Unreachable, before
from mcp_bindgen.ir.diagnostics import InputError, clip
from mcp_bindgen.ir.json_values import as_list, as_object, is_list, json_value
from mcp_bindgen.live.target import Endpoint, authorizer, login_to, name_of
from mcp_runtime.auth.fetching import trusted
from mcp_runtime.core.errors import AuthorizationError
from mcp_runtime.core.transports.http.mirrored import METHOD, NAME, NAMED, VERSION, Parameter, encode, parameters

SESSION: Final = "mcp-session-id"
MAX_WAITING: Final = 8
"""How many messages may wait to be read before the server has to."""
UNRELATED: Final = (401, 402, 403, 407, 408, 421, 425, 429, 502, 503, 504)
"""Statuses that have nothing to do with what was sent: of authorization, limits of rates, and proxies."""
_JSON, _EVENTS = "application/json", "text/event-stream"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An answer of HTTP: its status, the media type, and the first text in it."""

    status: int
    type: str
    text: str

    @property
    def is_unrelated(self) -> bool:
        """Whether something between the client and the server may have answered."""
        return self.status in UNRELATED or 300 <= self.status < 400


class PostingPeer(Peer):
    """A conversation with a URL.

    Attributes:
        mirrored: the arguments of each tool that are repeated in headers, in the modern era.
        session: the id of the session; empty without one.
    """

    cancels = False

    def __init__(self, url: str, client: httpx2.AsyncClient, timeout: float) -> None:
        super().__init__(timeout)
        self._url = url
        self._http = client
        self._lines: asyncio.Queue[bytes | Exception] = asyncio.Queue(MAX_WAITING)
        self._posts: set[asyncio.Task[None]] = set()
        self.mirrored: dict[str, tuple[Parameter, ...]] = {}
        self.session = ""

    @property
    def is_local(self) -> bool:
        """Whether the server is on this machine, where a web page may reach it."""
        return httpx2.URL(self._url).host in ("localhost", "127.0.0.1", "::1")

    async def exchange(self, text: str, headers: Mapping[str, str | None], method: str = "POST") -> Answer:
        """Send a request of HTTP past the observer, and return its answer; a header that is None is left out.

        Raises:
            Silent: the server does not answer.
        """
        own = self._headers(as_object(json_value(text))) if text else self._of_session()
        lowered = {name.lower() for name in headers}
        merged = {name: value for name, value in own.items() if name not in lowered}
        merged |= {name: value for name, value in headers.items() if value is not None}
        shown = {name: value for name, value in merged.items() if name != "content-type"}
        self.record(f"{method} {json.dumps(shown)} {text}".rstrip(), by_client=True)
        body = b""
        try:
            async with asyncio.timeout(self.timeout):
                async with self._http.stream(method, self._url, content=text, headers=merged) as response:
                    texts = _events(response) if _type_of(response) == _EVENTS else _whole(response)
                    async with aclosing(texts):
                        body = b"" if method == "GET" else await anext(texts, b"")
        except (TimeoutError, httpx2.TimeoutException):
            raise Silent("no answer in time") from None
        except (httpx2.HTTPError, httpx2.StreamError) as error:
            raise _lost(error) from None
        answer = Answer(status=response.status_code, type=_type_of(response), text=body.decode("utf-8", "replace"))
        self.record(f"{answer.status} {answer.type} {answer.text}".rstrip(), by_client=False)
        return answer

    def close(self) -> None:
        """End what still waits for answers."""
        for post in self._posts:
            post.cancel()

    async def _transmit(self, text: str) -> None:
        begun: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        post = asyncio.create_task(self._post(text, begun))
        self._posts.add(post)
        post.add_done_callback(self._posts.discard)
        await before(asyncio.get_running_loop().time() + self.timeout, begun)

    async def _post(self, text: str, begun: asyncio.Future[None]) -> None:
        """Post a text, and take over what comes back; `begun` is done when the answer begins."""
        value = json_value(text)
        message = as_object(value)
        try:
            async with self._http.stream("POST", self._url, content=text, headers=self._headers(message)) as response:
                had_session, self.session = bool(self.session), response.headers.get(SESSION, self.session)
                if not begun.done():
                    begun.set_result(None)
                is_answered = "method" in message and "id" not in message  # or nothing is to be answered
                reason = ""
                async for line in _texts(response):
                    found = json_value(line)
                    if is_answered and response.status_code >= 400:
                        return  # a refused notification has no message in its body
                    if response.status_code in UNRELATED and as_object(found).get("id") is None:
                        reason = str(as_object(as_object(found).get("error")).get("message", ""))
                        continue
                    is_answered = is_answered or is_list(found) or "method" not in as_object(found)
                    self._learn(found)
                    await self._lines.put(line)
                if not is_answered and (is_list(value) or "method" in message):
                    await self._lines.put(_unanswered(response, reason, had_session=had_session))
        except (httpx2.HTTPError, httpx2.StreamError, ValueError) as error:
            if begun.done():
                await self._lines.put(_lost(error))
            else:
                begun.set_exception(_lost(error))

    async def _line(self, deadline: float) -> bytes:
        line: bytes | Exception = await before(deadline, self._lines.get())
        if isinstance(line, Exception):
            raise line
        return line

    def _of_session(self) -> dict[str, str]:
        is_sendable = self.session.isascii() and self.session.isprintable()
        found = {SESSION: self.session} if self.session and is_sendable else {}
        return found | ({VERSION: self.revision} if self.offered or self.session else {})

    def _headers(self, message: Mapping[str, Any]) -> dict[str, str]:
        """Return the headers that a message needs: in the modern era they repeat what it says."""
        headers = {"accept": f"{_JSON}, {_EVENTS}", "content-type": _JSON}
        if self.is_legacy:
            return headers if message.get("method") == "initialize" else headers | self._of_session()
        params = as_object(message.get("params"))
        revision = as_object(params.get("_meta")).get(f"{META}protocolVersion", self.revision)
        method = str(message.get("method", ""))
        named = params.get(NAMED.get(method, ""))
        name = {NAME: encode(named)} if isinstance(named, str) else {}
        texts = {
            each.header: each.text_of(each.value_in(params.get("arguments")))
            for each in self.mirrored.get(str(named), ())
            if method == "tools/call"
        }
        mirrored = {header: encode(text) for header, text in texts.items() if text is not None}
        return headers | {VERSION: str(revision), METHOD: encode(method)} | name | mirrored

    def _learn(self, message: Any) -> None:
        """Remember which arguments of tools are repeated in headers, from a list of tools."""
        for tool in map(as_object, as_list(as_object(as_object(message).get("result")).get("tools"))):
            with suppress(ValueError):
                self.mirrored[str(tool.get("name"))] = parameters(tool.get("inputSchema"))


@asynccontextmanager
async def reached(endpoint: Endpoint, timeout: float) -> AsyncGenerator[PostingPeer]:
    """Talk to a URL, with the stored tokens for it.

    Raises:
        InputError: the stored tokens cannot be refreshed.
    """
    limits, headers = httpx2.Timeout(timeout * 3, read=None), dict(endpoint.headers)
    try:
        if (auth := authorizer(endpoint)) is not None:
            headers["authorization"] = f"Bearer {(await auth.begin(endpoint.url)).token}"
    except AuthorizationError as error:
        raise InputError.at(name_of(endpoint), str(error)) from None
    async with httpx2.AsyncClient(verify=trusted(), timeout=limits, headers=headers) as client:
        peer = PostingPeer(endpoint.url, client, timeout)
        try:
            yield peer
        finally:
            peer.close()


def _lost(error: Exception) -> Exception:
    """Return what became of a server: if its port refuses connections, it has ended."""
    if _refuses(error):
        return Ended("the port refuses connections")
    is_open = not isinstance(error, httpx2.ConnectError | httpx2.TimeoutException)
    return Cut(f"{'the answer cannot be read' if is_open else 'the server cannot be reached'}: {type(error).__name__}")


def _refuses(error: BaseException | None) -> bool:
    """Whether a connection was refused, at each address of the server."""
    if several := getattr(error, "exceptions", ()):
        return all(map(_refuses, several))
    is_refused = isinstance(error, ConnectionRefusedError)
    return is_refused or (error is not None and _refuses(error.__cause__ or error.__context__))


def _unanswered(response: httpx2.Response, reason: str, *, had_session: bool) -> Exception:
    """Return what an answer without a message means; the server may have given a reason."""
    status = response.status_code
    if status == 200 and _type_of(response) == _JSON:
        return Silent("the answer has no message")
    # Without a session, these statuses tell that it is of the other era.
    is_of_era = status in (400, 404, 405) and not had_session
    return (NotJudged if is_of_era else Unreachable)(_why(response, reason, had_session=had_session))


def _why(response: httpx2.Response, reason: str, *, had_session: bool) -> str:
    """Return why an answer has no message."""
    status, headers = response.status_code, response.headers
    if status == 401:
        scheme = clip(headers.get("www-authenticate", "").partition(" ")[0], 20)
        login = login_to(Endpoint(url=str(response.request.url)))
        return f"the server needs authorization (401{f', {scheme}' if scheme else ''}); run: {login}, or give --header"
    if 300 <= status < 400:
        return f"the server redirects ({status}) to {clip(headers.get('location', 'nowhere'), 200)}: give that URL"
    if status == 404 and had_session:
        return "the session is gone (404)"
    if status >= 400:
        told = f": {clip(reason, 200)}" if reason else ", and no message"
        return f"the server answers with the status {status}{told}"
    if _type_of(response) not in (_JSON, _EVENTS):
        return f"the server answers with {clip(_type_of(response) or 'no media type', 100)}, not with messages"
    return "the stream ended before the answer"


def _type_of(response: httpx2.Response) -> str:
    return response.headers.get("content-type", "").partition(";")[0].strip().lower()


async def _texts(response: httpx2.Response) -> AsyncGenerator[bytes]:
    """Yield the messages in an answer; an error may have a body that is none."""
    if _type_of(response) == _EVENTS:
        async for text in _events(response):
            yield text
    elif _type_of(response) == _JSON:
        async for text in _whole(response):
            if response.status_code < 400 or "jsonrpc" in as_object(json_value(text)):
                yield text


async def _events(response: httpx2.Response) -> AsyncGenerator[bytes]:
    """Yield the data of each event that is a message."""
    async for event in aiter(httpx2.EventSource(response, max_event_size=MAX_LINE)):
        if event.event == "message" and event.data.strip():
            yield event.data.encode()


async def _whole(response: httpx2.Response) -> AsyncGenerator[bytes]:
    """Yield the body of an answer, unless it is empty; raises StreamError if it is too long."""
    body = bytearray()
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > MAX_LINE:
            raise httpx2.StreamError("too long")
    if body.strip():
        yield bytes(body)
