"""Answers the methods of tools, resources, prompts and completions from what an App has of each."""

from typing import TYPE_CHECKING, Any

from mcp_runtime.app.completions import Completion, completed
from mcp_runtime.app.errors import unknown
from mcp_runtime.app.functions import Function
from mcp_runtime.app.prompts import Prompt
from mcp_runtime.app.registry import Registry
from mcp_runtime.app.resources import Resources
from mcp_runtime.app.tools import Tool
from mcp_runtime.core.handlers import ServerHandlers
from mcp_runtime.core.protocol.names import RESOURCES_TEMPLATES_LIST, TOOLS_LIST, listing

if TYPE_CHECKING:
    from mcp_runtime.app.files import Folder


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

    async def list_tools(self, params: Any, ctx: Any) -> Any:
        """Answer ``tools/list``."""
        return self._page(TOOLS_LIST, "tools", self._tools, params)

    async def call_tool(self, params: Any, ctx: Any) -> Any:
        """Answer ``tools/call``."""
        tool = self._tools.get(params.name)
        if tool is None:
            raise unknown("tool", params.name)
        return await tool.call(params.arguments or {}, ctx)

    async def list_resources(self, params: Any, ctx: Any) -> Any:
        """Answer ``resources/list``."""
        return self._page(listing("resources"), "resources", self._resources.fixed, params)

    async def list_resource_templates(self, params: Any, ctx: Any) -> Any:
        """Answer ``resources/templates/list``."""
        return self._page(RESOURCES_TEMPLATES_LIST, "resource_templates", self._resources.templates, params)

    async def read_resource(self, params: Any, ctx: Any) -> Any:
        """Answer ``resources/read``."""
        return await self._resources.read(params.uri, ctx)

    async def list_prompts(self, params: Any, ctx: Any) -> Any:
        """Answer ``prompts/list``."""
        return self._page(listing("prompts"), "prompts", self._prompts, params)

    async def get_prompt(self, params: Any, ctx: Any) -> Any:
        """Answer ``prompts/get``."""
        prompt = self._prompts.get(params.name)
        if prompt is None:
            raise unknown("prompt", params.name)
        return await prompt.get(params.arguments or {}, ctx)

    async def complete(self, params: Any, ctx: Any) -> Any:
        """Answer ``completion/complete``."""
        name = getattr(params.ref, "name", None)
        kind, key = ("resource", params.ref.uri) if name is None else ("prompt", name)
        entry = self._resources.get(key) if name is None else self._prompts.get(key)
        if entry is None:
            raise unknown(kind, key)
        if isinstance(entry, Function):
            ctx.exchange.require(entry.scopes)
        completion = self._completions.get(f"{kind} {key} {params.argument.name}")
        if completion is None:
            return completed(self.__binding__, [])
        context = getattr(params, "context", None)
        return await completion.complete(params.argument.value, dict((context and context.arguments) or {}), ctx)

    def _page(self, method: str, items: str, registry: Registry[Any], params: Any) -> Any:
        found: Any = self.__binding__.methods[method]
        entries, cursor = registry.page(params.cursor if params else None, self._page_size)
        page: dict[str, Any] = {items: [entry.listed for entry in entries]}
        return found.result.load()(**page, next_cursor=cursor)
