"""A conversation in memory: a test double of the session beneath the generated stubs.

Every message is sent as JSON bytes, written by the sender's types and read by the receiver's.
"""

import json
from collections.abc import Mapping
from types import ModuleType
from typing import Any, TypeVar, cast

from pydantic import TypeAdapter, ValidationError

from mcp_runtime.core.binding import Binding
from mcp_runtime.core.errors import MethodNotImplemented, PeerError
from mcp_runtime.core.method import Method, NotificationMethod, RequestMethod
from mcp_runtime.core.stub import Caller, CallOptions, Context, Handlers, Stub

P = TypeVar("P")
R = TypeVar("R")
T = TypeVar("T")

METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602


class End(Caller):
    """One end of a conversation: answers with its handlers, and is the `Caller` of its side.

    `sent` keeps the frames that were sent, `options` those of the last request.
    """

    def __init__(self, binding: Binding, handlers: Handlers, context: type[Context[Any]], meta: Mapping[str, Any]):
        self.sent: list[dict[str, Any]] = []
        self.options: CallOptions | None = None
        self.peer: Stub
        self.other: End
        self._binding = binding
        self._handlers = handlers
        self._context = context
        self._meta = meta

    async def request(self, method: RequestMethod[P, R], params: P | None, options: CallOptions | None) -> R:
        return method.result.decode(await self._ask(method, params, options))

    async def request_as(
        self, method: RequestMethod[P, Any], params: P | None, result: type[T], options: CallOptions | None
    ) -> T:
        return TypeAdapter(result).validate_json(await self._ask(method, params, options))

    async def notify(self, method: NotificationMethod[P], params: P | None) -> None:
        await self.other.take(self._frame(method, params))

    def request_meta(self) -> Mapping[str, Any]:
        return self._meta

    async def take(self, data: bytes) -> bytes | None:
        """Handle one message; return the response to a request."""
        frame: dict[str, Any] = json.loads(data)
        try:
            result = await self._dispatch(frame)
        except MethodNotImplemented as error:
            return _failure(frame, METHOD_NOT_FOUND, str(error), {"method": error.method})
        except ValidationError as error:
            return _failure(frame, INVALID_PARAMS, f"{error.error_count()} errors", None)
        except PeerError as error:
            return _failure(frame, error.code, error.message, error.data)
        if "id" not in frame:
            return None
        return json.dumps({"jsonrpc": "2.0", "id": frame["id"], "result": json.loads(result)}).encode()

    async def _dispatch(self, frame: dict[str, Any]) -> bytes:
        method = self._binding.methods.get(frame["method"])
        if method is None or method.name not in self._handlers.__handlers__:
            raise MethodNotImplemented(frame["method"])
        params = None
        if method.params is not None and (method.params_required or "params" in frame):
            params = method.params.decode(json.dumps(frame.get("params")))
        handler = getattr(self._handlers, self._handlers.__handlers__[method.name])
        result = await handler(params, self._context(self.peer, frame.get("id")))
        return _encode(method, result) if isinstance(method, RequestMethod) else b"null"

    async def _ask(self, method: RequestMethod[P, Any], params: P | None, options: CallOptions | None) -> bytes:
        self.options = options
        data = await self.other.take(self._frame(method, params, len(self.sent)))
        assert data is not None
        answer = json.loads(data)
        if "error" in answer:
            error = answer["error"]
            raise self._binding.error(error["code"], error["message"], error.get("data"))
        return json.dumps(answer["result"]).encode()

    def _frame(self, method: Method[P], params: P | None, id_: int | None = None) -> bytes:
        frame: dict[str, Any] = {"jsonrpc": "2.0", "method": method.name}
        if id_ is not None:
            frame["id"] = id_
        if params is not None and method.params is not None:
            frame["params"] = json.loads(method.params.encode(params))
        self.sent.append(frame)
        return json.dumps(frame).encode()


class Double:
    """A client and a server of one generated package, connected.

    Args:
        package: the package of a revision.
        server: an instance of its `Server`.
        handlers: an instance of its `ClientHandlers`; without them the client answers nothing.
        meta: the `_meta` of every request.
    """

    def __init__(
        self,
        package: ModuleType,
        server: Handlers,
        handlers: Handlers | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> None:
        answers = handlers or cast(Handlers, package.ClientHandlers())
        self.client_end = End(package.BINDING, answers, package.ClientContext, meta or {})
        self.server_end = End(package.BINDING, server, package.Context, meta or {})
        self.client_end.other, self.server_end.other = self.server_end, self.client_end
        self.client: Any = package.Client(self.client_end)
        self.connected: Any = package.ConnectedClient(self.server_end)
        self.client_end.peer, self.server_end.peer = self.client, self.connected


def _encode(method: RequestMethod[Any, Any], result: object) -> bytes:
    """Serialize a result with its type: the usual one, or one of the alternatives."""
    for wire_type in method.alternatives:
        if isinstance(result, wire_type.load()):
            return wire_type.encode(result)
    return method.result.encode(result)


def _failure(frame: dict[str, Any], code: int, message: str, data: object) -> bytes | None:
    if "id" not in frame:
        return None
    error = {"code": code, "message": message, "data": data}
    return json.dumps({"jsonrpc": "2.0", "id": frame["id"], "error": error}).encode()
