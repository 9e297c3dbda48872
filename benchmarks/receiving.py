"""Our side of the receive cases: from bytes into `message_received` to typed params at the handler, or a typed result.

Each case holds one end of a conversation in the state in which its message may come. Before it is timed, `ready` opens
what the messages belong to: the requests that the results answer. What is timed is nothing but `message_received`, with
a message of an id of its own each time. Handlers are entered at once, without a task: tasks are left out on both sides,
and `session.py` measures them.
"""

import asyncio
from collections.abc import Awaitable, Coroutine, Generator, Mapping
from types import coroutine
from typing import Any

import messages

from mcp_bindings import v2025_11_25 as bindings
from mcp_runtime.caller import CallOptions
from mcp_runtime.connection.answers import Handler
from mcp_runtime.connection.conversation import Conversation
from mcp_runtime.connection.inbound import Received
from mcp_runtime.connection.transport import Channel, Receiver
from mcp_runtime.connection.work import Way, Work
from mcp_runtime.limits import Limits
from mcp_runtime.method import AnyMethod, RequestMethod
from mcp_runtime.protocol.jsonrpc import Request
from mcp_runtime.protocol.legacy import Side, State


class Eager(asyncio.SelectorEventLoop):
    """An event loop that enters a coroutine at once, and keeps it where it waits."""

    def __init__(self) -> None:
        super().__init__()
        self._waiting: list[Coroutine[Any, Any, Any]] = []

    def create_task(self, coro: Any, **options: object) -> Any:
        coro.send(None)
        self._waiting.append(coro)
        return coro

    def forget(self) -> None:
        """End what waits."""
        for waiting in self._waiting:
            waiting.close()
        self._waiting = []


class Silent:
    """A transport that drops what it is sent."""

    async def start(self, receiver: Receiver) -> None: ...
    def send(self, message: bytes) -> None: ...
    async def drain(self) -> None: ...
    def pause_reading(self) -> None: ...
    def resume_reading(self) -> None: ...
    async def close(self) -> None: ...


class Bare:
    """Hands typed params to a handler, and nothing else: contexts are left out on both sides."""

    is_watched = False

    def __init__(self) -> None:
        self._work: Work | None = None

    def open(self, method: AnyMethod, params: Any, received: Received) -> Work:
        if self._work is None:
            self._work = Work(method, params, way=Way.RECEIVED, requester=received.requester)
        self._work.params = params
        return self._work

    def run(self, work: Work, handler: Handler) -> Awaitable[Any]:
        return handler(work.params, None)


@coroutine
def _forever() -> Generator[None]:
    yield


async def _handle(params: Any, context: Any) -> None:
    """Take typed params, and never answer."""
    await _forever()


def _ignore(progress: float, total: float | None, message: str | None) -> None:
    """Take a report."""


class End:
    """One end of a conversation that has been agreed upon, as the handshake leaves it."""

    def __init__(self, side: Side) -> None:
        self.transport = Silent()
        self.conversation = Conversation(self.transport, side, Limits(timeout=None, max_in_flight=10**9), Bare())
        self.conversation.on_initialize = self._initialize
        self.link = self.conversation.link
        self.session = self.link.session
        self.link.bind(bindings.BINDING)
        declared = messages.INITIALIZE_PARAMS["capabilities"], messages.INITIALIZE_RESULT["capabilities"]
        own, peers = declared if side is Side.CLIENT else declared[::-1]
        self.link.requester = self.link.requester.declaring(own, peers)
        self.conversation.inbound.handle(bindings.METHODS["tools/call"], _handle)

    def _initialize(self, request: Request, channel: Channel) -> Mapping[str, Any]:
        params = bindings.METHODS[request.method].params
        assert params is not None
        self.link.requester.reader.read(params, request.params or {}, request.method)
        return {}


class Receive:
    """Messages of one kind, which arrive in a row."""

    def __init__(self, loop: Eager, end: End, name: str, text: bytes) -> None:
        document = messages.DOCUMENTS[name]
        self._loop = loop
        self._end = end
        self._session = end.session
        self._receive = end.conversation.message_received
        self._transport = end.transport
        self._method: str = document.get("method") or messages.RESULTS[name][0]
        self._is_result = "result" in document
        self._state = State.READY
        if self._method == "initialize":
            self._state = State.INITIALIZING if self._is_result else State.NEW
        # What differs from one message to the next: the id of a request or a result, the progress of a report.
        mark = b"%d" % (messages.ID if "id" in document else messages.PROGRESS)
        self._before, self._after = text.split(mark, 1)
        self._waiting: list[bytes] = []

    def ready(self, number: int) -> None:
        """Make so many messages, and open what they belong to."""
        session, conversation = self._session, self._end.conversation
        self._loop.forget()
        session.incoming.clear()
        conversation.link.main.unread = 0
        conversation.outbound.expect_progress(messages.TOKEN, _ignore)
        numbers = range(session.next_id, session.next_id + number)
        for _ in numbers if self._is_result else ():
            self._ask()
        # Taken from the end, since progress must grow.
        self._waiting = [b"%b%d%b" % (self._before, id_, self._after) for id_ in reversed(numbers)]

    def _ask(self) -> None:
        self._session.state = State.NEW if self._method == "initialize" else State.READY
        method = bindings.METHODS[self._method]
        assert isinstance(method, RequestMethod)
        asked = self._end.conversation.outbound.ask(method, None, method.result, CallOptions())
        asked.send(None)  # up to where it waits for the answer

    def __call__(self) -> None:
        self._session.state = self._state
        self._receive(self._waiting.pop(), self._transport)


def cases() -> dict[str, Receive]:
    """Return a case for each text, by the end that it comes to; run them one after the other."""
    loop, ends = Eager(), list[End]()
    loop.call_soon(lambda: ends.extend((End(Side.SERVER), End(Side.CLIENT))))
    loop.call_soon(loop.stop)
    loop.run_forever()
    return {
        case: Receive(loop, ends[name in messages.FROM_SERVER], name, text)
        for case, (name, text) in messages.TEXTS.items()
        if not case.startswith("decode:")
    }
