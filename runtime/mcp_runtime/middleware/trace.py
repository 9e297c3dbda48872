"""A trace of a conversation: typed, timestamped records of every message, with secrets masked.

`Settings.trace` receives bytes; a `Tracer` turns them into records:

    tracer = Tracer(lambda record: print(record))
    client = await Client.open(peer, options=ClientOptions(trace=tracer))
"""

import json
import logging
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from itertools import count
from typing import Any, Final, TypeAlias

from mcp_runtime.core import sources
from mcp_runtime.core.connection.calls import Way
from mcp_runtime.core.errors import clipped
from mcp_runtime.core.json.values import is_array, is_object
from mcp_runtime.core.options import Trace, Tracing
from mcp_runtime.core.protocol.jsonrpc import Id
from mcp_runtime.middleware.masking import Masker

__all__ = ["Kind", "Traced", "Tracer"]

MAX_NAME: Final = 1_000
"""How many characters of an id or a method are kept."""
MAX_OPEN: Final = 10_000
"""How many unanswered requests are remembered in each direction."""
_MASKER: Final = Masker()
_log: Final = logging.getLogger("mcp_runtime.middleware.trace")


class Kind(StrEnum):
    """The kind of message that a record describes."""

    REQUEST = "request"
    NOTIFICATION = "notification"
    RESULT = "result"
    ERROR = "error"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Traced:
    """The record of one message.

    Attributes:
        conversation: the number of the conversation, from 1.
        at: when it passed, as Unix time in seconds.
        way: the direction: received or sent.
        kind: the kind of message.
        method: its method; for an answer, that of the request; None if unknown.
        id: its id; None if it has none.
        size: its length in bytes; in a batch, that of the whole batch.
        duration: seconds between a request and this answer to it; None if it is not an answer.
        code: the error code; None if it is not an error.
        message: the message with its secrets masked; None if it was too large to keep, or unreadable.
    """

    conversation: int
    at: float
    way: Way
    kind: Kind
    method: str | None
    id: Id | None
    size: int
    duration: float | None
    code: int | None
    message: dict[str, Any] | None

    def __str__(self) -> str:
        """Return the record on one line, for logs."""
        at = datetime.fromtimestamp(self.at, UTC).strftime("%H:%M:%S.%f")[:-3]
        parts = [at, f"#{self.conversation}", "->" if self.way is Way.SENT else "<-", self.kind.value]
        if self.method is not None:
            parts.append(clipped(self.method, 100))
        if self.id is not None:
            parts.append(f"id={clipped(str(self.id), 40)}")
        if self.code is not None:
            parts.append(f"code={self.code}")
        parts.append(f"{self.size} B")
        if self.duration is not None:
            parts.append(f"{self.duration * 1000:.1f} ms")
        return " ".join(parts)


Sink: TypeAlias = Callable[[Traced], None]
"""Receives each record."""


class Tracer(Tracing):
    """Creates records of the messages of any number of conversations.

    Args:
        sink: called with each record; by default records are logged to ``mcp_runtime.middleware.trace`` at level DEBUG.
        masker: masks secrets; None to show them.
        keep: how many recent records are kept in `records`.
        max_size: the maximum size in bytes of a message that is kept in its record.
    """

    def __init__(
        self,
        sink: Sink | None = None,
        *,
        masker: Masker | None = _MASKER,
        keep: int = 1_000,
        max_size: int = 65_536,
    ) -> None:
        self.records: deque[Traced] = deque(maxlen=keep)
        self._sink = sink or _log_record
        self._masker = masker
        self._max_size = max_size
        self._numbers = count(1)
        self._only: Trace | None = None

    def conversation(self) -> Trace:
        """Return the trace hook for another conversation, within which ids are unique."""
        return _Conversation(self, next(self._numbers), self._max_size, self._masker).take

    def record(self, record: Traced) -> None:
        """Add a record to `records` and pass it to the sink.

        Args:
            record: the record of a message.
        """
        self.records.append(record)
        self._sink(record)

    def __call__(self, way: str, message: bytes) -> None:
        """Record a message of the only conversation, if `conversation` is not used.

        Args:
            way: ``received`` or ``sent``.
            message: the bytes of the message.
        """
        if self._only is None:
            self._only = self.conversation()
        self._only(way, message)


class _Conversation:
    """The messages of one connection; answers are matched with their requests."""

    def __init__(self, tracer: Tracer, number: int, max_size: int, masker: Masker | None) -> None:
        self._tracer = tracer
        self._number = number
        self._max_size = max_size
        self._masker = masker
        self._open: dict[Way, OrderedDict[Id, tuple[str, float]]] = {way: OrderedDict() for way in Way}

    def take(self, way: str, message: bytes) -> None:
        """Record a message, or all messages of a batch."""
        now, direction = sources.now(), Way(way)
        try:
            value: Any = json.loads(message)
        except (ValueError, RecursionError):
            value = None
        for member in value if is_array(value) else (value,):
            self._tracer.record(self._record(direction, member, len(message), now))

    def _record(self, way: Way, value: Any, size: int, now: float) -> Traced:
        message = value if is_object(value) else {}
        id_: Any = message.get("id")
        id_ = id_ if type(id_) is int else id_[:MAX_NAME] if type(id_) is str else None
        method: Any = message.get("method")
        method = method[:MAX_NAME] if isinstance(method, str) else None
        kind, duration, code = _kind(message), None, None
        if kind is Kind.REQUEST and id_ is not None:
            opened = self._open[way]
            opened[id_] = (method or "", now)
            if len(opened) > MAX_OPEN:
                opened.popitem(last=False)
        elif kind in (Kind.RESULT, Kind.ERROR):
            asked = self._open[Way.SENT if way is Way.RECEIVED else Way.RECEIVED]
            begun = asked.pop(id_, None) if id_ is not None else None
            method, duration = (begun[0], now - begun[1]) if begun else (None, None)
            error: Any = message.get("error")
            code = error.get("code") if is_object(error) else None
        kept = message if message and size <= self._max_size else None
        return Traced(
            conversation=self._number,
            at=sources.wall(),
            way=way,
            kind=kind,
            method=method,
            id=id_,
            size=size,
            duration=duration,
            code=code if type(code) is int else None,
            message=self._masker.mask(kept) if kept is not None and self._masker is not None else kept,
        )


def _kind(message: dict[str, Any]) -> Kind:
    if isinstance(message.get("method"), str):
        return Kind.REQUEST if "id" in message else Kind.NOTIFICATION
    if "error" in message:
        return Kind.ERROR
    return Kind.RESULT if "result" in message else Kind.UNREADABLE


def _log_record(record: Traced) -> None:
    _log.debug("%s", record)
