"""Functions as tools."""

import re
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from mcp_runtime.app.annotations import is_plain, leaves
from mcp_runtime.app.errors import ResultError, ToolFailure, invalid
from mcp_runtime.app.functions import FINISHED, Function, said_of
from mcp_runtime.app.signature import MISSING
from mcp_runtime.core.errors import AuthorError, MissingCapability, PeerError, RemoteProtocolError, clipped
from mcp_runtime.core.handlers import Context, ServerHandlers
from mcp_runtime.core.protocol.names import TOOLS_CALL

if TYPE_CHECKING:
    from mcp_runtime.app.schemas import Output

_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,128}")
"""The names of tools that clients should take (2025-11-25, server/tools, "Tool Names")."""


def why_odd(name: str) -> str:
    """Return why clients may refuse the name of a tool; empty if they should take it."""
    if _NAME.fullmatch(name):
        return ""
    return f"clients may refuse the name {clipped(name, 60)!r}; it may have 1 to 128 of A-Z, a-z, 0-9, _, - and ."


class Tool(Function):
    """A function as a tool.

    Args:
        function: the function.
        server: the server.
        name: its name; by default that of the function.
        description: what it is for; by default the first paragraph of the docstring.
        input_schema: the JSON Schema of its arguments, which it takes as one mapping; None to derive it.
        structured: whether the return type becomes an output schema.
        task: whether a call may become a task: ``optional``, ``required``, or None if it may not.
        restart: whether a task may run again if its process ends.
        said: further properties that tools have in the revision.

    Raises:
        DefinitionError: the function cannot be a tool.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        server: ServerHandlers,
        *,
        name: str | None,
        description: str | None,
        input_schema: Mapping[str, Any] | None = None,
        structured: bool = False,
        task: str | None = None,
        restart: bool = False,
        **said: Any,
    ) -> None:
        super().__init__(function, "tool", name, input_schema)
        if task not in (None, "optional", "required"):
            raise self.signature.error(f"task={task!r} is neither 'optional' nor 'required'")
        if restart and task is None:
            raise self.signature.error("restart=True is for tools that become tasks; pass task= too")
        self._task, self._restart, self._server, self._binding = task, restart, server, server.__binding__
        if task is not None and self._tasks is None:
            raise self.signature.error("task= needs a store: App(extensions=[Tasks(MemoryTaskStore())])")
        self.declare_task(self.name)
        stated = getattr(said.get("execution"), "task_support", None)  # in 2025-11-25
        if stated in ("optional", "required") and self._tasks is not None:
            self._task = stated
        self._said = said_of(name=self.name, description=description or self.summary, **said)
        if "description" not in self._said:
            self.signature.warn("it has no description; write a docstring, from which models learn its purpose")
        if reason := why_odd(self.name):
            self.signature.warn(reason)
        returns = self.signature.returns
        self._is_structured = structured and returns not in (MISSING, None, type(None), Any)
        if self._is_structured and not is_plain(returns):
            _ = self._output  # Report a type without a JSON Schema now.

    @cached_property
    def listed(self) -> Mapping[str, Any]:
        """Its entry in ``tools/list``."""
        output = {"output_schema": self._output.schema} if self._output else {}
        return {**self._said, "input_schema": self.schema, **output}

    def declare_task(self, name: str) -> None:
        """Let its calls under a name become tasks, if they may."""
        if self._task is not None:
            self._tasks.declare_tool(name, self._task)

    async def call(self, arguments: Mapping[str, Any], ctx: Context[Any]) -> Any:
        """Return the result of a call.

        Raises:
            PeerError: the arguments are invalid, in revisions that require an error for that; or the function raised
                it.
            MissingCapability: the client lacks a capability that the function needs.
        """
        if self._tasks is not None:
            self._tasks.admit(ctx, self._task, self._restart)
        try:
            try:
                values = self.arguments.read(arguments)
            except ValueError as error:
                return self._refused(error, arguments, ctx)
            return self._succeeded(await self.invoke(values, ctx))
        except ToolFailure as error:
            return self._failed("\n".join(map(str, error.args)) or f"{self.name} failed")
        except MissingCapability:
            raise
        except PeerError as error:
            if not error.is_from_peer:
                raise
            return self._broke(error, ctx)
        except Exception as error:
            return self._broke(error, ctx)

    @cached_property
    def _tasks(self) -> Any:
        """The extension that decides whether a call may become a task; None if the server has no store of tasks."""
        extensions = self._server.effective_options().extensions
        return next((each for each in extensions if getattr(each, "admit", None) is not None), None)

    @cached_property
    def _method(self) -> Any:
        return self._binding.methods[TOOLS_CALL]

    @cached_property
    def _assumed(self) -> dict[str, Any]:
        return dict(self._method.result.compile().assumed)

    @cached_property
    def _result(self) -> type[Any]:
        kind: type[Any] = self._method.result.load()
        return kind

    @cached_property
    def _content(self) -> Any:
        from mcp_runtime.app import content

        return content

    @cached_property
    def _output(self) -> "Output | None":
        from mcp_runtime.app.content import is_content
        from mcp_runtime.app.schemas import Output

        signature = self.signature
        if not self._is_structured or any(map(is_content, leaves(signature.returns))):
            return None
        return Output(signature, _takes_any_json(self._result))

    def _succeeded(self, returned: Any) -> Any:
        if returned.__class__ not in FINISHED and self._content.is_result(returned, self._result):
            return self._encodable(returned)
        if self._output is None:
            return self._encodable(self._result(content=self.result(self._content.blocks_of, returned)))
        structured, text = self._output.write(returned)
        if not text.isascii():
            self._encodable(text)
        made = {**self._assumed, "content": [{"type": "text", "text": text}], "structured_content": structured}
        return self._method.result.build(made)  # in half the time of the constructor

    def _encodable(self, result: Any) -> Any:
        """Return a result whose text can be encoded; file names that are not UTF-8 cannot."""
        if said := self._content.half_character(result):
            raise self._error(f"returned text that is not Unicode: {said}")
        return result

    def _failed(self, text: str) -> Any:
        text = text.encode("utf-8", "backslashreplace").decode()
        return self._result(content=[{"type": "text", "text": text}], is_error=True)

    def _broke(self, error: Exception, ctx: Context[Any]) -> Any:
        from logging import ERROR, WARNING  # Few tools fail, and importing a server should be fast.

        name, where = self.name, self.where
        if isinstance(error, ResultError):
            ctx.connection.log_limited(ERROR, "%s", error)
        elif isinstance(error, AuthorError):
            ctx.connection.log_limited(ERROR, "tool %s failed: %s", name, error)
        elif isinstance(error, RemoteProtocolError):  # the client answered wrongly
            ctx.connection.log_limited(WARNING, "tool %s failed (%s): %s", name, where, error)
        else:
            ctx.connection.log_limited(ERROR, "tool %s failed (%s)", name, where, exc_info=error)
        return self._failed(f"{name} failed; see the server's log")

    def _refused(self, error: ValueError, arguments: Mapping[str, Any], ctx: Context[Any]) -> Any:
        from mcp_runtime.middleware.validate import INVALID_INPUT_IN_RESULT

        text = self.mistakes(error, arguments)
        if ctx.requester.revision >= INVALID_INPUT_IN_RESULT:
            return self._failed(text)
        raise invalid(text, "/arguments")


def _takes_any_json(result: type[Any]) -> bool:
    """Whether structured content may be any JSON value in a revision, rather than only an object."""
    try:
        result(content=[], structured_content=[])
    except ValueError:
        return False
    return True
