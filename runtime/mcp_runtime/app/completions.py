"""Functions that complete arguments of prompts and of resource templates."""

from collections.abc import Callable, Collection
from typing import Any, Final

from mcp_runtime.app.functions import Function
from mcp_runtime.core.binding import Binding
from mcp_runtime.core.handlers import Context
from mcp_runtime.core.protocol.names import COMPLETION_COMPLETE

MAX_VALUES: Final = 100
"""The maximum number of values in an answer (server/utilities/completion)."""


class Completion(Function):
    """A function that completes an argument.

    Args:
        function: takes the partial value and, optionally, the other arguments as a dictionary; returns the values.
        binding: the revision being served.
        what: a description for errors: ``completion of style``.

    Raises:
        DefinitionError: the function has the wrong parameters.
    """

    def __init__(self, function: Callable[..., Any], binding: Binding, what: str) -> None:
        super().__init__(function, "completion", what)
        self._binding = binding
        self._names = [parameter.name for parameter in self.parameters]
        if not 1 <= len(self._names) <= 2:
            reason = (
                "it must take the partial value and may take the other arguments: (value: str, others: dict[str, str])"
            )
            raise self.signature.error(reason)

    async def complete(self, value: str, others: dict[str, str], ctx: Context[Any]) -> Any:
        """Return the completion result for a partial value.

        Args:
            value: the partial value.
            others: the other arguments that the client sent.
            ctx: the context of the request.
        """
        values: dict[str, Any] = dict(zip(self._names, (value, others), strict=False))
        returned = await self.invoke(values, ctx)
        return completed(self._binding, [] if returned is None else list(returned))


def completed(binding: Binding, values: Collection[Any]) -> Any:
    """Return the result: the first hundred values, the total, and whether there are more."""
    method: Any = binding.methods[COMPLETION_COMPLETE]
    result: type[Any] = method.result.load()
    shown = [str(value) for value in list(values)[:MAX_VALUES]]
    return result(completion={"values": shown, "total": len(values), "hasMore": len(values) > len(shown)})
