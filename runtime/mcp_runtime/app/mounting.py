"""Servers that are parts of an App: it offers their tools, resources and prompts as its own (`App.mount`).

A request that names a tool or a prompt goes to the part whose prefix the name has; one that names a resource goes to
the first part that has it, those that cannot tell last. A part answers as it would alone, with its own handlers,
middleware and state, and for the same requester: its questions, progress and log messages belong to the request.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from logging import ERROR
from typing import TYPE_CHECKING, Any, Final

from mcp_runtime.app.changes import not_watched, reached_by
from mcp_runtime.app.errors import for_author, invalid
from mcp_runtime.core.errors import PeerError
from mcp_runtime.core.handlers import ServerHandlers
from mcp_runtime.core.handshake.offer import check_handlers
from mcp_runtime.core.protocol.jsonrpc import METHOD_NOT_FOUND
from mcp_runtime.core.protocol.names import (
    PROMPTS_GET,
    RESOURCES_READ,
    RESOURCES_TEMPLATES_LIST,
    TOOLS_CALL,
    TOOLS_LIST,
    listing,
)
from mcp_runtime.core.server import with_mounted

if TYPE_CHECKING:
    from mcp_runtime.app.registry import Registry
    from mcp_runtime.core.connection.connection import Connection

SEPARATOR: Final = "__"
"""Stands between the prefix of a part and the part's own name of a tool or a prompt, as in a `Host`."""
_PREFIX: Final = re.compile(r"(?!.*__)(?:[A-Za-z0-9_.-]*[A-Za-z0-9.-])?")
"""What is before the first separator, so that names are clear."""
_CALLED_BY_NAME: Final = frozenset((TOOLS_CALL, PROMPTS_GET))
_LISTED_BY_NAME: Final = frozenset((TOOLS_LIST, listing("prompts")))
_LISTS: Final = _LISTED_BY_NAME | {listing("resources"), RESOURCES_TEMPLATES_LIST}
_NOT_FOUND: Final = frozenset((-32002, -32602, METHOD_NOT_FOUND))
"""The error codes of servers that do not have a resource, or none at all."""


class Part(ABC):
    """A server whose tools, resources and prompts an App offers as its own.

    Args:
        prefix: what the names of its tools and prompts begin with; may be empty.
    """

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix + SEPARATOR if prefix else ""

    def own_name(self, name: str) -> str | None:
        """Return its own name of a tool or a prompt of the App; None if it is not the part's."""
        return name.removeprefix(self.prefix) if name.startswith(self.prefix) else None

    def public_name(self, name: str) -> str:
        """Return the App's name of a tool or a prompt of its own."""
        return self.prefix + name

    @property
    @abstractmethod
    def reports_updates(self) -> bool:
        """Whether it reports changes of resources."""

    @abstractmethod
    def answers(self, method: str) -> bool:
        """Whether it answers a method."""

    @abstractmethod
    def scopes_for(self, method: str, name: str | None) -> tuple[str, ...]:
        """Return the scopes that a request needs, given the part's own name of what it is about, or the URI."""

    @abstractmethod
    def has_resource(self, uri: str) -> bool | None:
        """Whether it has a resource; None if only reading it shows that."""

    @abstractmethod
    async def answer(self, method: str, params: Any, ctx: Any) -> Any:
        """Answer a request, whose params have the part's own names."""

    @abstractmethod
    async def watch(self, method: str, uri: str, ctx: Any) -> None:
        """Let the requester subscribe to a resource, or no longer.

        Raises:
            PeerError: it refuses.
        """

    @abstractmethod
    def held(self, uri: str, more: int) -> None:
        """Note that more connections, or fewer, have subscribers of a resource of the App."""

    @abstractmethod
    def connected(self, connection: "Connection") -> None:
        """Prepare for the requests of a new connection."""

    @abstractmethod
    def declare_tasks(self, prefix: str) -> None:
        """Let the calls of its tools become tasks, where they may, under their names after another prefix."""


class Mounts:
    """The parts of an App, in the order in which they were mounted.

    Args:
        app: the App.
        size: how many items a page of a list has, unless a part gives more.
    """

    def __init__(self, app: ServerHandlers, size: int) -> None:
        self._app = app
        self._parts: list[Part] = []
        self._size = size

    def __iter__(self) -> Iterator[Part]:
        return iter(self._parts)

    def check(self, server: ServerHandlers, prefix: str) -> None:
        """Check that a server can become a part.

        Raises:
            TypeError: it is not a server.
            ValueError: it cannot be a part, or not with that prefix; see `Application.mount`.
        """
        _check(server, self._app)
        if _PREFIX.fullmatch(prefix) is None:
            reason = "has letters, digits, _, - and ., without __ in it or _ at its end"
            raise for_author(ValueError(f"a prefix {reason}, unlike {prefix!r}"))
        self.check_prefix(prefix)

    def check_prefix(self, prefix: str) -> None:
        """Check that no part has a prefix.

        Raises:
            ValueError: one has it.
        """
        if any(part.prefix.removesuffix(SEPARATOR) == prefix for part in self._parts):
            taken = f"the prefix {prefix!r}" if prefix else "no prefix"
            raise for_author(ValueError(f"a server with {taken} is mounted already; give this one another prefix="))

    def add(self, part: Part) -> None:
        """Add a part."""
        self._parts.append(part)

    def scopes_for(self, method: str, name: str | None) -> Iterator[str]:
        """Iterate over the scopes that a request to the parts needs; a list needs none, but leaves out parts."""
        if method in _LISTS:
            return
        if name is None or method not in (*_CALLED_BY_NAME, RESOURCES_READ):
            parts, own = self._parts, name
        elif method == RESOURCES_READ:
            parts, own = self._with_resource(name), name
        else:
            part, own = self._named(name)
            parts = [part] if part else []
        for part in parts:
            yield from part.scopes_for(method, own)

    def has_resource(self, uri: str) -> bool | None:
        """Whether one of them has a resource; None if only reading it shows that."""
        found = [part.has_resource(uri) for part in self._parts]
        return True if True in found else None if None in found else False

    async def answer(self, method: str, params: Any, ctx: Any, missing: Callable[[], PeerError]) -> Any:
        """Let the part answer that a request is for.

        Raises:
            PeerError: there is none (`missing`), or its own error.
        """
        about = getattr(params, "ref", params)
        name: str | None = getattr(about, "name", None)
        if name is not None:
            part, own = self._named(name)
            if part is None:
                raise missing()
            changed = {"name": own}
            if about is not params:
                changed = {"ref": about.model_copy(update=changed)}
            return await part.answer(method, params.model_copy(update=changed), ctx)
        failed: PeerError | None = None
        for part in self._with_resource(about.uri):
            try:
                return await part.answer(method, params, ctx)
            except PeerError as error:
                if part.has_resource(about.uri):
                    raise
                failed = failed if error.code in _NOT_FOUND else error
        raise failed or missing()

    async def watch(self, method: str, uri: str, ctx: Any) -> None:
        """Ask the parts that may have a resource, until one agrees.

        Raises:
            PeerError: none does; the error is that of the first.
        """
        refused: PeerError | None = None
        for part in self._with_resource(uri):
            try:
                return await part.watch(method, uri, ctx)
            except PeerError as error:
                refused = refused or error
        raise refused or not_watched(uri)

    async def page(
        self, method: str, items: str, own: "Registry[Any]", params: Any, ctx: Any
    ) -> tuple[list[Any], str | None]:
        """Return a page of a list, and the cursor of the next one, None after the last.

        The App's own entries come first. Pages are full across parts, since many clients read only the first one; their
        cursors are the number of the part, and its own cursor.

        Raises:
            PeerError: the cursor is invalid.
        """
        number, cursor = self._place(params.cursor if params else None)
        page: list[Any] = []
        while number <= len(self._parts) and len(page) < self._size:
            if number == 0:
                entries, after = own.page(cursor, self._size)
                found: list[Any] = [entry.listed for entry in entries]
            else:
                given = params if params is None else params.model_copy(update={"cursor": cursor})
                found, after = await self._page_of(self._parts[number - 1], method, items, given, ctx)
            page += found
            if not found and after is not None:
                return page, f"{number}:{after}"
            number, cursor = (number, after) if after is not None else (number + 1, None)
        return page, None if number > len(self._parts) else f"{number}:{cursor or ''}"

    async def _page_of(
        self, part: Part, method: str, items: str, params: Any, ctx: Any
    ) -> tuple[list[Any], str | None]:
        """Return a page of a part's list, with the App's names; an empty one if it fails, or the caller may not."""
        if not part.answers(method) or ctx.exchange.lacks(part.scopes_for(method, None)):
            return [], None
        try:
            result = await part.answer(method, params, ctx)
        except Exception as error:
            if params is not None and params.cursor is not None:
                raise
            ctx.connection.log_limited(ERROR, "%s of %r, which is mounted, failed", method, part.prefix, exc_info=error)
            return [], None
        found: list[Any] = getattr(result, items)
        if method in _LISTED_BY_NAME and part.prefix:
            found = [item.model_copy(update={"name": part.public_name(item.name)}) for item in found]
        return found, result.next_cursor

    def _place(self, cursor: str | None) -> tuple[int, str | None]:
        """Return which part a page begins in, 0 for the App itself, and the cursor there."""
        number, colon, rest = (cursor or "0:").partition(":")
        if not colon or not number.isascii() or not number.isdigit() or len(number) > 4:
            raise invalid("invalid cursor", "/cursor")
        if int(number) > len(self._parts):
            raise invalid("invalid cursor", "/cursor")
        return int(number), rest or None

    def _named(self, name: str) -> tuple[Part | None, str]:
        """Return the part whose tool or prompt has a name, and its own name of it."""
        found = [(part, own) for part in self._parts if (own := part.own_name(name)) is not None]
        return max(found, key=_length, default=(None, name))

    def _with_resource(self, uri: str) -> list[Part]:
        """Return the parts that have a resource, and then those that may have it."""
        found = [(part.has_resource(uri), part) for part in self._parts]
        return [part for known in (True, None) for has, part in found if has is known]


def _length(found: tuple[Part, str]) -> int:
    return len(found[0].prefix)


def _check(inner: ServerHandlers, outer: ServerHandlers) -> None:
    """Check that a server can be part of an App.

    Raises:
        TypeError: it is not a server.
        ValueError: it is written for another revision, is the App or has it as a part, or has a lifespan although the
            App is being served.
    """
    check_handlers(inner, ServerHandlers)
    own, other = outer.__binding__.revision, inner.__binding__.revision
    if own != other:
        raise for_author(ValueError(f"a server written for {other} cannot be mounted in an App for {own}"))
    if outer in with_mounted(inner):
        raise for_author(ValueError("a server cannot be mounted in itself, nor in one of its own parts"))
    if reached_by(outer) and any(each.effective_options().lifespan for each in with_mounted(inner)):
        raise for_author(ValueError("mount a server with a lifespan before the App is served"))
