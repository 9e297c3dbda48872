"""How to reach a server, and how to report its failures."""

import asyncio
import json
import os
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar
from urllib.parse import parse_qs, urlsplit

from mcp_bindgen.ir.diagnostics import InputError, Location
from mcp_bindgen.live.output import ServerOutput, logged_to
from mcp_bindgen.tool_clients.servers import Server

T = TypeVar("T")

PROBE_TIMEOUT = 5.0
"""How many seconds a server has at most to say which era it is of."""
_REFUSED = -1
"""The error code of a user who refuses sampling (specification, client/sampling)."""
_UNAUTHORIZED = re.compile(r"\banswered 401\b")
"""How an error reads for a missing access token; the server may give a reason after it."""
_SERVES = "python -m mcp_runtime: "
"""How a line begins that says why a file cannot be served."""
CAPABILITIES: Mapping[str, Any] = {
    "sampling": {"tools": {}, "context": {}},
    "elicitation": {"form": {}, "url": {}},
    "roots": {"listChanged": True},
}
"""All that a client can declare, so that a server hides nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """How a server is started.

    Attributes:
        words: the program and its arguments.
        env: environment variables to set for it.
        cwd: its working directory; None for ours.
    """

    words: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    cwd: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SignIn:
    """How a person signs in.

    Attributes:
        client_id: the id of a client that the issuer has registered; empty to register one.
        issuer: that issuer; may be empty.
        scopes: what to ask for, beside what the server names.
    """

    client_id: str = ""
    issuer: str = ""
    scopes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where a server is reached over HTTP.

    Attributes:
        url: its URL.
        headers: headers of every request, which may be secret.
        sign_in: how a person may sign in; None to use stored tokens only.
    """

    url: str
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    sign_in: SignIn | None = None


Target: TypeAlias = Command | Endpoint
Ask: TypeAlias = Callable[[Mapping[str, Any]], Awaitable[Mapping[str, Any]]]
"""Answers ``elicitation/create``; params and result are keyed by wire names."""


def target_of(server: Server) -> Target:
    """Return how to reach a live server."""
    if server.url:
        return Endpoint(url=server.url, headers=server.headers)
    return Command(words=server.command, env=server.env, cwd=None if server.cwd is None else str(server.cwd))


def kept_variables(env: Mapping[str, str]) -> list[str]:
    """Return the names of our environment variables that a server does not get when it is started with `env`."""
    from mcp_runtime.core.transports.process import child_environment

    return sorted(os.environ.keys() - child_environment(env, inherit=False).keys())


def name_of(target: Target) -> str:
    """Return a server's name for messages: its Python file or program, or its URL without possible secrets."""
    if isinstance(target, Command):
        return next((word for word in target.words if word.endswith(".py")), target.words[0])
    parts = urlsplit(target.url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def login_to(target: Endpoint) -> str:
    """Return the command that signs in to a server."""
    return f"mcp-bindgen login {name_of(target)}"


def is_unauthorized(error: str) -> bool:
    """Return whether an error says that the server needs an access token."""
    return _UNAUTHORIZED.search(error) is not None


def with_remedy(error: str, target: Target, *, has_answered: bool = False) -> str:
    """Return the error of a connection with what to do about it, if that is known."""
    if isinstance(target, Endpoint):
        return f"{error}; run: {login_to(target)}" if is_unauthorized(error) else error
    ends_at_once = not has_answered and error.endswith("exited with status 0")
    return f"{error}; it does not serve: is app.run() missing?" if ends_at_once else error


def talk(
    target: Target,
    work: Callable[[ServerOutput], Coroutine[Any, Any, T]],
    *,
    timeout: float,
    late: str = "did not answer",
    failed: str = "the server failed",
) -> T:
    """Run a conversation with a server, and return its result.

    Args:
        target: the server.
        work: talks to it; gets what its lines go to.
        timeout: seconds for all of it.
        late: what the server did not do, if the timeout is over.
        failed: what cannot be done, if it fails.

    Raises:
        InputError: the program cannot be run, or the URL not be reached; or the server does not speak the protocol, or
            does not answer in time.
    """
    where = Location(source=name_of(target))
    try:
        from mcp_runtime.core.errors import McpError, ProtocolViolation, UnsupportedRevision
    except ImportError as error:
        raise InputError.at(where, f"the runtime cannot be imported: {error}") from None
    said = ServerOutput()

    async def limited() -> T:
        async with asyncio.timeout(timeout) as said.limit:
            return await work(said)

    try:
        with logged_to(said):
            return asyncio.run(limited())
    except TimeoutError:
        raise InputError.at(where, f"the server {late} within {timeout:g} s", lines=said.lines) from None
    except ValueError as error:
        raise InputError.at(where, str(error)) from None
    except UnsupportedRevision as error:
        speaks = (
            f"it speaks {' or '.join(error.offered)}" if error.offered else error.because or "it does not say which"
        )
        is_odd = any(revision in error.wanted for revision in error.offered)
        reason = str(error) if is_odd else f"it does not speak {' or '.join(error.wanted)}; {speaks}"
        raise InputError.at(where, f"{failed}: {reason}", lines=said.lines) from None
    except McpError as error:
        first, *rest = str(error).splitlines() or [type(error).__name__]
        shown = said.lines_without(error.reason) if isinstance(error, ProtocolViolation) else said.lines
        lines: Sequence[str] = _once(shown) or rest
        # The last words of a server that died are in the message as well.
        first = first.partition(lines[0])[0].rstrip(" :;") if lines and lines[0] in first else first
        if told := next((line for line in lines if line.startswith(_SERVES)), ""):
            place, _, reason = told.removeprefix(_SERVES).partition(": ")
            raise InputError.at(Location(source=place), reason) from None
        hinted = with_remedy(first, target, has_answered=said.has_answered)
        raise InputError.at(where, f"{failed}: {hinted}", lines=lines) from None


def _once(lines: Sequence[str]) -> Sequence[str]:
    """Drop the second half of lines if it repeats the first: a server that ends is started again."""
    middle = len(lines) // 2
    return lines[:middle] if lines[:middle] == lines[middle:] else lines


def connect(target: Target, listen: Callable[[str], None]) -> AbstractAsyncContextManager[Any]:
    """Start or reach a server; `listen` receives its lines on standard error."""
    if isinstance(target, Endpoint):
        from mcp_runtime.core.transports.http import connect_http

        return connect_http(target.url, headers=target.headers, auth=authorizer(target))
    from mcp_runtime.core.transports.stdio import connect_stdio

    return connect_stdio(*target.words, stderr=listen, env=target.env, cwd=target.cwd)


@asynccontextmanager
async def opened(
    target: Target,
    said: ServerOutput,
    packages: Sequence[Any],
    refusal: str | None,
    *,
    extensions: Sequence[Any] = (),
    require: Sequence[str] = (),
    tell: Callable[[str], None] | None = None,
    ask: Ask | None = None,
    **options: Any,
) -> AsyncGenerator[Any]:
    """Open a client of a server, in the first revision that it speaks.

    Args:
        target: the server.
        said: what its lines go to.
        packages: the bindings to speak with, the first choice first.
        refusal: declares all capabilities, and refuses what the server asks for this reason; None to declare none.
        extensions: what the client uses; only with one package, which is bridged to the other revisions.
        require: capabilities that the server must have.
        tell: receives a line for each log message, and for what the server asks; None for nobody.
        ask: answers what the server asks its user; None to decline it.
        options: further ones of the client.
    """
    from mcp_bindgen.live.judging import Judging
    from mcp_runtime.core.settings import ClientOptions
    from mcp_runtime.opening import open_any

    handlers = [] if refusal is None else [refusing(package, refusal, tell, ask) for package in packages]
    options["trace"] = Judging(said, packages, options.get("trace"))
    given = ClientOptions(capabilities={} if refusal is None else CAPABILITIES, **options)
    clients = [package.Client for package in packages]
    async with connect(target, said.listen) as peer:
        if extensions:
            [client], [handler] = clients, handlers
            yield await client.open(peer, handlers=handler, options=given, extensions=extensions)
        else:
            yield await open_any(peer, *clients, handlers=handlers, options=given, require=require)


def authorizer(target: Endpoint) -> Any:
    """Return what obtains access tokens; None if there are none for the server."""
    from mcp_runtime.auth import FileStore, OAuth, Registered
    from mcp_runtime.core.errors import AuthorizationError

    wish, store = target.sign_in, FileStore()
    if wish is not None:
        client = Registered(wish.client_id, wish.issuer) if wish.client_id else None
        return OAuth(store=store, client=client, scopes=wish.scopes)

    async def nobody(url: str) -> str:
        asked = parse_qs(urlsplit(url).query).get("scope", [""])[0].split()
        login = " ".join((login_to(target), *(f"--scope {scope}" for scope in asked if scope != "offline_access")))
        raise AuthorizationError("signing in", name_of(target), "the stored tokens are not enough", f"run: {login}")

    stored = OAuth(store=store, visit=nobody)
    is_given = "authorization" in map(str.lower, target.headers)
    return stored if not is_given and stored.knows(target.url) else None


def has_tokens(url: str) -> bool:
    """Whether there are stored tokens for a server."""
    from mcp_runtime.auth import FileStore, OAuth

    return OAuth(store=FileStore()).knows(url)


def sign_out(url: str) -> bool:
    """Revoke and delete the tokens for a server; return whether there were any.

    Raises:
        InputError: the file cannot be read or written.
    """
    from mcp_runtime.auth import FileStore, OAuth
    from mcp_runtime.core.errors import AuthorizationError

    try:
        return asyncio.run(OAuth(store=FileStore()).sign_out(url))
    except AuthorizationError as error:
        raise InputError.at(Location(source=name_of(Endpoint(url=url))), str(error)) from None


def probe_timeout(timeout: float) -> float:
    """Return the seconds in which a server must say which era it is of, if it has so many to answer in all."""
    return min(PROBE_TIMEOUT, timeout / 3)


def refusing(binding: Any, why: str, tell: Callable[[str], None] | None = None, ask: Ask | None = None) -> Any:
    """Return handlers that declare all they can and refuse all but what `ask` answers; `tell` gets what was asked."""
    from mcp_runtime.core.errors import PeerError

    def said(line: str) -> None:
        if tell is not None:
            tell(line)

    async def list_roots(self: Any, params: Any, ctx: Any) -> Any:
        return binding.ListRootsResult(roots=[])

    async def create_message(self: Any, params: Any, ctx: Any) -> Any:
        said("the server asks for sampling, which this command does not offer: refused")
        raise PeerError(_REFUSED, f"refused: {why}")

    async def elicit(self: Any, params: Any, ctx: Any) -> Any:
        if ask is not None:
            return binding.ElicitResult.model_validate(await ask(params.model_dump(mode="json")))
        said(f"the server asks its user: {params.message}: declined, as nobody is asked")
        return binding.ElicitResult(action="decline")

    async def on_logging_message(self: Any, params: Any, ctx: Any) -> None:
        said(f"{params.level}: {params.data if isinstance(params.data, str) else json.dumps(params.data)}")

    known: dict[str, Any] = {"list_roots": list_roots, "create_message": create_message, "elicit": elicit}
    if tell is not None:
        known["on_logging_message"] = on_logging_message
    answers = {name: handler for name, handler in known.items() if hasattr(binding.ClientHandlers, name)}
    return type("Refusing", (binding.ClientHandlers,), answers)()
