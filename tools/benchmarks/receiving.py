"""Our side of the receive cases: from bytes into `message_received` to typed params at the handler, or a typed result.

Each case has one end of a conversation in the state in which its message may arrive. Before it is timed, `ready` opens
what the messages belong to: the requests that the results answer. What is timed is nothing but `message_received`, with
a message that has its own id each time. Where the runtime would start a task for the handler, the case takes the params
and stops: tasks are left out on both sides, and `session.py` measures them.
"""

import asyncio
from collections.abc import Coroutine, Mapping
from contextlib import suppress
from typing import Any, NoReturn, cast

import messages

from mcp_bindings import v2025_11_25 as bindings
from mcp_runtime.core.connection.calls import Lasting
from mcp_runtime.core.connection.connection import Connection
from mcp_runtime.core.connection.transport import ANSWER_SENT, Channel, Receiver, Sent, Transport
from mcp_runtime.core.method import RequestMethod
from mcp_runtime.core.options import CallOptions, Limits
from mcp_runtime.core.protocol.dispatch import Side, State
from mcp_runtime.core.protocol.jsonrpc import Request


class Arrived(BaseException):
    """Typed params have reached the point where the runtime would start a task for the handler."""


class Silent(Transport):
    """A transport that drops what it is sent."""

    async def start(self, receiver: Receiver) -> None: ...
    def send(self, message: bytes, about: Sent = ANSWER_SENT) -> None: ...
    async def close(self) -> None: ...


class Stopped:
    """The running event loop, which starts no handler's task."""

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        self.time, self.create_future = loop.time, loop.create_future
        self.call_at, self.call_later, self.call_soon = loop.call_at, loop.call_later, loop.call_soon

    def create_task(self, work: Coroutine[Any, Any, Any], *, name: str) -> NoReturn:
        work.close()
        raise Arrived


async def _never(params: Any, context: Any) -> None:
    raise NotImplementedError


def _ignore(progress: float, total: float | None, message: str | None) -> None:
    """Take a report."""


class End:
    """One end of an established conversation, in the state after the handshake."""

    def __init__(self, side: Side) -> None:
        self.transport = Silent()
        self.connection = connection = Connection(self.transport, side, Limits(timeout=None))
        connection.bind(bindings.BINDING, None, lambda *_: None)
        declared = messages.INITIALIZE_PARAMS["capabilities"], messages.INITIALIZE_RESULT["capabilities"]
        connection.learn(*(declared if side is Side.CLIENT else declared[::-1]))
        connection.handle(bindings.METHODS["tools/call"], _never)
        connection.loop = cast("asyncio.AbstractEventLoop", Stopped())

    async def start(self) -> None:
        await self.connection.start(self._initialize)

    def _initialize(self, request: Request, channel: Channel) -> Mapping[str, Any]:
        params = bindings.METHODS[request.method].params
        assert params is not None
        self.connection.requester.reader.read(params, request.params or {}, request.method)
        return {}


class Receive:
    """Messages of one kind, which arrive in a row."""

    def __init__(self, end: End, name: str, text: bytes) -> None:
        document = messages.DOCUMENTS[name]
        self._end = end
        self._session = end.connection.session
        self._receive = end.connection.receiving.message_received
        self._transport = end.transport
        self._method: str = document.get("method") or messages.RESULTS[name][0]
        self._is_result = "result" in document
        self._state = State.READY
        if self._method == "initialize":
            self._state = State.INITIALIZING if self._is_result else State.NEW
        # The part that differs between messages: the id of a request or a result, the progress of a notification.
        mark = b"%d" % (messages.ID if "id" in document else messages.PROGRESS)
        self._before, self._after = text.split(mark, 1)
        self._waiting: list[bytes] = []

    def ready(self, number: int) -> None:
        """Create this many messages, and open the requests that they belong to."""
        session = self._session
        session.incoming.clear()
        self._end.connection.channels.main.unread_bytes = 0
        session.lasting[messages.TOKEN] = Lasting(_ignore)
        numbers = range(session.next_id, session.next_id + number)
        for _ in numbers if self._is_result else ():
            self._ask()
        # Taken from the end, since progress must grow.
        self._waiting = [b"%b%d%b" % (self._before, id_, self._after) for id_ in reversed(numbers)]

    def _ask(self) -> None:
        self._session.enter(State.NEW if self._method == "initialize" else State.READY)
        method = bindings.METHODS[self._method]
        assert isinstance(method, RequestMethod)
        asked = self._end.connection.outbound.ask(method, None, method.result, CallOptions())
        asked.send(None)  # up to where it waits for the answer

    def __call__(self) -> None:
        self._session.enter(self._state)
        if self._is_result:
            self._receive(self._waiting.pop(), self._transport)
        else:
            with suppress(Arrived):
                self._receive(self._waiting.pop(), self._transport)


async def _ends() -> tuple[End, End]:
    ends = End(Side.SERVER), End(Side.CLIENT)
    for end in ends:
        await end.start()
    return ends


def cases() -> dict[str, Receive]:
    """Return a case for each text, by the end that it comes to; run them one after the other."""
    ends = asyncio.new_event_loop().run_until_complete(_ends())
    return {
        case: Receive(ends[name in messages.FROM_SERVER], name, text)
        for case, (name, text) in messages.TEXTS.items()
        if not case.startswith("decode:")
    }
