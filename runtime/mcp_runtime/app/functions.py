"""A decorated function: what clients pass to it, and how it is called."""

from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Mapping
from functools import cached_property
from types import CoroutineType, NoneType
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from mcp_runtime.app.annotations import is_plain
from mcp_runtime.app.dependencies import Injected
from mcp_runtime.app.docstrings import argument_descriptions, summary
from mcp_runtime.app.errors import ResultError
from mcp_runtime.app.signature import ASYNC_GENERATOR, GENERATOR, MISSING, as_function, name_of, read_signature
from mcp_runtime.awaiting import forgotten
from mcp_runtime.core.functions import scopes_of
from mcp_runtime.core.handlers import Context

if TYPE_CHECKING:
    from mcp_runtime.app.schemas import Arguments


T = TypeVar("T")


class Function:
    """A function registered with a server.

    Args:
        function: the function.
        kind: what it becomes: ``tool``, ``resource``, ``prompt`` or ``completion``.
        name: the name to register it under; None for its own.
        schema: the JSON Schema of the arguments that it takes as one mapping; None for one argument per parameter.

    Attributes:
        name: its name.
        signature: how it is called.
        parameters: the parameters that clients pass.

    Raises:
        DefinitionError: it cannot become that.
    """

    def __init__(
        self, function: Callable[..., Any], kind: str, name: str | None, schema: Mapping[str, Any] | None = None
    ) -> None:
        function = as_function(function)
        self.name = name or name_of(function)
        self.signature = read_signature(function, f"{kind} {self.name}".rstrip())
        if not self.name:
            raise self.signature.error("it has no name; pass name=")
        code = getattr(function, "__code__", None)
        if code is not None and code.co_flags & (GENERATOR | ASYNC_GENERATOR):
            raise self.signature.error("it is a generator; return the values instead, as a list if there are several")
        self._injected = Injected(self.signature)
        self._is_reported = False
        self.parameters = tuple(p for p in self.signature.parameters if p.name not in self._injected.names)
        self._schema = schema
        if schema is not None or not all(is_plain(p.annotation) and _is_simple(p.default) for p in self.parameters):
            # Report types without a JSON Schema now; for all others pydantic can be loaded later.
            _ = self.arguments

    @property
    def where(self) -> str:
        """The file and line where the function is defined."""
        return self.signature.where

    @property
    def summary(self) -> str | None:
        """The first paragraph of its docstring."""
        return summary(self.signature.function)

    @cached_property
    def scopes(self) -> tuple[str, ...]:
        """The scopes that its callers need, whichever decorator came first."""
        return scopes_of(self.signature.function)

    @cached_property
    def arguments(self) -> "Arguments":
        """The arguments that clients pass."""
        from mcp_runtime.app.schemas import Arguments, RawArguments

        if self._schema is not None:
            return RawArguments(self.signature, self.parameters, self._schema)
        return Arguments(self.signature, self.parameters)

    @cached_property
    def schema(self) -> Mapping[str, Any]:
        """The JSON Schema of the arguments, with the descriptions of the docstring."""
        if self._schema is not None:
            return self._schema
        descriptions = argument_descriptions(self.signature.function)
        properties = {
            name: {"description": descriptions[name], **stated} if name in descriptions else stated
            for name, stated in self.arguments.schema["properties"].items()
        }
        return {**self.arguments.schema, "properties": properties}

    def result(self, convert: Callable[[Any], T], returned: Any) -> T:
        """Return a result made of what the function returned.

        Raises:
            ResultError: JSON cannot express it.
        """
        from mcp_runtime.app.schemas import NotJson  # It loads pydantic.

        try:
            return convert(returned)
        except NotJson as error:
            raise self._error(f"returned {error}") from None

    def _error(self, reason: str) -> ResultError:
        """Return the error for a mistake of the function that shows when it runs."""
        return ResultError(f"{self.signature.what} ({self.where}) {reason}")

    async def invoke(self, values: dict[str, Any], ctx: Context[Any]) -> Any:
        """Call it with a client's arguments and the values that the server provides.

        Raises:
            PeerError: the sender lacks a scope.
            ResultError: it returned something unfinished, such as a coroutine or an open file, or did not await a
                method of its context.
        """
        if self.scopes:
            ctx.exchange.require(self.scopes)
        run = self._run
        try:
            returned = await (self._injected.call(run, values, ctx) if self._injected.names else run(**values))
        except (AttributeError, TypeError) as error:  # of a coroutine that was taken for its result
            await self._check_awaited(ctx, error)
            raise
        if returned.__class__ not in FINISHED and (reason := _unfinished(returned)):
            raise self._error(f"returned {reason}")
        await self._check_awaited(ctx)
        return returned

    async def _check_awaited(self, ctx: Context[Any], cause: Exception | None = None) -> None:
        """Raise a ResultError if the function called a method of its context without awaiting it."""
        if names := await forgotten(ctx):
            calls = " and ".join(f"ctx.{name}(...)" for name in names)
            raise self._error(f"does not await {calls}; make it async def, and write await before the call") from cause

    def mistakes(self, error: ValueError, arguments: Mapping[str, Any]) -> str:
        """Describe what is wrong with a client's arguments."""
        from mcp_runtime.app.mistakes import mistakes

        known = [parameter.name for parameter in self.parameters]
        return f"invalid arguments for {self.name}: {mistakes(error, arguments, known)}"

    @cached_property
    def _run(self) -> Callable[..., Any]:
        from mcp_runtime.core.connection.background import unblocked  # Importing a server must not import asyncio.

        run = unblocked(self.signature.function)
        if run is not self.signature.function:
            return run
        from mcp_runtime.app.blocking import watched

        def run_watched(**values: Any) -> Awaitable[Any]:
            running: Any = run(**values)
            return watched(running, self._blocked) if running.__class__ is CoroutineType else running

        return run_watched

    def _blocked(self, seconds: float) -> None:
        if self._is_reported:
            return
        self._is_reported = True
        import logging

        logging.getLogger("mcp_runtime.app").warning(
            "%s (%s) blocked the event loop for %.1f s, and all other calls with it; without async it runs in a thread",
            *(self.signature.what, self.where, seconds),
        )


def said_of(**properties: Any) -> dict[str, Any]:
    """Return the properties that are not None."""
    return {name: value for name, value in properties.items() if value is not None}


FINISHED: Final = frozenset((str, int, float, bool, NoneType, list, dict, bytes))
"""Types of values that are sent as they are: neither unfinished nor parts of the protocol."""


def _unfinished(returned: Any) -> str:
    """Say what is wrong with a value that nobody can send yet; empty if nothing is."""
    from io import IOBase

    if isinstance(returned, Coroutine):
        returned.close()
        return "a coroutine: is an await missing?"
    if isinstance(returned, IOBase):
        return "an open file: return its text or its bytes"
    if isinstance(returned, Iterator | AsyncIterator):
        return f"{type(cast('object', returned)).__name__}, an iterator: return its values as a list"
    return ""


def _is_simple(default: Any) -> bool:
    return default is MISSING or default is None or isinstance(default, str | int | float | bool)
