"""A handler of Python's `logging` that sends records to clients (server/utilities/logging)."""

import asyncio
import logging
import threading
import traceback
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from contextvars import ContextVar
from typing import Any, Final

from pydantic_core import to_jsonable_python

from mcp_runtime.core.connection.calls import CURRENT
from mcp_runtime.core.connection.connection import Connection, Exchange
from mcp_runtime.core.connection.notifications import LEVELS, log_message, wants
from mcp_runtime.core.connection.requester import Requester
from mcp_runtime.core.errors import McpError
from mcp_runtime.core.features import LOGGING
from mcp_runtime.core.handlers import ServerHandlers, connections_of
from mcp_runtime.core.json.values import is_array, is_object
from mcp_runtime.core.options import LogLevel
from mcp_runtime.middleware.masking import Masker

__all__ = ["McpLogHandler"]

MAX_WAITING: Final = 10_000
"""How many records of other threads may wait for the event loop."""
_SEVERITIES: Final = ((70, 7), (60, 6), (50, 5), (40, 4), (30, 3), (25, 2), (20, 1))
"""Maps Python's levels to those of RFC 5424; custom levels reach the ones without a Python name."""


def level_of(levelno: int) -> LogLevel:
    """Return the RFC 5424 level for a level of Python's `logging`."""
    return LEVELS[next((index for least, index in _SEVERITIES if levelno >= least), 0)]


class McpLogHandler(logging.Handler):
    """Sends a program's log records to clients, as `notifications/message`.

    Records logged while a client's message is handled go to that client only, other records to all clients. The handler
    may be used from any thread. Formatters have no effect, since level and logger are properties of the message. The
    runtime's own records (``mcp_runtime``) are not sent, nor are records logged while a message is being sent. Only the
    type of an exception is sent; secrets are masked as far as their names and formats identify them (log messages MUST
    NOT contain them).

    Args:
        targets: connections, or servers, which represent all their connections.
        level: the minimum level of Python's `logging` that is sent at all; clients may choose a higher one.
        extra: record attributes to send along with the message, as set by ``log.info(..., extra={...})``.
        with_traceback: whether to send the traceback of an exception as well.
        masker: masks secrets.

    Attributes:
        dropped: how many records of other threads were dropped because the event loop was busy for too long.
    """

    def __init__(
        self,
        *targets: Connection | ServerHandlers,
        level: int = logging.NOTSET,
        extra: Sequence[str] = (),
        with_traceback: bool = False,
        masker: Masker | None = None,
    ) -> None:
        super().__init__(level)
        self.dropped = 0
        self._targets = targets
        self._extra = tuple(extra)
        self._with_traceback = with_traceback
        self._masker = masker or Masker()
        self._waiting = 0
        self._waiting_lock = threading.Lock()

    def emit(self, record: logging.LogRecord) -> None:
        """Send a record to the clients that want it; never raises.

        Args:
            record: the record.
        """
        if _is_sending.get() or record.name.partition(".")[0] == "mcp_runtime":
            return
        try:
            level = level_of(record.levelno)
            exchange, connections = self._addressees()
            wanting = [c for c in connections if c.closed_because is None and wants(_requester(c, exchange), level)]
            if wanting:
                entry = _Entry(record, level, self._data(record), exchange)
                for connection in wanting:
                    self._hand_over(connection, entry)
        except Exception:
            self.handleError(record)

    def _addressees(self) -> tuple[Exchange | None, Sequence[Connection]]:
        """Return the recipients: only the client whose message is being handled, or else all."""
        connections, exchange = tuple(self._connections()), CURRENT.get()
        if isinstance(exchange, Exchange) and exchange.connection in connections:
            return exchange, (exchange.connection,)
        return None, connections

    def _connections(self) -> Iterable[Connection]:
        for target in self._targets:
            for connection in (target,) if isinstance(target, Connection) else connections_of(target):
                if LOGGING in connection.features:
                    yield connection

    def _hand_over(self, connection: Connection, entry: "_Entry") -> None:
        """Send now if this is the event loop's thread, so that the order is kept; otherwise let that thread send."""
        loop: asyncio.AbstractEventLoop = connection.features[LOGGING]
        if _running_loop() is loop:
            self._send(connection, entry)
            return
        with self._waiting_lock:
            if self._waiting >= MAX_WAITING:
                self.dropped += 1
                return
            self._waiting += 1
        try:
            loop.call_soon_threadsafe(self._send_later, connection, entry)
        except RuntimeError:  # the event loop is closed
            self._taken()

    def _send_later(self, connection: Connection, entry: "_Entry") -> None:
        self._taken()
        self._send(connection, entry)

    def _taken(self) -> None:
        with self._waiting_lock:
            self._waiting -= 1

    def _send(self, connection: Connection, entry: "_Entry") -> None:
        sending = _is_sending.set(True)
        level, data, logger = entry.level, entry.data, entry.record.name
        try:
            if type(entry.exchange) not in (Exchange, type(None)) or connection.middleware:
                # A task has its own logging, and middleware may wait.
                connection.spawn(_quietly(entry.exchange or connection, level, data, logger))
            elif (message := log_message(_requester(connection, entry.exchange), level, data, logger)) is not None:
                connection.post(*message, exchange=entry.exchange)
        except Exception as error:
            # A connection that has ended, or is not ready yet, is not an error.
            if not isinstance(error, McpError):
                self.handleError(entry.record)
        finally:
            _is_sending.reset(sending)

    def _data(self, record: logging.LogRecord) -> Any:
        """Return the data sent for a record: a string if that is all, otherwise an object."""
        given: Any = record.msg
        message = given if is_object(given) and not record.args else record.getMessage()
        more = {name: getattr(record, name) for name in self._extra if hasattr(record, name)}
        if record.exc_info and record.exc_info[0] is not None:
            more["exception"] = record.exc_info[0].__qualname__
            if self._with_traceback:
                more["traceback"] = "".join(traceback.format_exception(*record.exc_info))
        data = {"message": message, **more} if more else message
        return self._masker.mask(_readable(to_jsonable_python(data, fallback=str, serialize_unknown=True)))


_is_sending: Final[ContextVar[bool]] = ContextVar("is_sending", default=False)
"""Whether a record comes from sending a log message."""


class _Entry:
    """The content of a record, and the message in whose handler it was logged."""

    __slots__ = ("data", "exchange", "level", "record")

    def __init__(self, record: logging.LogRecord, level: LogLevel, data: Any, exchange: Exchange | None) -> None:
        self.record = record
        self.level: LogLevel = level
        self.data = data
        self.exchange = exchange


async def _quietly(target: Connection | Exchange, level: LogLevel, data: Any, logger: str) -> None:
    with suppress(McpError):
        await target.log(level, data, logger)


def _requester(connection: Connection, exchange: Exchange | None) -> Requester:
    """Return the recipient: in the modern era each request says which log messages it wants."""
    return exchange.requester if exchange is not None and exchange.requester.is_modern else connection.requester


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def _readable(value: Any) -> Any:
    """Return a JSON value without lone surrogates, which file names may contain and peers reject."""
    return _map_texts(value, lambda text: text.encode("utf-8", "replace").decode())


def _map_texts(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if is_object(value):
        return {change(name): _map_texts(member, change) for name, member in value.items()}
    if is_array(value):
        return [_map_texts(item, change) for item in value]
    return value
