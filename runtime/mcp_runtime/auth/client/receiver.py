"""Takes the response of an issuer from a browser, on 127.0.0.1 (RFC 8252, 7.3)."""

import asyncio
import contextlib
import hmac
import os
import sys
import webbrowser
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import asynccontextmanager
from typing import Final, TypeAlias
from urllib.parse import parse_qsl, quote, urlsplit

from mcp_runtime.core.errors import AuthorizationError

SIGNING_IN: Final = "signing in"
SECONDS: Final = 300.0
"""Seconds in which a person must have signed in."""
READ_SECONDS: Final = 5.0
"""Seconds in which a browser must have sent its request."""
MAX_HEAD: Final = 16 << 10

Visit: TypeAlias = Callable[[str], Awaitable[str]]
"""Shows a URL to a person, and returns the URL that the browser was redirected to in the end."""

_HEAD: Final = (
    "HTTP/1.1 {}\r\ncontent-type: text/html; charset=utf-8\r\ncontent-length: {}\r\ncache-control: no-store\r\n"
    "content-security-policy: default-src 'none'\r\nreferrer-policy: no-referrer\r\nconnection: close\r\n\r\n"
)
_OF_URLS: Final = "%:/?#[]@!$&'()*+,;="
_DONE: Final = "<!doctype html><title>Done</title><p>The program has the answer. You can close this page."
_UNKNOWN: Final = "<!doctype html><title>Not found</title><p>Nothing is expected here."


class Receiver:
    """Listens at a redirect URI for one response.

    Attributes:
        redirect_uri: the URL that it listens at.
    """

    def __init__(self, redirect_uri: str, state: str) -> None:
        self.redirect_uri = redirect_uri
        self._state = state
        self._response: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def visit(self, url: str) -> str:
        """Open a URL in a browser, and return the URL of the response.

        Without a browser, as over SSH, the URL is printed, and the person may paste the response.

        Raises:
            AuthorizationError: there was none within `SECONDS`.
        """
        # Nothing else is part of a URL, and an issuer's metadata may contain what a terminal obeys or does not show.
        url = quote(url, safe=_OF_URLS)
        is_remote = "SSH_CONNECTION" in os.environ and "DISPLAY" not in os.environ
        if is_remote or not await asyncio.to_thread(webbrowser.open, url):
            print(f"Open this URL to sign in:\n\n  {url}\n", file=sys.stderr)
        else:
            print("A browser shows where to sign in.", file=sys.stderr)
        try:
            with self._pasting() if is_remote else contextlib.nullcontext():
                async with asyncio.timeout(SECONDS):
                    return await self._response
        except TimeoutError:
            problem = f"there was no response within {SECONDS / 60:g} minutes"
            raise AuthorizationError(SIGNING_IN, url, problem, "repeat the call to try again") from None

    @contextlib.contextmanager
    def _pasting(self) -> Generator[None]:
        if not sys.stdin.isatty():
            yield
            return
        print("Then paste the URL of the page that cannot be shown, and press Enter:", file=sys.stderr)
        loop = asyncio.get_running_loop()
        loop.add_reader(sys.stdin, lambda: self._take(sys.stdin.readline().strip()))
        try:
            yield
        finally:
            loop.remove_reader(sys.stdin)

    def _take(self, url: str) -> bool:
        """Take a response if it is at this URL and has the right state; others may come first."""
        try:
            parts = urlsplit(url)
            found = [value for name, value in parse_qsl(parts.query, max_num_fields=50) if name == "state"]
        except ValueError:
            return False
        is_ours = parts.path == urlsplit(self.redirect_uri).path and len(found) == 1
        if not is_ours or not hmac.compare_digest(found[0].encode(), self._state.encode()) or self._response.done():
            return False
        self._response.set_result(url)
        return True

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request of a browser."""
        try:
            async with asyncio.timeout(READ_SECONDS):
                head = await reader.readuntil(b"\r\n\r\n")
                method, _, rest = head.partition(b"\r\n")[0].decode("ascii").partition(" ")
                target = rest.partition(" ")[0]
                is_taken = method == "GET" and target.startswith("/") and self._take(target)
                page, status = (_DONE, "200 OK") if is_taken else (_UNKNOWN, "404 Not Found")
                writer.write(f"{_HEAD.format(status, len(page))}{page}".encode())
                await writer.drain()
        except (TimeoutError, OSError, ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def receiving(redirect_uri: str, preferred: str, state: str) -> AsyncGenerator[Receiver]:
    """Listen for a response, for as long as the context lasts.

    Args:
        redirect_uri: where, if that is fixed: ``http://localhost:3000/callback``; empty for any free port.
        preferred: where, if its port is free.
        state: what the response must have.

    Raises:
        AuthorizationError: the port of `redirect_uri` is not free.
    """
    wanted = urlsplit(redirect_uri or preferred or "http://127.0.0.1/callback")
    receiver = Receiver(redirect_uri or preferred, state)
    try:
        server = await asyncio.start_server(receiver.answer, "127.0.0.1", wanted.port or 0, limit=MAX_HEAD)
    except OSError as error:
        if redirect_uri:
            problem = f"cannot listen there ({error.strerror})"
            raise AuthorizationError(SIGNING_IN, redirect_uri, problem, "choose another port") from None
        server = await asyncio.start_server(receiver.answer, "127.0.0.1", 0, limit=MAX_HEAD)
        wanted = urlsplit("http://127.0.0.1/callback")
    receiver.redirect_uri = redirect_uri or f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}{wanted.path}"
    try:
        yield receiver
    finally:
        server.close()
