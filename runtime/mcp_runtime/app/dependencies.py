"""Parameters that clients do not pass: the context, roots, and values provided by other functions of the server."""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from types import FunctionType, NoneType, UnionType
from typing import Annotated, Any, Final, NamedTuple, Union, get_args, get_origin

from mcp_runtime.app.signature import (
    ASYNC_GENERATOR,
    GENERATOR,
    MISSING,
    Parameter,
    Signature,
    as_function,
    name_of,
    read_signature,
)
from mcp_runtime.core.handlers import Context

_MAX_DEPTH: Final = 20


class Depends(NamedTuple):
    """Marks a parameter that another function provides: ``db: Annotated[Database, Depends(connect)]``.

    The function is called once per call of the tool, resource or prompt, however many parameters it provides.

    Attributes:
        function: returns the value, or yields it as an asynchronous generator, which resumes after the call to clean
            up. It may be a plain function, which runs in a thread, and may itself have dependencies.
    """

    function: Callable[..., Any]


class Injected:
    """The parameters of a function that clients do not pass.

    Args:
        signature: the signature of the function.

    Attributes:
        names: their names.

    Raises:
        DefinitionError: a dependency has parameters that nothing provides.
    """

    def __init__(self, signature: Signature) -> None:
        self._ways = {parameter.name: found for parameter in signature.parameters if (found := _way(parameter, 0))}
        self.names = frozenset(self._ways)
        self._context = [name for name, way in self._ways.items() if way is _context]
        self._others = {name: way for name, way in self._ways.items() if way is not _context}

    def call(self, run: Callable[..., Any], values: dict[str, Any], ctx: Context[Any]) -> Awaitable[Any]:
        """Call a function with the client's arguments and the provided values."""
        for name in self._context:
            values[name] = ctx
        return self._provided(run, values, ctx) if self._others else run(**values)

    async def _provided(self, run: Callable[..., Any], values: dict[str, Any], ctx: Context[Any]) -> Any:
        async with AsyncExitStack() as stack:
            call = _Call(ctx, stack, {})
            for name, way in self._others.items():
                values[name] = await way(call)
            return await run(**values)


class _Call(NamedTuple):
    """The values provided within one call.

    Attributes:
        ctx: the context of the call.
        stack: closes what was opened for the call.
        made: the values provided so far, by function.
    """

    ctx: Context[Any]
    stack: AsyncExitStack
    made: dict[Callable[..., Any], Any]


def _way(parameter: Parameter, depth: int) -> Any:
    """Return the provider of a parameter; None if the client passes it."""
    bare, *marks = get_args(parameter.annotation) if get_origin(parameter.annotation) is Annotated else [None]
    for mark in marks:
        if isinstance(mark, Depends):
            return _provider(mark.function, depth)
    kind: Any = _without_none(bare or parameter.annotation)
    kind = get_origin(kind) or kind
    if not isinstance(kind, type):
        return None
    if issubclass(kind, Context):
        return _context
    return _roots if (kind.__module__, kind.__name__) == _ROOTS else None


def _without_none(annotation: Any) -> Any:
    """Return ``T`` for ``T | None``, an annotation for functions that are also called without a server."""
    if get_origin(annotation) not in (Union, UnionType):
        return annotation
    kinds = [kind for kind in get_args(annotation) if kind is not NoneType]
    return kinds[0] if len(kinds) == 1 else annotation


_ROOTS: Final = ("mcp_runtime.client_features.roots", "Roots")
"""The class of the client's roots; importing it here would load the connection."""


async def _context(call: _Call) -> Any:
    return call.ctx


async def _roots(call: _Call) -> Any:
    from mcp_runtime.client_features.roots import Roots

    return Roots.of(call.ctx.connection)


def _provider(function: Callable[..., Any], depth: int) -> Any:
    function = as_function(function)
    signature = read_signature(function, f"dependency {name_of(function)}")
    if depth > _MAX_DEPTH:
        raise signature.error("dependencies depend on each other in a cycle")
    ways: Mapping[str, Any] = {parameter.name: _way(parameter, depth + 1) for parameter in signature.parameters}
    unknown = [p.name for p in signature.parameters if not ways[p.name] and p.default is MISSING]
    if unknown:
        raise signature.error(
            f"nothing provides {', '.join(unknown)}: a dependency may only take a Context or other dependencies"
        )
    flags = function.__code__.co_flags if isinstance(function, FunctionType) else 0
    if flags & GENERATOR:
        raise signature.error("a dependency that yields must be declared with async def")

    async def provide(call: _Call) -> Any:
        from mcp_runtime.core.connection.background import unblocked  # Importing a server must not import asyncio.

        if function not in call.made:
            values = {name: await way(call) for name, way in ways.items() if way is not None}
            if flags & ASYNC_GENERATOR:
                enter: Callable[..., Any] = asynccontextmanager(function)
                call.made[function] = await call.stack.enter_async_context(enter(**values))
            else:
                call.made[function] = await unblocked(function)(**values)
        return call.made[function]

    return provide
