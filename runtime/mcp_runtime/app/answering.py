"""Answers the methods of tools, resources, prompts and completions from what an App has of each."""

from collections.abc import Callable, Iterable, Mapping, Sized
from functools import partial
from typing import TYPE_CHECKING, Any

from mcp_runtime.app.changes import Subscription, not_watched
from mcp_runtime.app.completions import Completion, completed
from mcp_runtime.app.errors import unknown
from mcp_runtime.app.functions import Function
from mcp_runtime.app.prompts import Prompt
from mcp_runtime.app.registry import Registry
from mcp_runtime.app.resources import Resources, no_such_resource
from mcp_runtime.app.tools import Tool
from mcp_runtime.core.errors import PeerError
from mcp_runtime.core.handlers import ServerHandlers, Serving
from mcp_runtime.core.protocol.names import (
    COMPLETION_COMPLETE,
    PROMPTS_GET,
    RESOURCES_READ,
    RESOURCES_SUBSCRIBE,
    RESOURCES_TEMPLATES_LIST,
    TOOLS_CALL,
    TOOLS_LIST,
    listing,
)

if TYPE_CHECKING:
    from mcp_runtime.app.files import Folder
    from mcp_runtime.app.mounting import Mounts, Part


class Answering(ServerHandlers):
    """The handlers of every generated `App`.

    Args:
        page_size: how many tools, resources or prompts are listed per page.
    """

    def __init__(self, page_size: int) -> None:
        self._page_size = page_size
        self._tools: Registry[Tool] = Registry()
        self._resources = Resources()
        self._prompts: Registry[Prompt] = Registry()
        self._completions: Registry[Completion | Folder] = Registry()
        self._subscriptions: Registry[Subscription] = Registry()
        self._mounts: Mounts | None = None
        self._registries: Mapping[str, Sized] = {
            "tools": self._tools,
            "resources": self._resources,
            "prompts": self._prompts,
            "completions": self._completions,
        }

    async def list_tools(self, params: Any, ctx: Any) -> Any:
        """Answer ``tools/list``."""
        return await self._page(TOOLS_LIST, "tools", self._tools, params, ctx)

    async def call_tool(self, params: Any, ctx: Any) -> Any:
        """Answer ``tools/call``."""
        tool = self._tools.get(params.name)
        if tool is None:
            return await self._elsewhere(TOOLS_CALL, params, ctx, partial(unknown, "tool", params.name))
        return await tool.call(params.arguments or {}, ctx)

    async def list_resources(self, params: Any, ctx: Any) -> Any:
        """Answer ``resources/list``."""
        return await self._page(listing("resources"), "resources", self._resources.fixed, params, ctx)

    async def list_resource_templates(self, params: Any, ctx: Any) -> Any:
        """Answer ``resources/templates/list``."""
        return await self._page(RESOURCES_TEMPLATES_LIST, "resource_templates", self._resources.templates, params, ctx)

    async def read_resource(self, params: Any, ctx: Any) -> Any:
        """Answer ``resources/read``."""
        if self._mounts is None or self._resources.matching(params.uri):
            return await self._resources.read(params.uri, ctx)
        return await self._elsewhere(RESOURCES_READ, params, ctx, partial(no_such_resource, params.uri))

    async def list_prompts(self, params: Any, ctx: Any) -> Any:
        """Answer ``prompts/list``."""
        return await self._page(listing("prompts"), "prompts", self._prompts, params, ctx)

    async def get_prompt(self, params: Any, ctx: Any) -> Any:
        """Answer ``prompts/get``."""
        prompt = self._prompts.get(params.name)
        if prompt is None:
            return await self._elsewhere(PROMPTS_GET, params, ctx, partial(unknown, "prompt", params.name))
        return await prompt.get(params.arguments or {}, ctx)

    async def complete(self, params: Any, ctx: Any) -> Any:
        """Answer ``completion/complete``."""
        name = getattr(params.ref, "name", None)
        kind, key = ("resource", params.ref.uri) if name is None else ("prompt", name)
        entry = self._resources.get(key) if name is None else self._prompts.get(key)
        if entry is None:
            return await self._elsewhere(COMPLETION_COMPLETE, params, ctx, partial(unknown, kind, key))
        if isinstance(entry, Function):
            ctx.exchange.require(entry.scopes)
        completion = self._completions.get(f"{kind} {key} {params.argument.name}")
        if completion is None:
            return completed(self.__binding__, [])
        context = getattr(params, "context", None)
        return await completion.complete(params.argument.value, dict((context and context.arguments) or {}), ctx)

    def __has_resource__(self, uri: str) -> bool | None:
        """Return whether this server or one of its parts has a resource; None if only reading it shows that."""
        if not self._is_ours(RESOURCES_READ):
            return None
        return bool(self._resources.matching(uri)) or (self._mounts is not None and self._mounts.has_resource(uri))

    def __declare_tasks__(self, prefix: str) -> None:
        """Let the calls of tools become tasks, where they may, under their names in the server that this one is in."""
        for tool in self._tools:
            tool.declare_task(prefix + tool.name)
        for part in self._mounted:
            part.declare_tasks(prefix)

    async def __watch__(self, method: str, uri: str, ctx: Any) -> None:
        """Let a client subscribe to a resource, or no longer.

        Raises:
            PeerError: the subscription, or the part that has the resource, refuses.
        """
        if self._mounts is not None and not self._resources.matching(uri):
            return await self._mounts.watch(method, uri, ctx)
        for subscription in self._subscriptions:
            if method == RESOURCES_SUBSCRIBE:
                await subscription.agree(uri, ctx)
            return None
        if not self.effective_options().resource_updates:
            raise not_watched(uri)

    def __held__(self, uri: str, more: int) -> None:
        """Note that more connections, or fewer, have subscribers of a resource."""
        for part in self._mounted:
            part.held(uri, more)

    def __check_prefixes__(self, prefixes: Iterable[str]) -> None:
        """Check that parts can have these prefixes, or raise a ValueError."""
        for prefix in prefixes:
            self._mountable().check_prefix(prefix)

    def _mountable(self) -> "Mounts":
        from mcp_runtime.app.mounting import Mounts

        return self._mounts or Mounts(self, self._page_size)

    @property
    def _outer(self) -> Iterable[Any]:
        return Serving.of(self).outer

    def _declare_tasks(self) -> None:
        self.__declare_tasks__("")
        for outer in self._outer:
            outer._declare_tasks()

    @property
    def _mounted(self) -> "Iterable[Part]":
        return self._mounts or ()

    def _is_ours(self, method: str) -> bool:
        name = self.__handlers__.get(method, "")
        return getattr(type(self), name, None) is getattr(Answering, name, None)

    async def _elsewhere(self, method: str, params: Any, ctx: Any, missing: Callable[[], PeerError]) -> Any:
        """Let a mounted server answer, or raise the error."""
        if self._mounts is None:
            raise missing()
        return await self._mounts.answer(method, params, ctx, missing)

    async def _page(self, method: str, items: str, registry: Registry[Any], params: Any, ctx: Any) -> Any:
        found: Any = self.__binding__.methods[method]
        cursor = params.cursor if params else None
        if self._mounts is None:
            entries, after = registry.page(cursor, self._page_size)
            page = [entry.listed for entry in entries]
        else:
            page, after = await self._mounts.page(method, items, registry, params, ctx)
        return found.result.load()(**{items: page}, next_cursor=after)
