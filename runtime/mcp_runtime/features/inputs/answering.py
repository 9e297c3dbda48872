"""The client's side of input during a request: its handlers answer, and the request is sent again."""

import asyncio
import json
from dataclasses import dataclass
from functools import partial
from typing import Any

from pydantic import BaseModel
from pydantic_core import to_json

from mcp_runtime.connection.connection import Connection
from mcp_runtime.connection.results import Interrupted, write_result
from mcp_runtime.errors import RemoteProtocolError, clipped
from mcp_runtime.method import AnyMethod, RequestMethod


@dataclass(frozen=True, slots=True)
class InputAnswers:
    """Answers what a modern-era server asks in its results, using the client's handlers.

    Attributes:
        rounds: how often a server may ask for input before it answers a call.
    """

    rounds: int

    def install(self, connection: Connection) -> None:
        """Continue after results that ask for input."""
        assert connection.requester.spoken is not None
        for method in connection.requester.spoken.methods.values():
            if isinstance(method, RequestMethod) and method.multi_round_trip:
                for value, type_ in method.results.items():
                    if type_ is not method.result:
                        connection.results.accept(method, value, type_, partial(self._answer, connection))

    async def _answer(self, connection: Connection, asked: Any, call: Interrupted[Any, Any]) -> Any:
        """Answer what a result asks, and send the call again with the answers."""
        if call.rounds >= self.rounds:
            raise _broken(connection, call.method, "", f"the server asked for input {call.rounds + 1} times")
        requests: dict[str, Any] = asked.input_requests or {}
        if not requests and asked.request_state is None:
            raise _broken(connection, call.method, "", "the result has neither inputRequests nor requestState")
        answers = await _all(connection, call.method, requests)
        assert call.params is not None
        result = await call.again(_retried(call.params, answers, asked.request_state))
        # A result that depends on input must not be cached, whatever the server says (server/utilities/caching).
        return result.model_copy(update={"ttl_ms": 0}) if call.method.cacheable else result


async def _all(connection: Connection, method: AnyMethod, requests: dict[str, Any]) -> dict[str, Any]:
    """Return the answers to questions, which are answered concurrently.

    Raises:
        RemoteProtocolError: a question needs something that this client did not declare.
        Exception: whatever a handler raises; the others are cancelled.
    """
    for key, request in requests.items():
        _check_declared(connection, method, key, request)
    try:
        async with asyncio.TaskGroup() as group:
            tasks = {key: group.create_task(_one(connection, request)) for key, request in requests.items()}
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None
    return {key: task.result() for key, task in tasks.items()}


async def _one(connection: Connection, request: Any) -> Any:
    assert connection.binding is not None
    method = connection.binding.methods[request.method]
    assert isinstance(method, RequestMethod)
    requester, params = connection.requester, request.params
    wire = requester.wire
    if wire is not None and params is not None and method.params is not None:
        said = params.model_dump(mode="json")
        given = wire.incoming(method, "params", said, to_json(said), requester.reader)
        params = requester.reader.read(method.params, given, method.name)
    answer = write_result(method, await connection.ask_self(method, params))
    return json.loads(answer if wire is None else wire.outgoing(method, "result", answer))


def _retried(params: Any, answers: dict[str, Any], state: str | None) -> Any:
    """Return the params of a call with answers and state; a legacy-era client has no fields for them."""
    more: dict[str, Any] = {"inputResponses": answers or None, "requestState": state}
    model: type[BaseModel] = params.__class__
    fields = {field.alias or name: name for name, field in model.model_fields.items()}
    known = {fields[wire]: value for wire, value in more.items() if wire in fields}
    unknown = {wire: value for wire, value in more.items() if wire not in fields and value is not None}
    return params.model_copy(update={**known, **unknown})


def _check_declared(connection: Connection, method: AnyMethod, key: str, request: Any) -> None:
    spoken = connection.requester.spoken
    asked = spoken.methods.get(request.method) if spoken else None
    pointer = f"/inputRequests/{clipped(key, 64)}"
    if asked is None or connection.handler(asked.name) is None:
        raise _broken(connection, method, pointer, f"{request.method} is not supported by this client")
    given: dict[str, Any] = request.params.model_dump(mode="json") if request.params is not None else {}
    paths = [asked.capability, *(path for name, path in asked.gated.items() if given.get(name) is not None)]
    for path in filter(None, paths):
        if not connection.requester.is_open(path, connection.side.other):
            raise _broken(connection, method, pointer, f"{request.method} needs {path}, which was not declared")


def _broken(connection: Connection, method: AnyMethod, pointer: str, reason: str) -> RemoteProtocolError:
    return RemoteProtocolError(revision=connection.revision, method=method.name, pointer=pointer, reason=reason)
