"""Requests of the modern era at a client: each is a separate POST without a session (2026-07-28).

The answer is one JSON object, or a stream of events that ends with the answer. A stream that is cut is lost, since
nothing is resumed; closing it cancels the request.
"""

import asyncio
import itertools
from collections import OrderedDict
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing, suppress
from typing import Any, Final, NamedTuple, cast

from mcp_runtime.core.connection.timers import log
from mcp_runtime.core.connection.transport import TransportError
from mcp_runtime.core.errors import clipped
from mcp_runtime.core.json.values import is_array, is_object
from mcp_runtime.core.protocol import names
from mcp_runtime.core.protocol.jsonrpc import dump, parse, write_request
from mcp_runtime.core.protocol.names import TOOLS_CALL, TOOLS_LIST
from mcp_runtime.core.transports.http import mirrored
from mcp_runtime.core.transports.http.client.endpoint import EVENTS, Endpoint, Refused, read_rest, type_of
from mcp_runtime.core.transports.http.client.posting import object_in

MAX_INTEGER: Final = (1 << 53) - 1
"""The largest integer that every program reads exactly."""
MAX_TOOLS: Final = 10_000
"""How many tools with arguments in headers are remembered."""
MAX_PAGES: Final = 1_000
"""How many pages of a list of tools are searched for one of them."""
MAX_WARNINGS: Final = 20
"""How many invalid tools of one page are named in the log."""


_HIDING: Final = (mirrored.ANNOTATION.encode(), b"\\u")
"""What a text with the annotation contains; names may be written with escapes."""


class Standalone(NamedTuple):
    """A request of the modern era.

    Attributes:
        message: the request as it is sent.
        id: its id.
        method: its method.
        params: its params, as an object.
        meta: what each request carries, of which the revision is one.
        repeated: the property of the params that an extension repeats in the header ``Mcp-Name``; empty if none.
    """

    message: bytes
    id: int | str
    method: str
    params: Any
    meta: Mapping[str, Any]
    repeated: str = ""

    @property
    def named(self) -> str | None:
        """What the request names, such as a tool, a prompt or a resource; None if nothing."""
        if (field := mirrored.NAMED.get(self.method)) is not None:
            return cast(str, getattr(self.params, field))
        named = parse(self.message)["params"].get(self.repeated) if self.repeated else None
        return named if isinstance(named, str) else None


class StandaloneRequests:
    """Sends requests of the modern era to one endpoint.

    Args:
        endpoint: where they are sent.
        deliver: delivers a message; returns whether it was an answer.
    """

    def __init__(self, endpoint: Endpoint, deliver: Callable[[bytes], Awaitable[bool]]) -> None:
        self._endpoint = endpoint
        self._deliver = deliver
        self._tools: OrderedDict[str, tuple[mirrored.Parameter, ...]] = OrderedDict()
        self._refreshing = asyncio.Lock()
        self._numbers = itertools.count(1)

    async def exchange(self, request: Standalone) -> None:
        """Send a request, and deliver its answer and what precedes it.

        Raises:
            Refused: the server refused it without a JSON-RPC error.
            TransportError: there was no answer.
        """
        headers = self._headers(request)
        refused = await self._attempt(request, headers, is_last=request.method != TOOLS_CALL)
        if refused is None:
            return
        with suppress(TransportError):
            await self._refresh(request, headers)
        if (again := self._headers(request)) == headers:
            await self._deliver(refused)
        else:
            await self._attempt(request, again, is_last=True)

    async def _attempt(self, request: Standalone, headers: Mapping[str, str], *, is_last: bool) -> bytes | None:
        """Send a request, and deliver messages; return an answer about wrong headers, unless `is_last`."""
        async with aclosing(self._messages(request, headers)) as messages:
            async for text in messages:
                if not is_last and _is_mismatch(text):
                    return text
                is_list = request.method == TOOLS_LIST
                if await self._deliver(self._valid_tools(text) if is_list else text):
                    await read_rest(messages)
                    return None
        raise Refused(f"{self._endpoint.shown} did not answer {request.method}")

    async def _messages(self, request: Standalone, headers: Mapping[str, str]) -> AsyncGenerator[bytes]:
        """Iterate over the messages that answer a request."""
        try:
            async with self._endpoint.request("POST", request.message, mirrored=headers, may_ask=True) as response:
                if type_of(response) != EVENTS:
                    yield await self._endpoint.body(response)
                    return
                async for event in self._endpoint.events(response):
                    if event.data.strip():
                        yield event.data.encode()
        except Refused as refused:
            if (error := _error_in(refused, request.id)) is None:
                raise
            yield error

    def _headers(self, request: Standalone) -> dict[str, str]:
        method = request.method
        headers = {mirrored.VERSION: str(request.meta[names.VERSION]), mirrored.METHOD: method}
        if (named := request.named) is not None:
            headers[mirrored.NAME] = mirrored.encode(named)
        if method == TOOLS_CALL and named is not None and (parameters := self._tools.get(named)):
            # As they were written: an argument may be any object that has a JSON form.
            arguments = parse(request.message)["params"].get("arguments")
            for parameter in parameters:
                value = parameter.value_in(arguments)
                if isinstance(value, int | float) and abs(value) > MAX_INTEGER:
                    where = "/".join(parameter.path)
                    reason = f"an integer in a header must be from -{MAX_INTEGER:,} to {MAX_INTEGER:,}"
                    raise TransportError(f"{where}: {reason}")
                if (text := parameter.text_of(value)) is not None:
                    headers[parameter.header] = mirrored.encode(text)
        return headers

    def _valid_tools(self, text: bytes) -> bytes:
        """Learn from a list of tools which arguments become headers; return it without invalid tools."""
        if not self._tools and not any(mark in text for mark in _HIDING):
            return text
        value = object_in(text)
        result: Any = value.get("result")
        listed: Any = result.get("tools") if is_object(result) else None
        if not is_array(listed):
            return text
        problems = [self._learn(tool) for tool in listed]
        if not any(problems):
            return text
        found = [(tool, problem) for tool, problem in zip(listed, problems, strict=True) if problem]
        for tool, problem in found[:MAX_WARNINGS]:
            name = clipped(str(tool.get("name")), 100)
            log.warning("the tool %s is left out because it is not valid: %s", name, problem)
        if len(found) > MAX_WARNINGS:
            log.warning("%d more tools are left out because they are not valid", len(found) - MAX_WARNINGS)
        result["tools"] = [tool for tool, problem in zip(listed, problems, strict=True) if not problem]
        return dump(value)

    def _learn(self, tool: Any) -> str:
        """Remember which arguments of a tool become headers; return why it is invalid, empty if it is not."""
        name = tool.get("name") if is_object(tool) else None
        if not isinstance(name, str):
            return ""
        self._tools.pop(name, None)
        try:
            parameters = mirrored.parameters(tool.get("inputSchema"))
        except ValueError as error:
            return clipped(str(error))
        if parameters:
            self._tools[name] = parameters
            if len(self._tools) > MAX_TOOLS:
                self._tools.popitem(last=False)
        return ""

    async def _refresh(self, request: Standalone, used: Mapping[str, str]) -> None:
        """List the tools until the one whose headers were wrong is found, unless another request has just done that."""
        async with self._refreshing:
            if self._headers(request) != used:
                return
            params: dict[str, Any] = {"_meta": dict(request.meta)}
            for _ in range(MAX_PAGES):
                result = await self._list(params)
                listed, cursor = result.get("tools"), result.get("nextCursor")
                names = [tool.get("name") for tool in listed if is_object(tool)] if is_array(listed) else []
                if request.named in names or not isinstance(cursor, str) or cursor == params.get("cursor"):
                    return
                params["cursor"] = cursor

    async def _list(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return one page of the list of tools; empty if it is refused."""
        id_ = f"tools-{next(self._numbers)}"
        asked = Standalone(write_request(id_, TOOLS_LIST, dump(params)), id_, TOOLS_LIST, None, params["_meta"])
        async with aclosing(self._messages(asked, self._headers(asked))) as messages:
            async for text in messages:
                value = object_in(self._valid_tools(text))
                if value.get("id") == id_:
                    result: Any = value.get("result")
                    return result if is_object(result) else {}
        return {}


def _is_mismatch(text: bytes) -> bool:
    """Whether a message is the error that headers do not match the body."""
    if str(names.HEADER_MISMATCH).encode() not in text:
        return False
    error: Any = object_in(text).get("error")
    return is_object(error) and error.get("code") == names.HEADER_MISMATCH


def _error_in(refused: Refused, id_: int | str) -> bytes | None:
    """Return the JSON-RPC error with which a request was refused, or None.

    Whatever id the error has, it belongs to the one request that this answers. If a proxy may have refused it, or a
    server that requires authorization, the error must have the right id.
    """
    value = object_in(refused.body)
    if not is_object(value.get("error")) or (value.get("id") != id_ and refused.may_be_of_either_era):
        return None
    return refused.body if value.get("id") == id_ else dump({**value, "id": id_})
