"""A server whose handlers dispatch to decorated functions; the generated `App` of a revision adds the decorators."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, TypeVar, overload

from mcp_runtime.app.answering import Answering
from mcp_runtime.app.changes import Subscription, Watching, reached_by, tell
from mcp_runtime.app.completions import Completion
from mcp_runtime.app.errors import for_author, misuse
from mcp_runtime.app.functions import Function
from mcp_runtime.app.prompts import Prompt
from mcp_runtime.app.resources import FunctionResource
from mcp_runtime.app.signature import instead_of, name_of, needs_argument, passed_to
from mcp_runtime.app.tools import Tool
from mcp_runtime.core.handlers import ServerHandlers, StateT
from mcp_runtime.core.protocol.names import (
    COMPLETION_COMPLETE,
    PROMPTS_GET,
    RESOURCES_READ,
    RESOURCES_SUBSCRIBE,
    RESOURCES_TEMPLATES_LIST,
    RESOURCES_UNSUBSCRIBE,
    TOOLS_CALL,
    TOOLS_LIST,
    listing,
)

if TYPE_CHECKING:
    import asyncio
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path
    from typing import Unpack

    from mcp_runtime.app.mounting import Part
    from mcp_runtime.core.connection.connection import Connection
    from mcp_runtime.core.settings import Extends, ServerOptions
    from mcp_runtime.core.transports.http import HttpServerOptions

F = TypeVar("F", bound=Callable[..., Any])

PAGE_SIZE: Final = 50
"""How many tools, resources or prompts are listed per page."""

_AREAS: Final[Mapping[str, tuple[str, ...]]] = {
    "tools": (TOOLS_LIST, TOOLS_CALL),
    "resources": (listing("resources"), RESOURCES_TEMPLATES_LIST, RESOURCES_READ),
    "prompts": (listing("prompts"), PROMPTS_GET),
    "completions": (COMPLETION_COMPLETE,),
}
"""The kinds of things a server may have, and the methods it then answers."""
_SUBSCRIBING: Final = frozenset((RESOURCES_SUBSCRIBE, RESOURCES_UNSUBSCRIBE))
"""What a server with a subscription answers in the legacy era."""


class Application(Answering, Generic[StateT]):
    """Base class of every generated `App`.

    For anything it does not cover, override the handler in a subclass, as in any other server.

    Args:
        name: the name sent to clients.
        version: the version sent to clients.
        title: a display name.
        instructions: what a model should know in order to use the server.
        lifespan: opens what the functions need, and closes it (`ServerOptions.lifespan`): what it yields is
            ``ctx.state``, whose type is that of the `App`. It takes no argument, or the app.
        options: how connections behave, and what is declared; the arguments above take precedence.
        extensions: what the server supports beyond the core, in addition to those of the options.
        page_size: how many tools, resources or prompts are listed per page.

    Raises:
        ValueError: an extension extends another revision, or two add one method.
    """

    def __init__(
        self,
        name: str = "",
        *,
        version: str = "",
        title: str = "",
        instructions: str | None = None,
        lifespan: "Callable[..., AbstractAsyncContextManager[StateT]] | None" = None,
        options: "ServerOptions | None" = None,
        extensions: "Sequence[Extends]" = (),
        page_size: int = PAGE_SIZE,
    ) -> None:
        super().__init__(page_size)
        if lifespan is not None and needs_argument(lifespan):
            lifespan = passed_to(lifespan, self)
        said: dict[str, Any] = {"name": name, "version": version, "title": title, "lifespan": lifespan}
        said["instructions"] = instructions
        self._own = {option: value for option, value in said.items() if value}
        if extensions:
            options = (options or super().effective_options()).extended(extensions, self.__binding__.revision)
        self._given = options
        self._made: tuple[ServerOptions, bool, ServerOptions] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def effective_options(self) -> "ServerOptions":
        """Return the options, including the constructor's arguments; list changes are always announced to clients."""
        from dataclasses import replace

        options = self._given or super().effective_options()
        updates = options.resource_updates or len(self._subscriptions) > 0
        updates = updates or any(part.reports_updates for part in self._mounted)
        if (made := self._made) is None or made[0] is not options or made[1] is not updates:
            listed = options.list_changed or True
            found = replace(options, list_changed=listed, resource_updates=updates, **self._own)
            self._made = made = options, updates, found
        return made[2]

    def __answered__(self) -> frozenset[str]:
        """Return the methods that this server answers: those of its own handlers, and of its decorated functions."""
        absent = [method for area, methods in _AREAS.items() if not self._has(area) for method in methods]
        can_watch = len(self._subscriptions) or any(part.answers(RESOURCES_SUBSCRIBE) for part in self._mounted)
        more = _SUBSCRIBING & self.__handlers__.keys() if can_watch else frozenset[str]()
        return super().__answered__() - {method for method in absent if self._is_ours(method)} | more

    def __scopes_for__(self, method: str, name: str | None = None) -> tuple[str, ...]:
        """Return the scopes that a request needs: those of its handler, and of the decorated function that it calls.

        Args:
            method: the method of the request.
            name: the tool, the prompt or the URI that it names; None for what any request of the method needs.
        """
        registries: dict[str, Any] = {TOOLS_CALL: self._tools, PROMPTS_GET: self._prompts}
        registry = {**registries, RESOURCES_READ: self._resources}.get(method)
        found: list[Any] = registry.named(name) if registry is not None else []
        functions = [entry for entry in found if isinstance(entry, Function)]
        own = [super().__scopes_for__(method, name), *(function.scopes for function in functions)]
        if self._mounts is not None and (name is None or not found):
            own.append(tuple(self._mounts.scopes_for(method, name)))
        return tuple(dict.fromkeys(scope for scopes in own for scope in scopes))

    def connected(self, connection: "Connection") -> None:
        """Remember the event loop, so that clients can be notified of changes made in threads.

        Args:
            connection: the new connection.
        """
        from asyncio import get_running_loop

        self._loop = get_running_loop()
        for part in self._mounted:
            part.connected(connection)
        if len(self._subscriptions) or self._mounts is not None:
            Watching(self).install(self, connection)

    def decorator(self, kind: str, **said: Any) -> Callable[[F], F]:
        """Return a decorator that registers a function as a tool, resource or prompt; the generated decorators call it.

        Args:
            kind: what the function becomes: ``tool``, ``resource`` or ``prompt``.
            said: the arguments of the generated decorator.

        Raises:
            DefinitionError: the decorator was written without parentheses.
        """
        add: Callable[..., None] = getattr(self, f"_add_{kind}")
        for given in said.values():
            if isinstance(given, type):
                raise misuse(2, f"{kind} {given.__name__}", instead_of(given))
            if callable(given):
                raise misuse(
                    2, kind, f"write @app.{kind}(...) with parentheses above {name_of(given) or 'the function'}"
                )

        def decorate(function: F) -> F:
            add(function, **said)
            return function

        return decorate

    def add_tool(
        self, function: Callable[..., Any], *, name: str | None = None, description: str | None = None
    ) -> None:
        """Make a function a tool of this server, as ``app.tool(...)(function)`` does.

        Args:
            function: the function.
            name: the name; by default the function's name.
            description: what it is for; by default the first paragraph of the docstring.

        Raises:
            DefinitionError: the function cannot be used; the message says why, and where the function is.
        """
        tool: Any = getattr(self, "tool")  # noqa: B009 - each revision generates its own
        tool(name, description=description)(function)

    def completion(self, argument: str, *, prompt: str | None = None, resource: str | None = None) -> Callable[[F], F]:
        """Register a function that completes an argument: ``(value: str, others: dict[str, str]) -> list[str]``.

        The first hundred values are sent, along with the total number.

        Args:
            argument: the argument of the prompt, or the variable of the resource template.
            prompt: the name of the prompt.
            resource: the resource template, as passed to its decorator.

        Raises:
            DefinitionError: not exactly one of `prompt` and `resource` is given, or it has no such argument or
                variable; the function has the wrong parameters, or the argument already has a completion.
        """
        if (prompt is None) == (resource is None):
            raise misuse(1, f"completion of {argument}", "it needs either prompt= or resource=")
        kind, name = ("prompt", prompt) if prompt is not None else ("resource", str(resource))
        found, template = self._prompts.get(prompt or ""), self._resources.template(resource or "")
        known = [parameter.name for parameter in found.parameters] if found else template and template.names
        if argument not in (known or ()):
            what = f"{'template' if resource else kind} {name}"
            reason = f"{what} has no {argument} to complete; define it before its completion"
            raise misuse(1, f"completion of {argument}", reason)

        def decorate(function: F) -> F:
            made = Completion(function, self.__binding__, f"{argument} of {kind} {name}")
            self._completions.define(f"{kind} {name} {argument}", made, f"completion of {argument}")
            return function

        return decorate

    def subscription(self) -> Callable[[F], F]:
        """Let clients subscribe to resources. The function takes the URI, and refuses one by `NotFound`.

        It is called before a client is subscribed; `mcp_runtime.resource_updated` notifies
        subscribers.

        Raises:
            DefinitionError: the function takes anything else, or there is one already.
        """
        return self.decorator("subscription")

    def files(
        self,
        name: str,
        *,
        root: "Path",
        max_bytes: int = 1 << 20,
        hidden: bool = False,
        description: str | None = None,
    ) -> None:
        """Let clients read the files of a folder: ``docs:///guides/start.md``; ``docs:///`` lists its contents.

        Paths that lead out of the folder are not found, including through symbolic links.

        Args:
            name: the name of the folder, also used as the scheme of its URIs.
            root: the folder.
            max_bytes: the maximum size of a file in bytes.
            hidden: whether to serve files whose name begins with a dot.
            description: what the folder contains.

        Raises:
            ValueError: `root` is not a folder.
            DefinitionError: files of that name are already registered.
        """
        from mcp_runtime.app.files import VARIABLE, Folder

        folder = Folder(self.__binding__, name, root=root, max_bytes=max_bytes, hidden=hidden, description=description)
        template = str(folder.listed["uri_template"])
        self._resources.add(folder.uri, folder.itself())
        self._resources.add(template, folder)
        self._completions.add(f"resource {template} {VARIABLE}", folder)
        self._changed("resources")

    def mount(self, server: ServerHandlers, *, prefix: str = "") -> None:
        """Offer the tools, resources and prompts of another server as this one's own, as they change.

        Its handlers answer the same requester, with its own middleware and ``ctx.state``; its extensions become this
        server's. Resources keep their URIs; where both have one, this server's is read.

        Args:
            server: an App or a generated Server of the same revision.
            prefix: what the names of its tools and prompts begin with here, before two underscores:
                ``github__search``. By default they are the same.

        Raises:
            TypeError: it is not a server.
            ValueError: another server has that prefix; it is of another revision, has this one as a part, or a lifespan
                though this one is being served, or methods of extensions that this one has as well.
        """
        from mcp_runtime.app.mounted import mounted

        self._mountable().check(server, prefix)
        self._adopt(server.effective_options().extensions)
        self.__mount__(mounted(server, prefix, self))

    def __mount__(self, part: "Part") -> None:
        """Add a part."""
        self._mounts = self._mountable()
        self._mounts.add(part)
        self._declare_tasks()
        for area in self._registries:
            self._changed(area)

    def remove_tool(self, name: str) -> bool:
        """Remove a tool, and notify clients; return whether it existed.

        Args:
            name: the name of the tool.
        """
        return self._tools.remove(name) and self._changed("tools")

    def remove_resource(self, uri: str) -> bool:
        """Remove a resource or resource template, and notify clients; return whether it existed.

        Args:
            uri: the URI or the template, as passed to its decorator.
        """
        return self._resources.remove(uri) and self._changed("resources")

    def remove_prompt(self, name: str) -> bool:
        """Remove a prompt, and notify clients; return whether it existed.

        Args:
            name: the name of the prompt.
        """
        return self._prompts.remove(name) and self._changed("prompts")

    @overload
    def run(self, transport: Literal["stdio"] = "stdio") -> None: ...

    @overload
    def run(
        self,
        transport: Literal["http"],
        *,
        host: str = ...,
        port: int = ...,
        path: str = ...,
        **options: "Unpack[HttpServerOptions]",
    ) -> None: ...

    def run(self, transport: Literal["stdio", "http"] = "stdio", **options: Any) -> None:
        """Serve clients: the one that started this process, until it disconnects; or over HTTP, until a signal.

        The URL is printed to standard error. The arguments of the program are not read.

        Args:
            transport: ``stdio`` for standard input and output, ``http`` for Streamable HTTP, which needs the extra
                ``mcp-bindings[http]``.
            options: those of `mcp_runtime.serve_http`: ``host``, ``port``, ``path`` and more.

        Raises:
            TypeError: there is no such option.
            ValueError: there is no such transport; or as for `serve_http`.
            OSError: it cannot listen on that address and port.
            ModuleNotFoundError: the extra is not installed.
        """
        if transport == "stdio":
            from mcp_runtime.core.transports.stdio import serve_stdio

            serve_stdio(self, **options)
        elif transport == "http":
            from mcp_runtime.app.running import run_http

            run_http(self, options)
        else:
            raise for_author(ValueError(f"there is no transport {transport!r}; use 'stdio' or 'http'"))

    def _add_tool(self, function: Callable[..., Any], **said: Any) -> None:
        tool = Tool(function, self, **said)
        self._tools.define(tool.name, tool, f"tool {tool.name}")
        self._changed("tools")

    def _add_prompt(self, function: Callable[..., Any], **said: Any) -> None:
        prompt = Prompt(function, self.__binding__, **said)
        self._prompts.define(prompt.name, prompt, f"prompt {prompt.name}")
        self._changed("prompts")

    def _add_subscription(self, function: Callable[..., Any]) -> None:
        self._subscriptions.define("", Subscription(function), "subscription")

    def _add_resource(self, function: Callable[..., Any], *, uri: str, **said: Any) -> None:
        self._resources.add(uri, FunctionResource(function, self.__binding__, uri=uri, **said))
        self._changed("resources")

    def _has(self, area: str) -> bool:
        if self._given and isinstance(self._given.list_changed, frozenset) and area in self._given.list_changed:
            return True
        return len(self._registries[area]) > 0 or any(p.answers(m) for p in self._mounted for m in _AREAS[area])

    def _changed(self, area: str) -> bool:
        """Notify clients that a list has changed; returns True."""
        for outer in self._outer if area == "tools" else ():
            outer._declare_tasks()
        if self._loop is not None and reached_by(self):
            tell(self, self._loop, area)
        return True

    def _adopt(self, extensions: "Sequence[Extends]") -> None:
        """Have the extensions of a part, here and in the servers that have this one as a part."""
        options = self._given or super().effective_options()
        more = [each for each in extensions if each not in options.extensions]
        extended = options.extended(more, self.__binding__.revision)
        for outer in self._outer:
            outer._adopt(more)
        self._given = extended
