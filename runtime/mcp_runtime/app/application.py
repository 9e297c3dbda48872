"""A server whose handlers find decorated functions; the generated `App` of a revision adds the decorators."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeVar

from mcp_runtime.app.errors import DefinitionError
from mcp_runtime.app.registry import Registry
from mcp_runtime.app.signature import name_of
from mcp_runtime.app.tools import Tool
from mcp_runtime.errors import PeerError
from mcp_runtime.handlers import ServerHandlers, connections_of
from mcp_runtime.protocol.names import TOOLS_CALL, TOOLS_LIST
from mcp_runtime.protocol.text import clipped

if TYPE_CHECKING:
    import asyncio

    from mcp_runtime.connection.connection import Connection
    from mcp_runtime.settings import ServerOptions

F = TypeVar("F", bound=Callable[..., Any])

PAGE_SIZE: Final = 50
"""How many tools, resources or prompts a client is told of at once."""

_INVALID_PARAMS: Final = -32602
_AREAS: Final[Mapping[str, tuple[str, ...]]] = {"tools": (TOOLS_LIST, TOOLS_CALL)}
"""What a server lists, and the methods that are answered if there is some of it."""


class Application(ServerHandlers):
    """The base of every generated `App`.

    What it does not do is done as in any other server: a subclass overrides the handler.

    Args:
        name: the name that clients are told.
        version: the version that clients are told.
        title: a name for people.
        instructions: what a model should know to use the server.
        options: how connections behave, what is declared, and the like; what is said above wins over them.
        page_size: how many tools, resources or prompts a client is told of at once.
    """

    def __init__(
        self,
        name: str = "",
        *,
        version: str = "",
        title: str = "",
        instructions: str | None = None,
        options: "ServerOptions | None" = None,
        page_size: int = PAGE_SIZE,
    ) -> None:
        said: dict[str, Any] = {"name": name, "version": version, "title": title, "instructions": instructions}
        self._own = {option: value for option, value in said.items() if value}
        self._given = options
        self._page_size = page_size
        self._loop: asyncio.AbstractEventLoop | None = None
        self._tools: Registry[Tool] = Registry()

    def effective_options(self) -> "ServerOptions":
        """Return the options, with what the constructor was told; clients hear of lists that change."""
        from dataclasses import replace

        options = self._given or super().effective_options()
        return replace(options, list_changed=options.list_changed or True, **self._own)

    def answered(self) -> frozenset[str]:
        """Return the methods that this server answers: those of its own handlers, and of what it has decorated."""
        absent = [method for area, methods in _AREAS.items() if not self._has(area) for method in methods]
        return super().answered() - {method for method in absent if self._is_ours(method)}

    def connected(self, connection: "Connection") -> None:
        """Remember the event loop, so that clients can be told of changes that are made in threads."""
        from asyncio import get_running_loop

        self._loop = get_running_loop()

    def decorator(self, kind: str, **said: Any) -> Callable[[F], F]:
        """Return what makes a function a tool, a resource or a prompt; the generated decorators call it.

        Args:
            kind: what the function becomes.
            said: what is said of that.

        Raises:
            TypeError: the decorator was written without brackets.
        """
        add: Callable[..., None] = {"tool": self._add_tool}[kind]
        if callable(said["name"]):
            raise TypeError(f"write @app.{kind}() with brackets above {name_of(said['name'])}")

        def decorate(function: F) -> F:
            add(function, **said)
            return function

        return decorate

    def remove_tool(self, name: str) -> bool:
        """Remove a tool; returns whether there was one. Clients are told, from within the event loop."""
        return self._changed("tools") if self._tools.remove(name) else False

    def run(self) -> None:
        """Serve the client that started this process, over standard input and output, until it leaves."""
        from mcp_runtime.transports.stdio import serve_stdio

        serve_stdio(self)

    async def list_tools(self, params: Any, ctx: Any) -> Any:
        """Answer ``tools/list``."""
        return self._page(TOOLS_LIST, "tools", self._tools, params)

    async def call_tool(self, params: Any, ctx: Any) -> Any:
        """Answer ``tools/call``."""
        tool = self._tools.get(params.name)
        if tool is None:
            raise PeerError(_INVALID_PARAMS, f"there is no tool {clipped(params.name, 100)}", {"pointer": "/name"})
        return await tool.call(params.arguments or {}, ctx)

    def _add_tool(self, function: Callable[..., Any], **said: Any) -> None:
        tool = Tool(function, self.__binding__, **said)
        _add(self._tools, tool.name, tool, f"tool {tool.name}")
        self._changed("tools")

    def _page(self, method: str, items: str, registry: Registry[Any], params: Any) -> Any:
        listing: Any = self.__binding__.methods[method]
        entries, cursor = registry.page(params.cursor if params else None, self._page_size)
        page: dict[str, Any] = {items: [entry.listed() for entry in entries]}
        return listing.result.load()(**page, next_cursor=cursor)

    def _has(self, area: str) -> bool:
        promised = self._given.list_changed if self._given else False
        return bool(len(self._tools)) or (isinstance(promised, frozenset) and area in promised)

    def _is_ours(self, method: str) -> bool:
        name = self.__handlers__.get(method, "")
        return getattr(type(self), name, None) is getattr(Application, name, None)

    def _changed(self, area: str) -> bool:
        """Tell clients that a list has changed; returns True."""
        if self._loop is not None and connections_of(self):
            from mcp_runtime.app.changes import tell

            tell(self, self._loop, area)
        return True


def _add(registry: Registry[Any], key: str, entry: Any, what: str) -> None:
    taken = registry.get(key)
    if taken is not None:
        raise DefinitionError(entry.where, what, f"there is one already ({taken.where})")
    registry.add(key, entry)
