"""Questions that a handler asks in the middle of a request, on both sides (2026-07-28, basic/patterns/mrtr).

A legacy-era server asks with a request of its own, which `connection.outbound` sends. It fails when the client closes
its end; when the session ends, the handler that asks is cancelled too. A modern-era server sends no requests. There, it
asks in the result of the request being handled (`input_required`), each question under a key. The client answers it
with its own handlers, and sends the request again with the answers and the state that came with the questions
(`InputAnswers`).

How the handler continues is the server's choice (`ServerOptions.inputs`):

- `Suspended`, the default: it waits in this process, without an open request, until another one resumes it; see
  `suspended`. It is cancelled when nobody comes in time, when others need the room, and when its connection ends, but
  not with one connection if any may resume it.
- An `mcp_runtime.InputState`: nothing waits. The state has the earlier answers, sealed, and the handler runs again
  from the start.

Either way, what continues has the rights of the request that continues it.
"""

import asyncio
import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from typing import Any, Final

from pydantic import BaseModel
from pydantic_core import to_json

from mcp_runtime.core.connection.background import bounded
from mcp_runtime.core.connection.connection import Connection
from mcp_runtime.core.connection.requester import Requester
from mcp_runtime.core.connection.results import Interrupted, Repeat, write_result
from mcp_runtime.core.errors import ConnectionClosed, PeerError, RemoteProtocolError, clipped
from mcp_runtime.core.json.values import is_object
from mcp_runtime.core.method import AnyMethod, AnyRequest, RequestMethod, WireType, request_of
from mcp_runtime.core.protocol.jsonrpc import INVALID_PARAMS

FIRST_PAUSE: Final = 0.05
MAX_PAUSE: Final = 5.0
"""Seconds between the requests of a call whose results ask nothing: none at first, then these, doubled each time."""
_MAX_DOUBLINGS: Final = 16
_NOT_OF_THE_CALL: Final = frozenset(("_meta", "inputResponses", "requestState"))


class Question:
    """One question, until it is answered.

    Attributes:
        method: the method of the question.
        type: the type of the answer.
        request: the question as JSON.
        digest: identifies the question by its content: hexadecimal digits.
        answered: receives the answer.
    """

    def __init__(
        self, method: AnyRequest, type_: WireType[Any], params: bytes | None, answered: "asyncio.Future[Any]"
    ) -> None:
        self.method = method
        self.type = type_
        self.request = b'{"method":%b%b}' % (to_json(method.name), b"" if params is None else b',"params":%b' % params)
        self.digest = blake2b(self.request, digest_size=8).hexdigest()
        self.answered = answered


def input_required(questions: Mapping[str, Question], state: str, stamp: bytes) -> bytes:
    """Return the result that asks the questions, as JSON.

    Args:
        questions: the questions, by their keys.
        state: what the client sends back with its answers.
        stamp: the beginning of every result.
    """
    asked = b",".join(b"%b:%b" % (to_json(key), question.request) for key, question in questions.items())
    head = stamp or b"{"
    return b'%b"resultType":"input_required","inputRequests":{%b},"requestState":%b}' % (head, asked, to_json(state))


def read_answers(
    questions: Mapping[str, tuple[AnyRequest, WireType[Any]]], params: Mapping[str, Any], requester: Requester
) -> dict[str, Any]:
    """Return the answers in params, each of the type of its question; answers to other questions are ignored.

    Args:
        questions: the method of each question and the type of its answer, by its key.
        params: the params of the request, by wire names.
        requester: the sender.

    Raises:
        PeerError: an answer is not valid.
    """
    given: Any = params.get("inputResponses")
    found: dict[str, Any] = {}
    for key, (method, type_) in questions.items():
        if not is_object(given) or key not in given:
            continue
        try:
            if not is_object(given[key]):
                raise PeerError(INVALID_PARAMS, "an answer must be an object", {"pointer": f"/inputResponses/{key}"})
            answer, wire = given[key], requester.wire
            if wire is not None:
                answer = wire.incoming(method, "result", answer, to_json(answer), requester.reader)
            found[key] = requester.reader.read(type_, answer, method.name)
        except RemoteProtocolError as error:
            pointer = f"/inputResponses/{key}{error.pointer}"
            raise PeerError(INVALID_PARAMS, f"{pointer}: {error.reason}", {"pointer": pointer}) from error
    return found


def digest_of(params: Mapping[str, Any]) -> bytes:
    """Return what identifies the params of a call; a retry has the same as the request before it."""
    call = {name: value for name, value in params.items() if name not in _NOT_OF_THE_CALL}
    return blake2b(json.dumps(call, sort_keys=True).encode("utf-8", "surrogatepass"), digest_size=16).digest()


def unknown_state() -> PeerError:
    """Return the error for an invalid state; it gives no reason, since only an attacker could use it."""
    reason = "no request waits for this requestState: it expired, was used, or belongs to another request; start again"
    return PeerError(INVALID_PARAMS, reason, {"pointer": "/requestState"})


@dataclass(frozen=True, slots=True)
class InputAnswers:
    """Answers what a modern-era server asks in its results, using the client's handlers.

    Attributes:
        rounds: how often a server may ask questions before it answers a call.
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
        requests: dict[str, Any] = asked.input_requests or {}
        assert call.params is not None
        if not requests:
            if asked.request_state is None:
                raise _broken(connection, call.method, "", "the result has neither inputRequests nor requestState")
            seconds = pause_before(call.repeats)
            return Repeat(_retried(call.params, {}, asked.request_state), partial(_pause, connection, seconds))
        if call.rounds >= self.rounds:
            raise _broken(connection, call.method, "", f"the server asked for input {call.rounds + 1} times")
        answers = await answer_all(connection, call.method, requests)
        return await call.again(_retried(call.params, answers, asked.request_state))


def pause_before(repeats: int) -> float:
    """Return the seconds to wait before a call is sent again because of a result without questions.

    Args:
        repeats: how many such results came immediately before.
    """
    return min(FIRST_PAUSE * 2 ** min(repeats - 1, _MAX_DOUBLINGS), MAX_PAUSE) if repeats else 0.0


async def _pause(connection: Connection, seconds: float) -> None:
    """Wait, but not longer than the connection lasts."""
    with suppress(TimeoutError):
        await bounded(connection.wait_closed(), seconds)


async def answer_all(connection: Connection, method: AnyMethod, requests: dict[str, Any]) -> dict[str, Any]:
    """Return the answers to questions, which are answered concurrently.

    Raises:
        RemoteProtocolError: a question needs something that this client did not declare.
        ConnectionClosed: the connection ended, so nobody waits for the answers.
        Exception: whatever a handler raises; the others are cancelled.
    """
    for key, request in requests.items():
        _check_declared(connection, method, key, request)
    try:
        async with asyncio.TaskGroup() as group:
            end = group.create_task(_fail_at_the_end(connection))
            tasks = {key: group.create_task(_one(connection, request)) for key, request in requests.items()}
            await asyncio.gather(*tasks.values())
            end.cancel()
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None
    return {key: task.result() for key, task in tasks.items()}


async def _fail_at_the_end(connection: Connection) -> None:
    raise ConnectionClosed(await connection.wait_closed())


async def _one(connection: Connection, request: Any) -> Any:
    assert connection.binding is not None
    method = request_of(connection.binding.methods, request.method)
    requester, params = connection.requester, request.params
    wire = requester.wire
    if wire is not None and params is not None and method.params is not None:
        dumped = params.model_dump(mode="json")
        given = wire.incoming(method, "params", dumped, to_json(dumped), requester.reader)
        params = requester.reader.read(method.params, given, method.name)
    answer = write_result(method, await connection.ask_self(method, params))
    return json.loads(answer if wire is None else wire.outgoing(method, "result", answer))


def _retried(params: Any, answers: dict[str, Any], state: str | None) -> Any:
    """Return the params of a call with answers and state; a legacy-era client has no fields for them."""
    more: dict[str, Any] = {"inputResponses": answers or None, "requestState": state}
    model: type[BaseModel] = params.__class__
    fields = {field.alias or name: name for name, field in model.__pydantic_fields__.items()}
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
