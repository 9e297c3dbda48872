"""The same client over Streamable HTTP: each message is a POST, whose answers are a body or the events of a stream."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from mcp_bindgen.check.client import MAX_LINE, MAX_TEXT, META, Ended, Peer, Said, Silent, object_of
from mcp_bindgen.diagnostics import InputError, clip

if TYPE_CHECKING:
    import httpx2

SESSION: Final = "mcp-session-id"
VERSION: Final = "mcp-protocol-version"
_NAMED: Final = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
"""The parameter that the header Mcp-Name repeats, by method."""
_UNAUTHORIZED: Final = 401


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An answer of HTTP: its status, the media type, and the first text in it."""

    status: int
    type: str
    text: str


class PostingPeer(Peer):
    """A conversation with a URL.

    Attributes:
        session: the id of the session; empty without one.
    """

    def __init__(self, url: str, client: "httpx2.AsyncClient", timeout: float) -> None:
        super().__init__(timeout)
        self._url = url
        self._http = client
        self._lines: asyncio.Queue[bytes] = asyncio.Queue()
        self._posts: set[asyncio.Task[None]] = set()
        self.session = ""

    @property
    def is_local(self) -> bool:
        """Whether the server is on this machine, where a web page may reach it."""
        import httpx2

        return httpx2.URL(self._url).host in ("localhost", "127.0.0.1", "::1")

    async def exchange(self, text: str, headers: Mapping[str, str | None], method: str = "POST") -> Answer:
        """Send a request of HTTP past the observer, and return its answer; a header that is None is left out.

        Raises:
            Silent: the server does not answer.
        """
        own = self._headers(_object_in(text)) if text else self._of_session()
        lowered = {name.lower() for name in headers}
        merged = {name: value for name, value in own.items() if name not in lowered}
        merged |= {name: value for name, value in headers.items() if value is not None}
        shown = {name: value for name, value in merged.items() if name != "content-type"}
        self._record(True, f"{method} {json.dumps(shown)} {text}".rstrip())
        try:
            async with asyncio.timeout(self.timeout):
                async with self._http.stream(method, self._url, content=text, headers=merged) as response:
                    type_ = response.headers.get("content-type", "").partition(";")[0]
                    body = "" if method == "GET" else (await _first(response)).decode("utf-8", "replace")
        except (TimeoutError, self._failure()):
            raise Silent("no answer in time") from None
        answer = Answer(status=response.status_code, type=type_, text=body)
        self._record(False, f"{answer.status} {answer.type} {answer.text}".rstrip())
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
        try:
            await asyncio.wait_for(begun, self.timeout)
        except TimeoutError:
            raise Silent("no answer in time") from None

    async def _post(self, text: str, begun: "asyncio.Future[None]") -> None:
        """Post a text, and take over what comes back; `begun` is done when the answer begins."""
        value: Any = json.loads(text)
        message = object_of(value)
        try:
            async with self._http.stream("POST", self._url, content=text, headers=self._headers(message)) as response:
                self.session = response.headers.get(SESSION, self.session)
                if response.status_code == _UNAUTHORIZED and not begun.done():
                    begun.set_exception(Ended("the server needs authorization (401): give --header"))
                    return
                if not begun.done():
                    begun.set_result(None)
                # A notification that is not accepted gets a status, whose body is not a message.
                if response.status_code < 400 or not isinstance(value, dict) or "id" in message:
                    async for line in _texts(response):
                        self._lines.put_nowait(line)
        except self._failure() as error:
            if not begun.done():
                begun.set_exception(Ended(f"the server cannot be reached: {type(error).__name__}"))

    async def _line(self, deadline: float) -> bytes:
        left = deadline - asyncio.get_running_loop().time()
        try:
            return await asyncio.wait_for(self._lines.get(), max(left, 0.001))
        except TimeoutError:
            raise Silent("no answer in time") from None

    def _of_session(self) -> dict[str, str]:
        found = {SESSION: self.session} if self.session else {}
        return found | ({VERSION: self.revision} if self.offered or self.session else {})

    def _headers(self, message: Mapping[str, Any]) -> dict[str, str]:
        """Return the headers that a message needs: in the modern era they repeat what it says."""
        headers = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
        if self.is_legacy:
            return headers if message.get("method") == "initialize" else headers | self._of_session()
        params = object_of(message.get("params"))
        revision = object_of(params.get("_meta")).get(f"{META}protocolVersion", self.revision)
        method = str(message.get("method", ""))
        named = params.get(_NAMED.get(method, ""))
        name = {"mcp-name": named} if isinstance(named, str) else {}
        return headers | {VERSION: str(revision), "mcp-method": method} | name

    def _failure(self) -> type[Exception]:
        import httpx2

        return httpx2.HTTPError

    def _record(self, by_client: bool, text: str) -> None:
        self.said.append(Said(by_client=by_client, text=clip(text, MAX_TEXT)))


@asynccontextmanager
async def reached(url: str, headers: Mapping[str, str], timeout: float) -> AsyncGenerator[PostingPeer]:
    """Talk to a URL.

    Raises:
        InputError: httpx2 is not installed.
    """
    try:
        import httpx2
    except ImportError:
        raise InputError.at("check", "a URL needs httpx2: pip install 'mcp-bindgen[http]'") from None
    async with httpx2.AsyncClient(timeout=httpx2.Timeout(timeout * 3, read=None), headers=dict(headers)) as client:
        peer = PostingPeer(url, client, timeout)
        try:
            yield peer
        finally:
            peer.close()


def _object_in(text: str) -> dict[str, Any]:
    try:
        return object_of(json.loads(text))
    except ValueError:
        return {}


async def _first(response: "httpx2.Response") -> bytes:
    async for text in _texts(response):
        return text
    return b""


async def _texts(response: "httpx2.Response") -> AsyncIterator[bytes]:
    """Yield the messages in an answer: its body, or the data of each event."""
    if not response.headers.get("content-type", "").startswith("text/event-stream"):
        body = bytearray()
        async for chunk in response.aiter_bytes():
            body += chunk if len(body) <= MAX_LINE else b""
        if body.strip() and len(body) <= MAX_LINE:
            yield bytes(body)
        return
    data = list[str]()
    async for line in response.aiter_lines():
        name, _, value = line.partition(":")
        if name == "data":
            data.append(value.removeprefix(" "))
        elif not line and data:
            if text := "\n".join(data).strip():
                yield text.encode()
            data.clear()
