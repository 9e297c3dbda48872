"""A client's side of the modern era: nothing is agreed upon, and each request says what its sender is (basic/index)."""

from typing import Any

from mcp_runtime.caller import CallOptions
from mcp_runtime.connection.connection import Connection
from mcp_runtime.handlers import Context, Handlers, handler_of
from mcp_runtime.handshake.client import ClientT, features
from mcp_runtime.handshake.offer import Offer, named
from mcp_runtime.method import NotificationMethod, RequestMethod
from mcp_runtime.peer import Peer
from mcp_runtime.protocol import modern
from mcp_runtime.protocol.legacy import Side
from mcp_runtime.protocol.names import SERVER_DISCOVER
from mcp_runtime.settings import ClientOptions


async def begin(
    client: type[ClientT], peer: Peer, *, handlers: Handlers | None = None, options: ClientOptions | None = None
) -> ClientT:
    """Begin to talk to a server that is known to be of the modern era, and ask what it can do.

    Raises:
        PeerError: it does not speak the client's revision, or does not answer `server/discover`.
        ConnectionClosed: it cannot be reached, or left.
    """
    options, binding = options or ClientOptions(), client.__binding__
    connection = Connection(peer.transport, Side.CLIENT, options, options.middleware)
    peer.connection = connection
    connection.bind(binding, client(connection), handlers.__context__ if handlers else Context)
    answered = handlers.implemented() if handlers else frozenset[str]()
    own = Offer(connection, answered, features(options), options).capabilities
    for name in answered:
        # Requests come inside of results only, where they are no messages.
        if handlers is not None and isinstance(method := binding.methods[name], NotificationMethod):
            connection.handle(method, handler_of(handlers, name))
    meta = {
        modern.VERSION: binding.revision,
        modern.CLIENT_INFO: named(options.name, options.version, options.title),
        modern.CLIENT_CAPABILITIES: own,
    }
    try:
        connection.learn(own, {}, meta=meta)
        await connection.start()
        method = binding.methods[SERVER_DISCOVER]
        assert isinstance(method, RequestMethod) and method.params is not None
        found = await connection.request(
            method, method.params.build({"_meta": meta}), CallOptions(timeout=options.timeout)
        )
        result: dict[str, Any] = found.model_dump(mode="json")
        said: dict[str, Any] = result.get("_meta") or {}
        info: dict[str, Any] = said.get(modern.SERVER_INFO) or {}
        connection.learn(own, result["capabilities"], info=info, instructions=result.get("instructions"))
    except BaseException as error:
        await connection.aclose(f"the opening failed: {error}")
        raise
    stub: ClientT = connection.stub
    return stub
