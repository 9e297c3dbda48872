"""Base classes of generated clients for a server's own tools (`mcp-bindgen tools generate`).

A method of such a client checks its arguments against the contract that it was generated from, calls the tool, and
reads the structured content. Where pydantic alone would accept more than the tool's JSON Schema, the generated module
includes the schema, and jsonschema decides (``pip install 'mcp-bindings[validation]'``).
"""

import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, TypeAlias, TypeVar, cast

from pydantic import ConfigDict, ValidationError

from mcp_runtime.core.errors import McpError, Unusable
from mcp_runtime.core.model import Page, WireModel
from mcp_runtime.core.options import CallOptions
from mcp_runtime.core.protocol.names import TOOLS_CALL, TOOLS_LIST, list_changed
from mcp_runtime.core.stub import ClientStub
from mcp_runtime.tools.errors import (
    CONTRACT,
    MAX_EMPTY,
    Drift,
    EndlessList,
    ToolArgumentError,
    ToolDrift,
    ToolError,
    ToolOutputError,
    ToolRefused,
    UnknownTool,
    adapter_of,
    digest,
    find_mismatch_of,
    first_fault,
    mismatch_of,
    structured_of,
    text_of,
)

__all__ = [
    "Drift",
    "EndlessList",
    "Tool",
    "ToolArgumentError",
    "ToolClient",
    "ToolDrift",
    "ToolError",
    "ToolModel",
    "ToolOutputError",
    "ToolRefused",
    "ToolResult",
    "UnknownTool",
    "digest",
    "list_tools",
    "text_of",
]

T = TypeVar("T")

MAX_TOOLS: Final = 10_000
"""How many tools a server may list before the list counts as endless."""


class ToolModel(WireModel):
    """Base class of the models of one tool: as strict as every other model, but with the names of the tool's schema.

    The constructor fills in the schema's defaults; None (or `ABSENT`) omits one. Decoding adds none.
    """

    model_config = ConfigDict(alias_generator=None)
    __defaults__: ClassVar[Mapping[str, Any]] = {}
    """The defaults that the constructor fills in, by field."""

    if not TYPE_CHECKING:  # Type checkers derive the constructor from the fields.

        def __init__(self, /, **data: Any) -> None:
            """Build a model from `data`, keyed by field names or wire names; raises like `WireModel`."""
            for name, default in self.__defaults__.items():
                if self.__pydantic_fields__[name].alias not in data:
                    data.setdefault(name, default)
            super().__init__(**data)

        __init__.__dict__["__pydantic_base_init__"] = True


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tool(Generic[T]):
    """A tool, as a generated client describes it. The hints are the server's own claims: they need not be true.

    Attributes:
        name: the name of the tool on the server.
        input: the type of its arguments, a model if they are keyword arguments; None if they could not be typed.
        output: the type of its structured content; None if it declares none.
        wrapped: the field of the output that holds the data, if the server wraps a value that is not an object;
            otherwise empty.
        bare: the structured content is a value other than an object; the output and its schema hold it as `result`.
        input_schema: the JSON Schema of the arguments, if the type alone is not exact; otherwise empty.
        output_schema: the JSON Schema of the structured content, if the type alone is not exact; otherwise empty.
        digests: hashes of the properties of the contract.
        read_only: the tool does not modify its environment.
        destructive: the tool may make destructive changes, not only additive ones; also if the server does not say.
        idempotent: repeating a call with the same arguments has no further effect.
        open_world: the tool may reach external systems; also if the server does not say.
        gated: the server lists it only for clients that declare capabilities, so its absence is not drift.
        task: ``required`` if every call runs as a task (2025-11-25), ``optional`` if one may, empty if none can.
    """

    name: str
    input: Any = None
    output: Any = None
    wrapped: str = ""
    bare: bool = False
    input_schema: str = ""
    output_schema: str = ""
    digests: Mapping[str, str] = field(default_factory=dict[str, str])
    read_only: bool = False
    destructive: bool = True
    idempotent: bool = False
    open_world: bool = True
    task: str = ""
    gated: bool = False

    def check(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Check arguments and return them as they are sent.

        Args:
            arguments: the arguments, keyed by wire names.

        Raises:
            ToolArgumentError: they do not match the tool's schema.
        """
        given = dict(arguments)
        return _typed(self, given, mismatch_of(self.input_schema, given))

    def build(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Build the arguments from Python values; None and `ABSENT` are omitted where they mean absent.

        Args:
            values: the values, keyed by Python names.

        Raises:
            ToolArgumentError: they do not match the tool's schema.
        """
        given = _built(self, values)
        if (mismatch := mismatch_of(self.input_schema, given)) is not None:
            raise ToolArgumentError(self.name, *mismatch)
        return given

    def read(self, structured: Any) -> T:
        """Return structured content as the tool's output type, unwrapped if the server wraps it.

        Args:
            structured: the structured content of a result; None if it has none.

        Raises:
            ToolOutputError: it does not match the tool's schema.
        """
        structured = _boxed(self, structured)
        return _read(self, structured, mismatch_of(self.output_schema, structured))


def _built(tool: Tool[Any], values: Mapping[str, Any]) -> dict[str, Any]:
    model: type[ToolModel] = tool.input
    try:
        params = model(**values)
    except ValidationError as error:
        by_wire = {model.__pydantic_fields__[name].alias or name: value for name, value in values.items()}
        raise ToolArgumentError(tool.name, *first_fault(error, by_wire)) from None
    return params.model_dump(mode="json")


def _typed(tool: Tool[Any], given: dict[str, Any], mismatch: tuple[str, str] | None) -> dict[str, Any]:
    # Check and send what was given, since a model may read it as something else.
    if mismatch is not None:
        raise ToolArgumentError(tool.name, *mismatch)
    if tool.input is None:
        return given
    try:
        adapter_of(tool.input).validate_json(json.dumps(given))
    except ValidationError as error:
        raise ToolArgumentError(tool.name, *first_fault(error, given)) from None
    return given


def _boxed(tool: Tool[Any], structured: Any) -> Any:
    boxed: object = {"result": structured} if tool.bare else structured
    if tool.output is not None and not isinstance(boxed, dict):
        raise ToolOutputError(tool.name, "", "the tool declares structured content, but the result has none")
    return cast(Any, boxed)


def _read(tool: Tool[T], structured: Any, mismatch: tuple[str, str] | None) -> T:
    if tool.output is None:
        return cast(T, None)
    if mismatch is not None:
        raise ToolOutputError(tool.name, *mismatch)
    try:
        found = adapter_of(tool.output).validate_json(json.dumps(structured))
    except ValidationError as error:
        raise ToolOutputError(tool.name, *first_fault(error, structured)) from None
    return cast(T, getattr(found, tool.wrapped) if tool.wrapped else found)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult(Generic[T]):
    """The result of a tool.

    Attributes:
        data: its structured content, typed; None if the tool declares none.
        content: its content blocks, in the types of the revision in use.
        structured: its structured content as plain JSON values, or None.
    """

    data: T
    content: tuple[Any, ...]
    structured: Any = None

    @property
    def text(self) -> str:
        """The text of all text blocks, separated by newlines."""
        return text_of(self.content)


class ToolClient:
    """Base class of generated tool clients. When the server reports that its tools changed, they are compared again.

    Args:
        client: a client of the server, opened in any revision.
        allow: decides before each call whether a tool may be called: ``lambda tool: not tool.destructive``.
        on_drift: called when the tools no longer match the contract; by default the connection's error hooks.
    """

    __tools__: ClassVar[Mapping[str, Tool[Any]]] = {}
    """The tools of the contract, by name."""

    def __init__(
        self,
        client: ClientStub[Any],
        *,
        allow: Callable[[Tool[Any]], bool] | None = None,
        on_drift: Callable[[Drift], None] | None = None,
    ) -> None:
        self._client = client
        self._allow = allow
        self._on_drift = on_drift
        method = client.__binding__.methods[list_changed("tools")]
        stream = client.connection.notifications(cast(Any, method), limit=1)
        client.connection.spawn(self._watch(stream))

    async def call(
        self, name: str, arguments: Mapping[str, Any], *, options: CallOptions | None = None
    ) -> ToolResult[Any]:
        """Call a tool of the contract.

        Args:
            name: the name of the tool.
            arguments: the arguments, keyed by wire names.
            options: timeouts and progress of the call.

        Raises:
            UnknownTool: the contract has no such tool.
            ToolArgumentError: the arguments do not match its schema.
            ToolError: the tool ran and failed.
        """
        if (tool := self.__tools__.get(name)) is None:
            raise UnknownTool(type(self).__name__, name, self.__tools__)
        return await self._call_checked(tool, dict(arguments), options)

    async def check_drift(self) -> Drift:
        """Fetch the server's tools, and return how they differ from those of the contract."""
        unusable: set[str] = set()
        tools = list_tools(self._client, on_page=lambda _, left_out: unusable.update(one.name for one in left_out))
        listed = {str(tool["name"]): tool async for tool in tools}
        found = {name: _changes(self.__tools__[name], tool) for name, tool in listed.items() if name in self.__tools__}
        missing = {name for name, tool in self.__tools__.items() if name not in listed and not tool.gated}
        return Drift(
            added=tuple(sorted(listed.keys() - self.__tools__.keys())),
            removed=tuple(sorted(missing - unusable)),
            changed={name: members for name, members in sorted(found.items()) if members},
            unusable=tuple(sorted(unusable & self.__tools__.keys() - listed.keys())),
        )

    async def _call(self, tool: Tool[T], values: Mapping[str, Any], options: CallOptions | None) -> ToolResult[T]:
        given = _built(tool, values)
        if (mismatch := await find_mismatch_of(tool.input_schema, given)) is not None:
            raise ToolArgumentError(tool.name, *mismatch)
        return await self._send(tool, given, options)

    async def _call_with(self, tool: Tool[T], arguments: Any, options: CallOptions | None) -> ToolResult[T]:
        given = dict(arguments) if tool.input is None else adapter_of(tool.input).dump_python(arguments, mode="json")
        return await self._call_checked(tool, given, options)

    async def _call_checked(self, tool: Tool[T], given: dict[str, Any], options: CallOptions | None) -> ToolResult[T]:
        mismatch = await find_mismatch_of(tool.input_schema, given)
        return await self._send(tool, _typed(tool, given, mismatch), options)

    async def _send(self, tool: Tool[T], arguments: dict[str, Any], options: CallOptions | None) -> ToolResult[T]:
        if self._allow is not None and not self._allow(tool):
            raise ToolRefused(tool.name)
        client: Any = self._client
        if tool.task == "required":
            result = await self._run(tool, arguments, options)
        else:
            result = await client.call_tool(name=tool.name, arguments=arguments, options=options)
        content = tuple(result.content)
        structured = structured_of(result)
        if result.is_error:
            raise ToolError(tool.name, content, structured)
        try:
            boxed = _boxed(tool, structured)
            data = _read(tool, boxed, await find_mismatch_of(tool.output_schema, boxed))
        except ToolOutputError as error:
            error.content = content
            raise
        return ToolResult(data=data, content=content, structured=structured)

    async def _run(self, tool: Tool[Any], arguments: dict[str, Any], options: CallOptions | None) -> Any:
        """Call a tool as a task, and wait for its result."""
        from mcp_runtime.extensions.tasks import run_as_task  # Few tools ask for it.

        method: Any = self._client.__binding__.methods[TOOLS_CALL]
        params = method.params.build({"name": tool.name, "arguments": arguments})
        return await run_as_task(self._client, method, params, options=options)

    async def _watch(self, changes: AsyncIterator[Any]) -> None:
        reported = Drift()
        async for _ in changes:
            try:
                drift = await self.check_drift()
            except McpError as error:
                self._client.connection.report(error)
                continue
            if drift == reported:
                continue
            reported = drift
            if drift and self._on_drift is not None:
                self._on_drift(drift)
            elif drift:
                self._client.connection.report(ToolDrift(type(self).__name__, drift))


OnPage: TypeAlias = Callable[[Mapping[str, Any], Sequence[Unusable]], None]
"""Gets a page of a list whole, and what of it cannot be used."""


async def list_tools(client: ClientStub[Any], *, on_page: OnPage | None = None) -> AsyncIterator[dict[str, Any]]:
    """Iterate over all tools of the server of `client` as plain JSON: one invalid tool does not hide the others.

    Args:
        client: a client of the server.
        on_page: called with each page.

    Raises:
        EndlessList: the pages repeat themselves; the tools up to there were yielded.
        McpError: the list cannot be fetched or is too long; or the client is strict, and a tool is not valid.
    """
    async for tool in list_items(client, TOOLS_LIST, "tools", on_page=on_page):
        yield tool


async def list_items(
    client: ClientStub[Any], name: str, items: str, *, on_page: OnPage | None = None
) -> AsyncIterator[dict[str, Any]]:
    """Iterate over what a server lists in answer to `name`, page by page, as plain JSON; raises like `list_tools`.

    Args:
        client: a client of the server.
        name: the method.
        items: the property of its result that has the list.
        on_page: called with each page.
    """
    method: Any = client.__binding__.methods[name]
    required = client.connection.request_meta()
    given: dict[str, Any] = {"_meta": dict(required)} if required else {}
    seen: set[str] = set()
    count = empty = 0
    while True:
        found: Page = await client.connection.request(method, method.params.build(given), None)
        page = found.model_dump(mode="json")
        if on_page is not None:
            on_page(page, found.unusable)
        for item in page[items]:
            count += 1
            if count > MAX_TOOLS:
                raise McpError(f"{name}: more than {MAX_TOOLS} {items}")
            yield item
        empty = 0 if page[items] else empty + 1
        following = page.get("nextCursor")
        if following is None:
            return
        if following in seen or empty >= MAX_EMPTY:
            reason = "a cursor was repeated" if following in seen else f"{empty} pages in a row are empty"
            raise EndlessList(f"{name}: {reason}, so the list would never end")
        seen.add(following)
        given["cursor"] = following


def _changes(tool: Tool[Any], found: Mapping[str, Any]) -> tuple[str, ...]:
    known = {name: digest(found[name]) for name in CONTRACT if found.get(name) is not None}
    return tuple(name for name in CONTRACT if known.get(name) != tool.digests.get(name))
