"""One interface to both generations of the official SDK: JSON in and out, with the SDK's types and checks between."""

import asyncio
import importlib.metadata
import inspect
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
from offer import Json

MAJOR = int(importlib.metadata.version("mcp").split(".")[0])

if MAJOR == 1:
    from mcp import types
    from mcp.shared.exceptions import McpError as SdkError
else:
    import mcp_types as types
    from mcp.shared.exceptions import MCPError as SdkError


def _by_method(suffix: str) -> dict[str, Any]:
    """Return the message classes of the SDK by the method that each names."""
    found = {}
    for name, item in vars(types).items():
        if inspect.isclass(item) and name.endswith(suffix) and "method" in getattr(item, "model_fields", ()):
            method = item.model_fields["method"].default
            if isinstance(method, str):
                found[method] = item
    return found


REQUESTS = _by_method("Request")
NOTIFICATIONS = _by_method("Notification")


def result_type(method: str) -> Any:
    """Return the SDK's type for the result of a method."""
    return getattr(types, REQUESTS[method].__name__.removesuffix("Request") + "Result", types.EmptyResult)


def message(classes: dict[str, Any], method: str, params: Json | None) -> Any:
    """Build a message of the SDK from JSON."""
    return classes[method].model_validate(
        {"method": method} if params is None else {"method": method, "params": params}
    )


def plain(model: Any) -> Json:
    """Return what a peer sent, as JSON, without the properties that the SDK adds only in memory."""
    return {} if model is None else model.model_dump(by_alias=True, mode="json", exclude_unset=True)


def error(code: int, text: str, data: Any = None) -> Exception:
    """Return the exception that the SDK sends as a JSON-RPC error."""
    return SdkError(types.ErrorData(code=code, message=text, data=data)) if MAJOR == 1 else SdkError(code, text, data)


class Client:
    """A client as a handler of the server sees it.

    Args:
        session: the SDK's session.
        revision: what was negotiated.
        request: the id of its request.
    """

    def __init__(self, session: Any, revision: str, request: Any) -> None:
        self._session = session
        self._request = request
        self.revision = revision

    @property
    def introduced(self) -> Json:
        """The params of the client's `initialize`."""
        return plain(self._session.client_params)

    async def request(self, method: str, params: Json | None = None, *, result: str = "") -> Json:
        """Send a request to the client; `result` overrides the usual result type."""
        request = message(REQUESTS, method, params)
        asked = types.ServerRequest(request) if MAJOR == 1 else request
        answer = getattr(types, result) if result else result_type(method)
        return plain(await self._session.send_request(asked, answer))

    async def notify(self, method: str, params: Json | None = None, *, on_its_stream: bool = False) -> None:
        """Send a notification to the client; over HTTP on the stream of its request, if wanted."""
        notification = message(NOTIFICATIONS, method, params)
        told = types.ServerNotification(notification) if MAJOR == 1 else notification
        await self._session.send_notification(told, related_request_id=self._request if on_its_stream else None)


Handler = Callable[[Client, Json], Awaitable[Any]]


class Server1:
    """A low-level server of mcp 1.x; handlers are set by type, bypassing the decorators, which hide the protocol."""

    def __init__(self, name: str, version: str, instructions: str) -> None:
        from mcp.server.lowlevel import Server

        self.server = Server(name, version=version, instructions=instructions)
        self._tasks = self.server.experimental.enable_tasks()

    def _client(self) -> Client:
        from mcp.server.session import SUPPORTED_PROTOCOL_VERSIONS  # `allow_only` changes it there

        context = self.server.request_context
        asked = context.session.client_params.protocolVersion
        revision = asked if asked in SUPPORTED_PROTOCOL_VERSIONS else types.LATEST_PROTOCOL_VERSION
        return Client(context.session, revision, context.request_id)

    def answer(self, method: str, handler: Handler) -> None:
        """Register the handler of a request."""

        async def handle(request: Any) -> Any:
            if self.server.request_context.experimental.is_task:
                return types.ServerResult(await self._as_task(handler, request))
            answer = await handler(self._client(), plain(request).get("params", {}))
            typed = result_type(method).model_validate(answer) if isinstance(answer, dict) else answer
            return types.ServerResult(typed)

        self.server.request_handlers[REQUESTS[method]] = handle

    async def _as_task(self, handler: Handler, request: Any) -> Any:
        """Run a handler as a task of 2025-11-25, which 1.x supports and 2.x does not."""
        client = self._client()

        async def work(task: Any) -> Any:
            working = asyncio.ensure_future(handler(client, plain(request)["params"]))
            while not working.done():
                await asyncio.wait([working], timeout=0.02)
                stored = await self._tasks.store.get_task(task.task_id)
                if stored.status == "cancelled":
                    working.cancel()
                    # 1.x only records it in its store, and would end the server if the work completed after that.
                    task._ctx._task = stored
                    return None
            return result_type(request.method).model_validate(working.result())

        return await self.server.request_context.experimental.run_task(work)

    def notified(self, method: str, handler: Callable[[], None]) -> None:
        """Register what happens when a notification comes."""

        async def handle(notification: Any) -> None:
            handler()

        self.server.notification_handlers[NOTIFICATIONS[method]] = handle

    def initialization(self) -> Any:
        """Return the SDK's options, with list_changed and subscribe declared."""
        from mcp.server.lowlevel import NotificationOptions

        options = self.server.create_initialization_options(NotificationOptions(True, True, True))
        # 1.x has no way to declare subscriptions: the capability is a constant in `get_capabilities`.
        options.capabilities.resources.subscribe = True
        return options


class Server2:
    """A low-level server of mcp 2.x."""

    def __init__(self, name: str, version: str, instructions: str) -> None:
        from mcp.server.lowlevel import Server

        self.server = Server(name, version=version, instructions=instructions)

    def answer(self, method: str, handler: Handler) -> None:
        """Register the handler of a request."""

        async def handle(ctx: Any, params: Any) -> Any:
            answer = await handler(Client(ctx.session, ctx.protocol_version, ctx.request_id), plain(params))
            return result_type(method).model_validate(answer)

        self.server.add_request_handler(method, _params_type(method), handle)

    def notified(self, method: str, handler: Callable[[], None]) -> None:
        """Register what happens when a notification comes."""

        async def handle(ctx: Any, params: Any) -> None:
            handler()

        self.server.add_notification_handler(method, types.NotificationParams, handle)

    def initialization(self) -> Any:
        """Return the SDK's options, with list_changed declared."""
        from mcp.server.lowlevel import NotificationOptions

        return self.server.create_initialization_options(NotificationOptions(True, True, True))


def _params_type(method: str) -> Any:
    annotation = REQUESTS[method].model_fields["params"].annotation
    members = [member for member in getattr(annotation, "__args__", (annotation,)) if member is not type(None)]
    return members[0]


def new_server(name: str, version: str, instructions: str) -> Any:
    """Return a server of the SDK that is installed."""
    return (Server1 if MAJOR == 1 else Server2)(name, version, instructions)


def allow_only(revision: str) -> None:
    """Limit the SDK's servers in this process to one revision; there is no option for it."""
    if MAJOR == 1:
        import mcp.server.session

        mcp.server.session.SUPPORTED_PROTOCOL_VERSIONS = [revision]
        types.LATEST_PROTOCOL_VERSION = revision
    else:
        import mcp.server.runner

        mcp.server.runner.HANDSHAKE_PROTOCOL_VERSIONS = (revision,)
        mcp.server.runner.LATEST_HANDSHAKE_VERSION = revision


def ask_for(revision: str) -> None:
    """Make the SDK's clients in this process ask for a revision; by default they ask for the newest they support."""
    if MAJOR == 1:
        types.LATEST_PROTOCOL_VERSION = revision
    else:
        import mcp.client.session

        mcp.client.session.LATEST_HANDSHAKE_VERSION = revision


class Server:
    """A server as a client of the SDK sees it.

    Args:
        session: the SDK's session.
    """

    def __init__(self, session: Any) -> None:
        self._session = session

    async def request(self, method: str, params: Json | None = None, **options: Any) -> Json:
        """Send a request to the server; `result` overrides the usual result type."""
        answer = getattr(types, options.pop("result")) if "result" in options else result_type(method)
        request = message(REQUESTS, method, params)
        asked = types.ClientRequest(request) if MAJOR == 1 else request
        return plain(await self._session.send_request(asked, answer, **options))

    async def notify(self, method: str, params: Json | None = None) -> None:
        """Send a notification to the server."""
        notification = message(NOTIFICATIONS, method, params)
        await self._session.send_notification(types.ClientNotification(notification) if MAJOR == 1 else notification)

    async def call_and_cancel(self, name: str, started: Any, progress: Any) -> None:
        """Call a tool, and cancel the call once it has started."""
        with anyio.CancelScope() as scope:

            async def cancel() -> None:
                await started.wait()
                if MAJOR == 1:  # 1.x leaves it to the user to notify the server; its request ids count from 0.
                    identifier = self._session._request_id - 1
                    params = {"requestId": identifier, "reason": "no longer needed"}
                    await self.notify("notifications/cancelled", params)
                scope.cancel()

            async with anyio.create_task_group() as group:
                group.start_soon(cancel)
                await self.request("tools/call", {"name": name, "arguments": {}}, progress_callback=progress)


def heard(item: Any) -> tuple[str, Json] | None:
    """Return the method and params of a notification in the SDK's message handler, None for anything else."""
    notification = getattr(item, "root", item)
    method = getattr(notification, "method", None)
    return (method, plain(notification).get("params", {})) if method in NOTIFICATIONS else None
