"""What both halves of a connection use: the session, the channels, what is known of the peer, and its end."""

import asyncio
import logging
from abc import abstractmethod
from collections.abc import Callable, Coroutine, Generator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, ClassVar, Final, NamedTuple, Self, TypeAlias, TypeVar, cast

from mcp_runtime.core.binding import Binding, Wire
from mcp_runtime.core.connection.background import Background, unblocked
from mcp_runtime.core.connection.calls import CURRENT, Call, Reply, Way
from mcp_runtime.core.connection.channels import Channels
from mcp_runtime.core.connection.requester import Answers, Handler, Requester
from mcp_runtime.core.connection.timers import Journal, log
from mcp_runtime.core.connection.transport import Transport
from mcp_runtime.core.errors import ConnectionClosed, McpError, ProtocolViolation, RemoteProtocolError, clipped
from mcp_runtime.core.functions import scoped
from mcp_runtime.core.method import AnyMethod, NotificationMethod, RequestMethod
from mcp_runtime.core.options import Caller, CallOptions, Limits, Tracing
from mcp_runtime.core.protocol.dispatch import Side
from mcp_runtime.core.protocol.session import Session
from mcp_runtime.core.protocol.validation import Reader

P = TypeVar("P")
R = TypeVar("R")
T = TypeVar("T")
ErrorHook: TypeAlias = Callable[[McpError], None]


class End(NamedTuple):
    """How far a connection is from its end.

    Attributes:
        reason: why it ends; empty while it is open.
        is_closed: whether it has ended; otherwise it ends once the peer's requests are answered, if there is a reason.
    """

    reason: str = ""
    is_closed: bool = False


OPEN: Final = End()


class BaseConnection(Caller):
    """A connection as its halves see it; see `Connection`.

    Attributes:
        transport: carries the messages.
        side: which end of the conversation this is.
        limits: how it behaves.
        loop: the event loop.
        background: runs tasks that belong to no message.
        session: the open requests, and the state of the conversation.
        requester: what is known of the peer.
        channels: where messages are sent.
        end: how far it is from its end.
    """

    call_type: ClassVar[type[Call]]
    """What handlers see of a received message; created from the connection and the reply."""

    def __init__(self, transport: Transport, side: Side, limits: Limits) -> None:
        self.transport = transport
        self.side = side
        self.limits = limits
        self.loop = asyncio.get_running_loop()
        self.background = Background(self.loop, self.settle)
        self.session = Session(side, partial(Reply, self))
        self.requester = Requester(side=side, reader=self.reader("MCP"), answers=Answers())
        self.end = OPEN
        transport.connection, transport.calls = self, {}
        self._error_hooks: list[ErrorHook] = []
        hook = limits.trace  # a separate one for each connection if it distinguishes them
        self._trace = hook.conversation() if isinstance(hook, Tracing) else hook
        traced = None if self._trace is None else partial(self.trace, Way.SENT)
        self.channels = Channels(transport, self.session, self.background, traced)
        self._journal: Journal | None = None  # created for the first line, since most peers give no reason for one

    @abstractmethod
    def settle(self) -> None:
        """End, or report that everything has ended, if nothing is left to wait for."""

    @abstractmethod
    def finish(self, reason: str) -> None:
        """End the conversation now: fail open requests, cancel running tasks, call the hooks.

        Args:
            reason: the reason that they get.
        """

    @property
    def connection(self) -> Self:
        """The connection itself."""
        return self

    @property
    def revision(self) -> str:
        """The revision in use; empty until it is agreed on."""
        return self.session.revision

    @property
    def closed_because(self) -> str | None:
        """Why the connection ended; None while it is open."""
        return self.end.reason if self.end.is_closed else None

    def reader(self, revision: str) -> Reader:
        """Return a reader for messages of a revision, as strict as the limits say.

        Args:
            revision: the revision.
        """
        limits = self.limits
        return Reader(revision, lenient=not limits.strict, report=self.report, drops=limits.unknown_content == "drop")

    def requester_for(self, exchange: Call | None = None) -> Requester:
        """Return the recipient of what belongs to a message.

        Args:
            exchange: the message; by default the one being handled.
        """
        exchange = exchange or CURRENT.get()
        if exchange is None or exchange.channel.connection is not self or not exchange.requester.is_modern:
            return self.requester
        return exchange.requester

    def _close(self, reason: str) -> None:
        """Handle that no request is open any more."""
        if self._journal is not None and (text := self._journal.left_out()):
            self._pass_to_hooks(McpError(text))
        self.end = End(reason, is_closed=True)
        self.session.close()
        self.channels.close(reason)

    def trace(self, way: Way, message: bytes) -> None:
        """Pass a message to the trace hook; its exceptions are logged.

        Args:
            way: its direction.
            message: the message.
        """
        if self._trace is not None:
            try:
                self._trace(way.value, message)
            except Exception as error:
                self.log_limited(logging.ERROR, "the trace hook failed", exc_info=error)

    def log_limited(self, level: int, text: str, *args: object, exc_info: BaseException | None = None) -> None:
        """Write a line to the log, unless there were too many about this connection.

        Args:
            level: a level of Python's `logging`.
            text: the text, with ``%`` placeholders.
            args: the values of the placeholders.
            exc_info: an exception to log with its traceback.
        """
        if log.isEnabledFor(level) and self._may_log():
            log.log(level, text, *args, exc_info=exc_info, stacklevel=2)

    def report(self, error: McpError) -> None:
        """Pass an error that does not end the conversation to the hooks, or to the log if there are none.

        Args:
            error: the error.
        """
        if (self._error_hooks or log.isEnabledFor(logging.WARNING)) and self._may_log():
            self._pass_to_hooks(error)

    def _may_log(self) -> bool:
        if self._journal is None:
            self._journal = Journal(self.loop.time, self.transport.log_limit)
        if not self._journal.admits():
            return False
        for text in self._journal.all_left_out():
            self._pass_to_hooks(McpError(text))
        return True

    def _pass_to_hooks(self, error: McpError) -> None:
        if not self._error_hooks:
            where = f" (see {error.link})" if isinstance(error, ProtocolViolation) else ""
            log.warning("%s%s", clipped(str(error)), where, extra={"error": error})
        for hook in tuple(self._error_hooks):
            try:
                hook(error)
            except Exception as failure:
                log.error("an on_error hook failed", exc_info=failure)

    def violation(self, reason: str, method: str | None = None) -> RemoteProtocolError:
        """Return the error for a violation by the peer, with text that is safe to show.

        Args:
            reason: what is wrong.
            method: the method of the message; None if unknown.
        """
        shown = clipped(method, 100) if method else None
        return RemoteProtocolError(revision=self.revision or "MCP", method=shown, pointer="", reason=clipped(reason))

    @property
    def binding(self) -> Binding | None:
        """The generated revision that this side is written against; None until it is agreed on."""
        return self.requester.binding

    @property
    def declared(self) -> Mapping[Side, Mapping[str, Any]]:
        """The capabilities of both sides, keyed by wire names."""
        return self.requester.declared

    @property
    def peer_info(self) -> Mapping[str, Any]:
        """The peer's name and version, keyed by wire names (``name``, ``version``, ...); empty until received."""
        return self.requester.info

    @property
    def instructions(self) -> str | None:
        """The server's instructions for use; None if it has none."""
        return self.requester.instructions

    def request_meta(self) -> Mapping[str, Any]:
        """Return the `_meta` that every request must carry: none in the legacy era."""
        return self.requester.meta

    def bind(self, binding: Binding, stub: Any, context: Callable[..., Any], wire: Wire | None = None) -> None:
        """Use a revision, or another one over a bridge.

        Args:
            binding: the revision that this side is written against; handlers of any other are removed.
            stub: the peer, as handlers see it.
            context: builds the second argument of handlers from the stub, the id of a request, and its `Exchange`.
            wire: the bridge to the revision in use, or None.
        """
        if self.binding is not None and self.binding is not binding:
            for name in self.binding.methods:
                self.requester.answers.handlers.pop(name, None)
        spoken = wire.binding if wire else binding
        self.session.speak(spoken.revision, batches=spoken.has_batches, errors_without_id=spoken.has_errors_without_id)
        if spoken.era == "modern" or self.requester.is_modern:
            self.session.restart(has_handshake=spoken.era != "modern")
        self.requester = self.requester.speaking(binding, wire, self.reader(spoken.revision))
        answers = self.requester.answers
        answers.stub, answers.context = stub, context

    @property
    def stub(self) -> Any:
        """The peer as a generated stub.

        Raises:
            ConnectionClosed: the conversation has not begun.
        """
        stub = self.requester.answers.stub
        if stub is None:
            raise ConnectionClosed(self.closed_because or "the conversation has not begun")
        return stub

    def handle(self, method: AnyMethod, handler: Callable[[Any, Any], Any]) -> None:
        """Register the handler of a method; it replaces an earlier one.

        Args:
            method: a record of the `methods` module of the revision's package.
            handler: receives the typed params and a context; see `mcp_runtime.requires_scopes`.
        """
        self.requester.answers.handlers[method.name] = (method, scoped(unblocked(handler)))

    def handler(self, name: str) -> Handler | None:
        """Return the handler of a method, or None.

        Args:
            name: the name of the method.
        """
        found = self.requester.answers.handlers.get(name)
        return found[1] if found else None

    def spawn(self, work: Coroutine[Any, Any, Any]) -> "asyncio.Task[Any]":
        """Run a coroutine as a task that is cancelled when the connection ends.

        Args:
            work: the coroutine.
        """
        return self.background.spawn(work)

    def learn(self, own: Mapping[str, Any], peers: Mapping[str, Any], **known: Any) -> None:
        """Set the declared capabilities of both sides, and what else is known of the peer.

        Args:
            own: the capabilities of this side, keyed by wire names.
            peers: the capabilities of the peer.
            known: fields of its `Requester`.
        """
        self.requester = self.requester.declaring(own, peers, **known)

    def set_log_level(self, level: str) -> None:
        """Send only log messages of at least this level.

        Args:
            level: the RFC 5424 name of the level.
        """
        self.requester = self.requester._replace(log_level=level)

    @contextmanager
    def set_up_for(self, requester: Requester) -> Generator[None]:
        """Set up handlers and features for a requester other than that of the handshake, within this context.

        Args:
            requester: the requester.
        """
        kept, self.requester = self.requester, requester
        try:
            yield
        finally:
            self.requester = kept

    def on_error(self, hook: ErrorHook) -> None:
        """Register a hook for errors that do not end the conversation: violations, and values that were repaired.

        Args:
            hook: called with each error.
        """
        self._error_hooks.append(hook)


class OnBehalf(Caller):
    """Sends what belongs to a message, on its channel while it is open.

    A task that a handler starts inherits its context and needs none of this. A worker that reads a queue has the
    context in which it was started.

    Args:
        caller: sends the messages.
        exchange: the message; a suspended handler may continue over another connection than `caller`, that of this one.
    """

    def __init__(self, caller: Caller, exchange: Call) -> None:
        self._first = caller
        self._exchange = exchange

    @property
    def _caller(self) -> Caller:
        return self._first if self._exchange.resumed is None else cast("Caller", self._exchange.connection)

    @property
    def connection(self) -> Any:
        """The connection to the peer, if the caller has one."""
        return self._caller.connection

    @property
    def recipient(self) -> Any:
        """The sender of the message, in the modern era; otherwise the handshake identified it."""
        return self._exchange.requester if self._exchange.requester.is_modern else super().recipient

    async def request(self, method: RequestMethod[P, R], params: P | None, options: CallOptions | None) -> R:
        """Send a request that belongs to the message."""
        with self._as_current():
            return await self._caller.request(method, params, options)

    async def request_as(
        self, method: RequestMethod[P, Any], params: P | None, result: type[T], options: CallOptions | None
    ) -> T:
        """Send a request that belongs to the message, for a result of another type."""
        with self._as_current():
            return await self._caller.request_as(method, params, result, options)

    async def notify(self, method: NotificationMethod[P], params: P | None) -> None:
        """Send a notification that belongs to the message."""
        with self._as_current():
            await self._caller.notify(method, params)

    def request_meta(self) -> Mapping[str, Any]:
        """Return what every request must carry."""
        return self._caller.request_meta()

    @contextmanager
    def _as_current(self) -> Generator[None]:
        token = CURRENT.set(self._exchange)
        try:
            yield
        finally:
            CURRENT.reset(token)
