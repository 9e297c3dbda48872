"""Functions as tools."""

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from mcp_runtime.app.annotations import is_plain, leaves
from mcp_runtime.app.dependencies import Injected
from mcp_runtime.app.docstrings import argument_descriptions, check_parser, summary
from mcp_runtime.app.errors import ToolFailure
from mcp_runtime.app.signature import MISSING, Parameter, Signature, name_of, read_signature
from mcp_runtime.binding import Binding
from mcp_runtime.errors import MissingCapability, PeerError
from mcp_runtime.handlers import Context
from mcp_runtime.protocol.names import TOOLS_CALL

_log: Final = logging.getLogger("mcp_runtime.app")
_INVALID_PARAMS: Final = -32602


class Tool:
    """A function as a tool.

    Args:
        function: the function.
        binding: the revision that is served.
        name: its name; by default that of the function.
        description: what it is good for; by default the first paragraph of the docstring.
        structured: whether the return type becomes an output schema.
        said: the properties of a tool that the revision has beyond that.

    Raises:
        DefinitionError: the function cannot be a tool.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        binding: Binding,
        *,
        name: str | None,
        description: str | None,
        structured: bool = False,
        **said: Any,
    ) -> None:
        self.name = name or name_of(function)
        self._signature = signature = read_signature(function, f"tool {self.name}")
        if not self.name:
            raise signature.error("it has no name; write name=")
        check_parser(signature)
        self._binding = binding
        self._injected = Injected(signature)
        self._parameters = tuple(p for p in signature.parameters if p.name not in self._injected.names)
        said = {"name": self.name, "description": description or summary(function), **said}
        self._said = {name: value for name, value in said.items() if value is not None}
        self._is_structured = structured and signature.returns not in (MISSING, None, type(None), Any)
        self._compiled: _Compiled | None = None
        types = [p.annotation for p in self._parameters] + ([signature.returns] if self._is_structured else [])
        if not all(map(is_plain, types)) or not all(_is_simple(p.default) for p in self._parameters):
            # What has no schema is found now; for the others pydantic can wait.
            self._compile()

    @property
    def where(self) -> str:
        """The file and line of the function."""
        return self._signature.where

    def listed(self) -> Mapping[str, Any]:
        """Return what clients are told of it, by wire names."""
        compiled = self._compiled or self._compile()
        return compiled.listed

    async def call(self, arguments: Mapping[str, Any], ctx: Context[Any]) -> Any:
        """Return the result of a call.

        Raises:
            PeerError: the arguments are wrong, where the revision wants an error for that; or the function raised it.
            MissingCapability: the client lacks what the function needs.
        """
        compiled = self._compiled or self._compile()
        try:
            try:
                values = compiled.arguments.read(arguments)
            except ValueError as error:
                return self._refused(compiled, error, arguments, ctx)
            returned = await self._injected.call(compiled.run, values, ctx)
            return compiled.result(returned)
        except ToolFailure as error:
            return compiled.failure(error.args[0] if error.args else f"{self.name} failed")
        except MissingCapability:
            raise
        except PeerError as error:
            if not error.is_from_peer:
                raise
            return self._failed(compiled, error)
        except Exception as error:
            return self._failed(compiled, error)

    def _failed(self, compiled: "_Compiled", error: Exception) -> Any:
        _log.error("tool %s failed (%s)", self.name, self.where, exc_info=error)
        return compiled.failure(f"{self.name} failed; the log of the server says why")

    def _refused(
        self, compiled: "_Compiled", error: ValueError, arguments: Mapping[str, Any], ctx: Context[Any]
    ) -> Any:
        from pydantic import ValidationError

        from mcp_runtime.app.mistakes import mistakes
        from mcp_runtime.middleware.validate import INVALID_INPUT_IN_RESULT

        if not isinstance(error, ValidationError):
            raise error
        text = f"invalid arguments for {self.name}: {mistakes(error, arguments, [p.name for p in self._parameters])}"
        if ctx.requester.revision >= INVALID_INPUT_IN_RESULT:
            return compiled.failure(text)
        raise PeerError(_INVALID_PARAMS, text, {"pointer": "/arguments"})

    def _compile(self) -> "_Compiled":
        self._compiled = _Compiled(self._signature, self._parameters, self._binding, self._said, self._is_structured)
        return self._compiled


class _Compiled:
    """A tool with all that it takes to list and to call it."""

    def __init__(
        self,
        signature: Signature,
        parameters: Sequence[Parameter],
        binding: Binding,
        said: Mapping[str, Any],
        is_structured: bool,
    ) -> None:
        from mcp_runtime.app.content import blocks_of, is_content
        from mcp_runtime.app.schemas import Arguments, Output

        method: Any = binding.methods[TOOLS_CALL]
        self._function = signature.function
        self._said = said
        self._result: type[Any] = method.result.load()
        self._blocks_of = blocks_of
        self._listed: Mapping[str, Any] | None = None
        self._run: Callable[..., Any] | None = None
        self.arguments = Arguments(signature, parameters)
        is_plain_value = is_structured and not any(map(is_content, leaves(signature.returns)))
        self._output = Output(signature, _takes_any_json(self._result)) if is_plain_value else None

    @property
    def listed(self) -> Mapping[str, Any]:
        """What clients are told of the tool; docstrings are parsed when the first one asks."""
        if self._listed is None:
            schema = described(self.arguments.schema, argument_descriptions(self._function))
            output = {"outputSchema": self._output.schema} if self._output else {}
            self._listed = {**self._said, "inputSchema": schema, **output}
        return self._listed

    async def run(self, **values: Any) -> Any:
        """Run the function."""
        from mcp_runtime.threads import unblocked  # Importing a server must not import asyncio.

        self._run = self._run or unblocked(self._function)
        return await self._run(**values)

    def result(self, returned: Any) -> Any:
        """Return the result of a call for what the function returned."""
        if isinstance(returned, self._result):
            return returned
        if self._output is None:
            return self._result(content=self._blocks_of(returned))
        structured, text = self._output.write(returned)
        return self._result(content=self._blocks_of(text), structured_content=structured)

    def failure(self, text: str) -> Any:
        """Return a result that says that the tool failed."""
        return self._result(content=self._blocks_of(text), is_error=True)


def described(schema: Mapping[str, Any], descriptions: Mapping[str, str]) -> Mapping[str, Any]:
    """Return a schema whose properties are described, those that describe themselves left alone."""
    properties = {
        name: {"description": descriptions[name], **stated} if name in descriptions else stated
        for name, stated in schema["properties"].items()
    }
    return {**schema, "properties": properties}


def _takes_any_json(result: type[Any]) -> bool:
    """Whether structured content may be any JSON value in a revision, not only an object."""
    try:
        result(content=[], structured_content=[])
    except ValueError:
        return False
    return True


def _is_simple(default: Any) -> bool:
    return default is MISSING or default is None or isinstance(default, str | int | float | bool)
