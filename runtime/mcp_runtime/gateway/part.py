"""A server of a host as a part of an App."""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Protocol

from mcp_runtime.app.changes import not_watched
from mcp_runtime.app.mounting import Part
from mcp_runtime.app.uri_templates import UriTemplate
from mcp_runtime.core.changes.subscriptions import resource_updated
from mcp_runtime.core.errors import McpError, PeerError
from mcp_runtime.core.handlers import ServerHandlers
from mcp_runtime.core.options import CallOptions
from mcp_runtime.core.protocol import names
from mcp_runtime.core.protocol.jsonrpc import INTERNAL_ERROR
from mcp_runtime.gateway.asking import OpenCalls
from mcp_runtime.host.catalogue import public_name
from mcp_runtime.host.servers import HostServer
from mcp_runtime.host.views import View

if TYPE_CHECKING:
    from mcp_runtime.core.connection.connection import Connection
    from mcp_runtime.host.catalogue import ServerListing

_LISTS: Final[Mapping[str, tuple[str, str]]] = {
    names.TOOLS_LIST: ("tools", "tools"),
    names.listing("prompts"): ("prompts", "prompts"),
    names.listing("resources"): ("resources", "resources"),
    names.RESOURCES_TEMPLATES_LIST: ("templates", "resourceTemplates"),
}
"""What a server lists, and the property of the result, by method."""
_NOT_PASSED_ON: Final = frozenset(("meta", "task", "input_responses", "request_state"))
"""Params that belong to the conversation with one side."""
_RESERVED: Final = "io.modelcontextprotocol/"
"""How the names of metadata begin that the protocol defines."""
_AGAIN: Final = 1.0
"""Seconds after which a subscription that has ended begins again."""


class Mounted(Protocol):
    """A host that is mounted in an App."""

    @property
    def app(self) -> ServerHandlers:
        """The App."""
        ...

    @property
    def calls(self) -> OpenCalls:
        """The open calls of its clients."""
        ...

    def view(self) -> View:
        """Return all tools of the host."""
        ...

    async def started(self, server: HostServer[Any]) -> None:
        """Wait a little for a server that is starting."""


class HostPart(Part):
    """A server of a host, which answers over the host's connection to it.

    Args:
        mount: the host.
        server: the server.
    """

    def __init__(self, mount: Mounted, server: HostServer[Any]) -> None:
        super().__init__(server.entry.name)
        self.server = server
        self._mount = mount
        self._binding = mount.app.__binding__
        self._listing: ServerListing | None = None
        self._names: dict[str, str] = {}
        self._uris: set[str] = set()
        self._schemes: set[str] = set()
        self._templates: list[UriTemplate] = []
        self._held: Counter[str] = Counter()
        self._watching: dict[str, asyncio.Task[None]] = {}

    @property
    def reports_updates(self) -> bool:
        """Return true: many servers do."""
        return True

    def own_name(self, name: str) -> str | None:
        """Return the server's name of a tool or a prompt; see `public_name`."""
        self._learn()
        return self._names.get(name) or super().own_name(name)

    def public_name(self, name: str) -> str:
        """Return the name that a tool has in the catalogue of the host."""
        return public_name(self.server.entry.name, name)

    def answers(self, method: str) -> bool:
        """Return true: what a server has is known only once it is connected."""
        return True

    def scopes_for(self, method: str, name: str | None) -> tuple[str, ...]:
        """Return nothing: the policy of the host decides."""
        return ()

    def has_resource(self, uri: str) -> bool | None:
        """Whether the server lists a resource, or a template of it; None if it may have it all the same."""
        self._learn()
        if self.server.state == "ready" and not self.server.client.has("resources"):
            return False
        if uri in self._uris or any(template.match(uri) is not None for template in self._templates):
            return True
        return None if not self._schemes or uri.partition(":")[0] in self._schemes else False

    async def answer(self, method: str, params: Any, ctx: Any) -> Any:
        """Answer from the server's lists, or pass the request on to it.

        Raises:
            PeerError: the server answers with an error, or is not there.
        """
        await self._mount.started(self.server)
        if method in _LISTS:
            return self._list(method)
        name = self.server.entry.name
        try:
            client = self.server.client
            with self._mount.calls.during(name, ctx):
                options = CallOptions(progress=_reporting(ctx) if "progressToken" in ctx.meta else None)
                if method == names.TOOLS_CALL:
                    return await self._call(params, ctx, options)
                passed = {key: getattr(params, key) for key in params.model_fields_set - _NOT_PASSED_ON}
                sent = {
                    names.PROMPTS_GET: client.get_prompt,
                    names.RESOURCES_READ: client.read_resource,
                    names.COMPLETION_COMPLETE: client.complete,
                }
                return _without_identity(await sent[method](**passed, options=options, meta=_passed_meta(ctx)))
        except PeerError as error:
            raise PeerError(error.code, error.message, error.data) from error
        except McpError as error:
            raise PeerError(INTERNAL_ERROR, f"{name}: {error}") from error

    async def watch(self, method: str, uri: str, ctx: Any) -> None:
        """Subscribe at the server, once for all clients.

        Raises:
            PeerError: the server does not list the resource, or does not report its changes.
        """
        if method != names.RESOURCES_SUBSCRIBE or uri in self._watching:
            return
        if self.has_resource(uri) is not True or names.SUBSCRIPTIONS_LISTEN not in self._binding.methods:
            raise not_watched(uri)
        try:
            changes = await self.server.client.listen(resources=[uri])
        except McpError:
            raise not_watched(uri) from None
        if uri in self._watching or not changes.agreed.get("resourceSubscriptions"):
            await changes.aclose()
        else:
            self._watching[uri] = asyncio.create_task(self._follow(uri, changes))
        if uri not in self._watching:
            raise not_watched(uri)

    def held(self, uri: str, more: int) -> None:
        """Unsubscribe at the server once no client is subscribed."""
        if uri in self._watching:
            self._held[uri] += more
            if self._held[uri] <= 0:
                del self._held[uri]
                self._watching.pop(uri).cancel()

    def connected(self, connection: "Connection") -> None:
        """Do nothing: the connection to the server is the host's."""

    def declare_tasks(self, prefix: str) -> None:
        """Do nothing: the host runs tools as tasks that must."""

    def close(self) -> None:
        """End all subscriptions."""
        for task in self._watching.values():
            task.cancel()
        self._watching.clear()
        self._held.clear()

    def _learn(self) -> None:
        """Read what the server lists, if that has changed."""
        if self.server.listing is self._listing:
            return
        self._listing = listing = self.server.listing
        self._names = {self.public_name(str(item["name"])): str(item["name"]) for item in listing.prompts}
        self._names |= {self.public_name(str(item["name"])): str(item["name"]) for item in listing.tools}
        self._uris = {str(item["uri"]) for item in listing.resources}
        templates = [str(item["uriTemplate"]) for item in listing.templates]
        self._schemes = {uri.partition(":")[0] for uri in (*self._uris, *templates)}
        self._templates = []
        for template in templates:
            with suppress(ValueError):  # a form that cannot be matched
                self._templates.append(UriTemplate(template))

    def _list(self, method: str) -> Any:
        kind, items = _LISTS[method]
        record: Any = self._binding.methods[method]
        found = list(getattr(self.server.listing, kind))
        return record.result.load().model_validate(
            {items: found, "resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
        )

    async def _call(self, params: Any, ctx: Any, options: CallOptions) -> Any:
        name = self.public_name(params.name)
        found = await self._mount.view().call(name, params.arguments, options=options, meta=_passed_meta(ctx), ctx=ctx)
        if found.result is not None:
            return _without_identity(found.result)
        if isinstance(found.error, McpError):
            raise found.error
        record: Any = self._binding.methods[names.TOOLS_CALL]
        return record.result.load()(content=[{"type": "text", "text": found.refusal}], is_error=True)

    async def _follow(self, uri: str, changes: Any) -> None:
        """Report the changes of a resource, also after the server was lost."""
        while True:
            with suppress(McpError):
                async with changes:
                    async for change in changes:
                        await resource_updated(self._mount.app, change.uri or uri)
            while True:
                await asyncio.sleep(_AGAIN)
                with suppress(McpError):
                    changes = await self.server.client.listen(resources=[uri])
                    break
            await resource_updated(self._mount.app, uri)  # it may have changed in between


def _reporting(ctx: Any) -> Callable[[float, float | None, str | None], None]:
    """Return what passes progress on, as fast as the client reads: the latest report only."""
    waiting: list[tuple[float, float | None, str | None]] = []
    sending: list[asyncio.Task[None]] = []

    async def send() -> None:
        while waiting:
            await ctx.report_progress(*waiting.pop())
        sending.clear()

    def report(*progress: Any) -> None:
        waiting[:] = [progress]
        if not sending:
            sending.append(ctx.connection.spawn(send()))

    return report


def _passed_meta(ctx: Any) -> Mapping[str, Any]:
    """Return the metadata of a request that is not about the conversation with its client, and the log level."""
    passed = {
        name: value for name, value in ctx.meta.items() if not name.startswith(_RESERVED) and name != "progressToken"
    }
    level = ctx.requester.log_level or (None if ctx.requester.is_modern else "debug")  # a session gets all by default
    return passed if level is None else {**passed, names.LOG_LEVEL: level}


def _without_identity(result: Any) -> Any:
    """Return a result without the name of the server in its metadata: clients talk to the App."""
    meta: Any = getattr(result, "meta", None)
    if getattr(meta, "server_info", None) is None:
        return result
    return result.model_copy(update={"meta": meta.model_copy(update={"server_info": None})})
