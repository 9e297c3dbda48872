"""Calls an operation of an HTTP API, and checks what it answers."""

import json
import re
from base64 import b64encode
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from fnmatch import translate
from functools import cache
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any, Final, TypedDict, TypeVar, Unpack, overload

import httpx2
from pydantic import MISSING, TypeAdapter, ValidationError
from pydantic_core import from_json

from mcp_runtime.app.errors import ToolFailure
from mcp_runtime.core.errors import clipped, printable
from mcp_runtime.core.handlers import ServerContext
from mcp_runtime.core.json.values import is_array, is_object, spell_pointer
from mcp_runtime.http_api.credentials import Credential, Schemes, Secrets, forwarded, secrets_for
from mcp_runtime.http_api.encode import (
    Body,
    content_body,
    form_body,
    given_only,
    in_cookie,
    in_header,
    in_path,
    in_query,
    json_body,
    multipart_body,
)

T = TypeVar("T")

_MAX_BYTES: Final = 4 << 20
_SECONDS: Final = 30.0
_MAX_SHOWN: Final = 2_000
"""How much of a response an error shows, in characters."""
_MAX_HOPS: Final = 5
_REPEATABLE: Final = ("GET", "HEAD")
_USER: Final = re.compile(r"//[^/]*@")
_MARKUP: Final = re.compile(r"<(script|style)\b[^>]*>.*?</\1>|<[^>]*>", re.DOTALL | re.IGNORECASE)


class Parts(TypedDict, total=False):
    """What a call sends: see `Api.call`."""

    path_: Mapping[str, Any]
    query: Mapping[str, Any]
    headers: Mapping[str, Any]
    cookies: Mapping[str, Any]
    json_: Any
    json_type: str
    form: Mapping[str, Any]
    multipart: Mapping[str, Any]
    content: tuple[str, Any]
    security: Schemes


@dataclass(frozen=True, slots=True)
class _Response:
    """A response that was read: its status with the reason, its headers and its body."""

    status: int
    reason: str
    headers: httpx2.Headers
    body: bytes

    @property
    def outcome(self) -> str:
        return f"{self.status} {printable(self.reason)}".strip()

    def shown(self) -> str:
        """Return the beginning of the body as text, without markup."""
        text = self.body.decode("utf-8", "replace")
        if "html" in self.headers.get("content-type", "").lower():
            text = " ".join(_MARKUP.sub(" ", text[: 16 * _MAX_SHOWN]).split())
        return clipped(text.strip(), _MAX_SHOWN)


class Api:
    """An HTTP API whose operations are tools. `Api.lifespan` is that of their App.

    Args:
        url: where it is; paths of operations are appended.
        credentials: where secrets come from, by the names of its security schemes.
        security: the schemes that operations need by default: alternatives, each a set of names.
        forward: a header in which callers send their own secret for this API, which is used instead of the credentials;
            empty for none. The Authorization of the MCP request is never forwarded.
        headers: sent with each request.
        drop: globs of properties that are left out of results.
        timeout: seconds for a whole call.
        max_bytes: the maximum size of a response.
    """

    def __init__(
        self,
        url: str,
        *,
        credentials: Mapping[str, Credential] | None = None,
        security: Schemes = (),
        forward: str = "",
        headers: Mapping[str, str] | None = None,
        drop: Sequence[str] = (),
        timeout: float = _SECONDS,
        max_bytes: int = _MAX_BYTES,
    ) -> None:
        self._url, self._security, self._forward = url.rstrip("/"), security, forward
        self._credentials, self._headers = dict(credentials or {}), dict(headers or {})
        self._timeout, self._max_bytes = timeout, max_bytes
        self._drop = re.compile("|".join(map(translate, drop))) if drop else None
        self._origin = _origin(httpx2.URL(self._url))

    @asynccontextmanager
    async def lifespan(self) -> AsyncGenerator[httpx2.AsyncClient]:
        """Keep the HTTP client open that calls use: it is the state of the App. It keeps no cookies."""
        no_cookies = CookieJar(DefaultCookiePolicy(allowed_domains=[]))
        async with httpx2.AsyncClient(timeout=self._timeout, cookies=no_cookies) as client:
            yield client

    @overload
    async def call(
        self, ctx: ServerContext[Any, Any], method: str, path: str, *, returns: type[T], **parts: Unpack[Parts]
    ) -> T: ...
    @overload
    async def call(
        self, ctx: ServerContext[Any, Any], method: str, path: str, *, returns: None = None, **parts: Unpack[Parts]
    ) -> str: ...
    @overload
    async def call(
        self, ctx: ServerContext[Any, Any], method: str, path: str, *, returns: object, **parts: Unpack[Parts]
    ) -> Any: ...

    async def call(
        self, ctx: ServerContext[Any, Any], method: str, path: str, *, returns: Any = None, **parts: Unpack[Parts]
    ) -> Any:
        """Call an operation, and return its result; without a type, the status of the response as text.

        Args:
            ctx: the context of the tool.
            method: the method of HTTP.
            path: the path below the URL, with parameters in braces.
            returns: the type of the result: `str` for a body that is not JSON (base64 if it is not text).
            parts: what is sent. ``path_``, ``query``, ``headers`` and ``cookies`` are parameters by name; the body is
                ``json_`` (of the type ``json_type``), ``form`` and ``multipart`` by field, or ``content`` as a pair of
                type and text. Arguments that are missing are left out. ``security`` replaces the default.

        Raises:
            ToolFailure: an argument cannot be sent, a secret is missing, there is no response, or it reports a failure
                or is not of the type.
        """
        secrets = self._secrets(ctx, parts.get("security", self._security))
        accepted = "*/*" if returns in (None, str) else "application/json"
        request = self._request(method, path, parts, secrets, accepted)
        what = f"{method} {clipped(request.url.path, 200)}"
        try:
            response = await self._send(ctx.state, request, what)
            if not 200 <= response.status < 300:
                raise ToolFailure(_failure(what, response))
            return self._result(what, response, returns)
        except ToolFailure as failure:
            raise ToolFailure(secrets.masked(failure.args[0])) from None

    def _secrets(self, ctx: ServerContext[Any, Any], wanted: Schemes) -> Secrets:
        if self._forward:
            return forwarded(ctx.requester.headers, self._forward, wanted, self._credentials)
        return secrets_for(wanted, self._credentials)

    def _request(self, method: str, path: str, parts: Parts, secrets: Secrets, accepted: str) -> httpx2.Request:
        for name, value in parts.get("path_", {}).items():
            path = path.replace(f"{{{name}}}", in_path(name, value))
        pairs = [pair for name, value in given_only(parts.get("query", {})) for pair in in_query(name, value)]
        query = "&".join(f"{key}={value}" for key, value in [*pairs, *secrets.query])
        headers = {name: in_header(name, value) for name, value in given_only(parts.get("headers", {}))}
        cookies = [in_cookie(name, value) for name, value in given_only(parts.get("cookies", {}))]
        headers = {"Accept": accepted, "Accept-Encoding": "identity"} | self._headers | headers
        headers |= secrets.headers
        if cookies or secrets.cookies:
            headers["Cookie"] = "; ".join([*cookies, *secrets.cookies])
        content: dict[str, Any] = {}
        if (body := _body(parts)) is not None:
            kind, value = body
            content = {"content": value} if isinstance(value, bytes) else {"files": value}
            headers |= {"Content-Type": kind} if isinstance(value, bytes) else {}
        sign = "&" if "?" in path else "?"
        url = httpx2.URL(f"{self._url}{path}" + (f"{sign}{query}" if query else ""))
        if _origin(url) != self._origin:
            raise ToolFailure("this call would leave the API")
        sent = [(name.encode(), value.encode("utf-8", "backslashreplace")) for name, value in headers.items()]
        return httpx2.Request(method, url, headers=sent, extensions=_timeouts(self._timeout), **content)

    async def _send(self, client: httpx2.AsyncClient, request: httpx2.Request, what: str) -> _Response:
        """Send a request, and follow redirects within the origin.

        Raises:
            ToolFailure: there is no response within the time, or it is too large or compressed.
        """
        from asyncio import timeout

        unclear = "" if request.method in _REPEATABLE else "; it may have been carried out"
        try:
            async with timeout(self._timeout):
                for _ in range(_MAX_HOPS):
                    response = await client.send(request, stream=True, follow_redirects=False)
                    try:
                        target = self._redirected(request, response)
                        if target is None:
                            return await self._read(response, what)
                    finally:
                        await response.aclose()
                    request = httpx2.Request(
                        request.method, target, headers=request.headers, extensions=_timeouts(self._timeout)
                    )
                raise ToolFailure(f"{what}: redirected more than {_MAX_HOPS} times")
        except (httpx2.TimeoutException, TimeoutError):
            raise ToolFailure(f"{what}: no response within {self._timeout:g} s{unclear}") from None
        except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError) as error:
            raise ToolFailure(f"{what}: no response ({type(error).__name__}){unclear}") from None

    def _redirected(self, request: httpx2.Request, response: httpx2.Response) -> httpx2.URL | None:
        """Return where a redirect leads that is followed: one of a request that only reads, to the same origin."""
        if not response.has_redirect_location or request.method not in _REPEATABLE:
            return None
        target = request.url.join(response.headers["location"])
        return target if _origin(target) == self._origin and not target.userinfo else None

    async def _read(self, response: httpx2.Response, what: str) -> _Response:
        if response.headers.get("content-encoding", "identity") != "identity":
            raise ToolFailure(f"{what}: {response.status_code}, with a compressed body that was not asked for")
        body = bytearray()
        async for chunk in response.aiter_raw():
            body += chunk
            if len(body) > self._max_bytes:
                again = (
                    "" if not response.is_success or response.request.method in _REPEATABLE else "; do not repeat it"
                )
                raise ToolFailure(
                    f"{what}: {response.status_code}, with more than {self._max_bytes:,} bytes; ask for less{again}"
                )
        return _Response(response.status_code, response.reason_phrase, response.headers, bytes(body))

    def _result(self, what: str, response: _Response, returns: Any) -> Any:
        """Return the result in a response that succeeded."""
        if returns is None:
            return response.outcome
        if returns is str:
            return _text_of(response.body)
        body = response.body
        try:
            if self._drop is not None and body:
                body = json.dumps(_without(from_json(body), self._drop)).encode()
            return _read_as(_adapter(returns), body)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            place = spell_pointer(first["loc"])
            reason = f"{place}: {first['msg']}" if place else first["msg"]
        except ValueError:
            reason = "it is not JSON"
        raise ToolFailure(
            f"{what}: the request succeeded with {response.outcome}, do not repeat it; but the response is not as the"
            f" API documents it: {reason}\n{response.shown()}"
        )


def _body(parts: Parts) -> Body | None:
    """Return the body of a call, None if it has none or it is missing."""
    if (value := parts.get("json_", MISSING)) is not MISSING:
        return json_body(value, parts.get("json_type", "application/json"))
    if "form" in parts:
        return form_body(parts["form"])
    if "multipart" in parts:
        return multipart_body(parts["multipart"])
    if "content" in parts:
        return next((content_body(value, kind) for kind, value in given_only(dict([parts["content"]]))), None)
    return None


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def _read_as(adapter: TypeAdapter[Any], body: bytes) -> Any:
    """Validate a body. A null that its type does not allow counts as absent; no body is null, or an empty object.

    Raises:
        ValidationError: it is not of the type.
    """
    if not body:
        with suppress(ValidationError):
            return adapter.validate_json(b"null", strict=True)
        body = b"{}"
    try:
        return adapter.validate_json(body, strict=True)
    except ValidationError as error:
        nulls = [each["loc"] for each in error.errors(include_url=False) if each["input"] is None]
        if not nulls:
            raise
        value = from_json(body)
        for path in nulls:
            _drop(value, path)
        return adapter.validate_json(json.dumps(value), strict=True)


def _drop(value: Any, path: tuple[str | int, ...]) -> None:
    """Remove the null that a path leads to. Steps that name alternatives of a union are not in the value."""
    for step in path:
        inner: Any = value
        if is_object(value) and step in value:
            inner = value[str(step)]
            if inner is None:
                del value[str(step)]
                return
        elif is_array(value) and isinstance(step, int) and step < len(value):
            inner = value[step]
        value = inner


def _without(value: Any, names: re.Pattern[str]) -> Any:
    """Return a value without the properties whose names match."""
    if is_object(value):
        return {name: _without(inner, names) for name, inner in value.items() if not names.match(name)}
    return [_without(inner, names) for inner in value] if is_array(value) else value


def _text_of(body: bytes) -> str:
    try:
        return body.decode()
    except UnicodeDecodeError:
        return b64encode(body).decode()


def _failure(what: str, response: _Response) -> str:
    """Describe a response that reports a failure."""
    notes = [f"{what}: {response.outcome}"]
    if "location" in response.headers and response.status < 400:
        target = _USER.sub("//", re.split("[?#]", response.headers["location"], maxsplit=1)[0])
        notes.append(f"redirects to {clipped(target, 200)}, which is not followed")
    if wait := response.headers.get("retry-after"):
        notes.append(f"retry after {clipped(wait, 40)}")
    return "; ".join(notes) + (f"\n{body}" if (body := response.shown()) else "")


def _origin(url: httpx2.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port


def _timeouts(seconds: float) -> dict[str, Any]:
    return {"timeout": httpx2.Timeout(seconds).as_dict()}
