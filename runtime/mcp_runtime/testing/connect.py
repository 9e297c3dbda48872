"""A client of a server in the same process: ``async with testing.connect(server) as client``."""

import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import replace
from typing import Any, Protocol, TypeVar, overload

from mcp_runtime.core.connection.calls import Proceed, Way
from mcp_runtime.core.connection.connection import Exchange
from mcp_runtime.core.handlers import Handlers, ServerHandlers, Stub
from mcp_runtime.core.handshake.offer import check_handlers
from mcp_runtime.core.method import RequestMethod
from mcp_runtime.core.options import Tracing
from mcp_runtime.core.protocol.names import ELICITATION_CREATE, SAMPLING_CREATE_MESSAGE
from mcp_runtime.core.settings import ClientOptions, Extends
from mcp_runtime.memory import connect_memory
from mcp_runtime.testing.heard import Heard
from mcp_runtime.testing.script import Script

ClientT = TypeVar("ClientT", bound=Stub)
ClientT_co = TypeVar("ClientT_co", bound=Stub, covariant=True)


class Served(Protocol[ClientT_co]):
    """An instance of a generated `Server`, which has the client class of its revision."""

    @classmethod
    def client_class(cls) -> type[ClientT_co]:
        """Return the client class of the same revision."""
        ...


@overload
def connect(
    server: Served[ClientT],
    client: None = None,
    *,
    elicit: Sequence[Any] | None = None,
    sample: Sequence[Any] | None = None,
    roots: Sequence[Any] | None = None,
    handlers: Handlers | None = None,
    options: ClientOptions | None = None,
    extensions: Sequence[Extends] = (),
) -> AbstractAsyncContextManager[ClientT]: ...
@overload
def connect(
    server: ServerHandlers,
    client: type[ClientT],
    *,
    elicit: Sequence[Any] | None = None,
    sample: Sequence[Any] | None = None,
    roots: Sequence[Any] | None = None,
    handlers: Handlers | None = None,
    options: ClientOptions | None = None,
    extensions: Sequence[Extends] = (),
) -> AbstractAsyncContextManager[ClientT]: ...
@asynccontextmanager
async def connect(
    server: Any,
    client: Any = None,
    *,
    elicit: Sequence[Any] | None = None,
    sample: Sequence[Any] | None = None,
    roots: Sequence[Any] | None = None,
    handlers: Handlers | None = None,
    options: ClientOptions | None = None,
    extensions: Sequence[Extends] = (),
) -> AsyncGenerator[Any]:
    """Connect a client to a server in the same process, for as long as the context lasts.

    The client asks for every log message; `received` returns them, and everything else the server sent.

    Args:
        server: an instance of a generated `Server` or `App`.
        client: the client class, which determines the revision; by default that of the server. A server of another
            revision is bridged to it.
        elicit: the user's answers, in order: a dictionary for a form that is filled in, ``"decline"``, ``"cancel"``, a
            result, an exception, or a function of the params that returns one of these.
        sample: the model's answers, in order: a string, or anything that `elicit` takes except dictionaries.
        roots: the roots that the server may ask for.
        handlers: answers the server's requests, instead of a script.
        options: the client's identity, and how its connection behaves.
        extensions: what the client supports beyond the core, in addition to those of the options.

    Raises:
        AssertionError: the server asked more often, or less often, than there are answers.
        TypeError: the server is not an instance of a generated `Server`.
        ValueError: both answers and handlers are given, or the revision has no such requests; or an extension extends
            another revision.
        UnsupportedRevision: the server cannot be bridged to the revision of the client.
    """
    check_handlers(server, ServerHandlers)
    wanted = client or server.client_class()
    binding = wanted.__binding__
    heard = Heard()
    given = {ELICITATION_CREATE: elicit, SAMPLING_CREATE_MESSAGE: sample}
    script = Script(binding, {method: answers for method, answers in given.items() if answers is not None}, heard)
    scripted = script.handlers()
    if scripted and handlers:
        raise ValueError("pass either handlers or scripted answers, not both")
    given_options = (options or ClientOptions()).extended(extensions, binding.revision)
    chosen = _listening(given_options, heard, roots)
    async with connect_memory(server) as peer:
        made = await wanted.open(peer, handlers=handlers or scripted, options=chosen)
        heard.attach(made.connection)
        yield made
    script.check()


def _listening(options: ClientOptions, heard: Heard, roots: Sequence[Any] | None) -> ClientOptions:
    """Return options that record everything the client receives."""
    hook = options.trace.conversation() if isinstance(options.trace, Tracing) else options.trace

    def trace(way: str, message: bytes) -> None:
        if way == Way.RECEIVED.value:
            with suppress(ValueError):  # A message that is not JSON is reported to the caller.
                heard.take(json.loads(message))
        if hook is not None:
            hook(way, message)

    middleware = (*options.middleware, _wants_logs)
    return replace(options, trace=trace, middleware=middleware, roots=options.roots if roots is None else roots)


async def _wants_logs(exchange: Exchange, proceed: Proceed) -> Any:
    """Ask for log messages, in the era in which each request does so."""
    method = exchange.method
    if exchange.way is Way.SENT and exchange.requester.is_modern and isinstance(method, RequestMethod):
        params: Any = exchange.params
        meta = getattr(params, "meta", None)
        if meta is not None and getattr(meta, "log_level", None) is None:
            params.meta = meta.model_copy(update={"log_level": "debug"})
    return await proceed()
