"""Functions as completions of arguments: of a prompt, or of a template of resources."""

from collections.abc import Callable, Collection
from typing import Any, Final, Protocol

from mcp_runtime.app.functions import Function
from mcp_runtime.binding import Binding
from mcp_runtime.handlers import Context
from mcp_runtime.protocol.names import COMPLETION_COMPLETE

MAX_VALUES: Final = 100
"""How many values an answer may have (server/utilities/completion)."""


class Completes(Protocol):
    """What completes an argument."""

    @property
    def where(self) -> str:
        """Where it is defined."""
        ...

    async def complete(self, value: str, others: dict[str, str], ctx: Context[Any]) -> Any:
        """Return the result for what was typed.

        Args:
            value: what was typed.
            others: the other arguments, as far as the client says them.
            ctx: the context of the request.
        """
        ...


class Completion:
    """A function that completes an argument.

    Args:
        function: takes what was typed, and if it wants, the other arguments as a dictionary; returns the values.
        binding: the revision that is served.
        what: what it completes: ``style of prompt review``.

    Raises:
        DefinitionError: the function has other parameters.
    """

    def __init__(self, function: Callable[..., Any], binding: Binding, what: str) -> None:
        self._function = Function(function, "completion", what)
        self._binding = binding
        self._names = [parameter.name for parameter in self._function.parameters]
        if not 1 <= len(self._names) <= 2:
            reason = (
                "it takes what was typed, and if it wants, the other arguments: (value: str, others: dict[str, str])"
            )
            raise self._function.signature.error(reason)

    @property
    def where(self) -> str:
        """The file and line of the function."""
        return self._function.signature.where

    async def complete(self, value: str, others: dict[str, str], ctx: Context[Any]) -> Any:
        """Return the result for what was typed; see `Completes`."""
        values: dict[str, Any] = dict(zip(self._names, (value, others), strict=False))
        returned = await self._function.call(values, ctx)
        return completed(self._binding, [] if returned is None else list(returned))


def completed(binding: Binding, values: Collection[Any]) -> Any:
    """Return the result for some values: the first hundred, how many there are, and whether there are more."""
    method: Any = binding.methods[COMPLETION_COMPLETE]
    result: type[Any] = method.result.load()
    shown = [str(value) for value in list(values)[:MAX_VALUES]]
    return result(completion={"values": shown, "total": len(values), "hasMore": len(values) > len(shown)})
