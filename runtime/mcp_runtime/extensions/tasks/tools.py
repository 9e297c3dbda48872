"""Which tools can be called as tasks (2025-11-25, basic/utilities/tasks, "Tool-Level Negotiation")."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from mcp_runtime.core.connection.connection import Connection
from mcp_runtime.core.features import read_pages
from mcp_runtime.core.handlers import Context
from mcp_runtime.core.json.values import is_object
from mcp_runtime.core.method import RequestMethod
from mcp_runtime.core.protocol.names import TOOLS_LIST


class Support(StrEnum):
    """Whether a tool can be called as a task (``execution.taskSupport``)."""

    FORBIDDEN = "forbidden"
    OPTIONAL = "optional"
    REQUIRED = "required"


class ToolSupport:
    """Remembers what the client was last told of each tool, and lists the tools itself for an unknown one.

    Args:
        connection: the connection.
        declared: the support of tools whose own entry does not state it, by name.
    """

    def __init__(self, connection: Connection, declared: Mapping[str, str]) -> None:
        assert connection.binding is not None
        self._declared = declared
        self._known: dict[str, Support] = {}
        self._method = connection.binding.methods[TOOLS_LIST]
        self._list = connection.handler(TOOLS_LIST)
        if self._list is not None:
            connection.handle(self._method, self._listed)

    async def of(self, name: str, ctx: Context[Any]) -> Support | None:
        """Return whether a tool can be called as a task; None if the tool does not exist.

        Args:
            name: the name of the tool.
            ctx: the context of the call, for the server's own handler of ``tools/list``.
        """
        if name not in self._known and self._list is not None:
            assert isinstance(self._method, RequestMethod)
            await read_pages(ctx.exchange, self._method, lambda _: name in self._known)
        return self._known.get(name)

    async def _listed(self, params: Any, ctx: Context[Any]) -> Any:
        assert self._list is not None
        result = await self._list(params, ctx)
        tools = [self._stated(tool) for tool in result.tools]
        return result.model_copy(update={"tools": tools}) if tools != result.tools else result

    def _stated(self, tool: Any) -> Any:
        """Return a tool's entry, with its support."""
        execution: Any = getattr(tool, "execution", None)
        said = execution.get("taskSupport") if is_object(execution) else getattr(execution, "task_support", None)
        if said is None and (said := self._declared.get(tool.name)) is not None:
            kind: type[Any] = tool.__class__
            tool = kind.model_validate({**tool.model_dump(mode="json"), "execution": {"taskSupport": said}})
        self._known[tool.name] = Support(said or Support.FORBIDDEN)
        return tool
