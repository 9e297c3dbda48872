"""The lifecycle of the legacy era (2024-11-05 to 2025-11-25, basic/lifecycle): handshake, session, end.

The state machine is a table. Anything not in it is not allowed.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from mcp_runtime.protocol.names import (
    INITIALIZE,
    NOTIFICATIONS_CANCELLED,
    NOTIFICATIONS_MESSAGE,
    NOTIFICATIONS_PROGRESS,
    PING,
    SERVER_DISCOVER,
)


class Side(StrEnum):
    """Which end of the conversation this is."""

    CLIENT = "client"
    SERVER = "server"

    @property
    def other(self) -> "Side":
        """The other end."""
        return _OTHERS[self]


_OTHERS: Final = {Side.CLIENT: Side.SERVER, Side.SERVER: Side.CLIENT}


class State(StrEnum):
    """The state of a conversation."""

    NEW = "new"
    INITIALIZING = "initializing"
    INITIALIZED = "initialized"
    READY = "ready"
    CLOSED = "closed"


class Step(StrEnum):
    """What advances a conversation; both ends take the same steps, one by sending, the other by receiving."""

    ASK = "the request initialize"
    ACCEPT = "the result of initialize"
    REFUSE = "an error in answer to initialize"
    CONFIRM = "the notification initialized"
    CLOSE = "the end of the connection"


STEPS: Final[Mapping[tuple[State, Step], State]] = {
    (State.NEW, Step.ASK): State.INITIALIZING,
    (State.INITIALIZING, Step.ACCEPT): State.INITIALIZED,
    # A client whose revision was refused may try another one.
    (State.INITIALIZING, Step.REFUSE): State.NEW,
    (State.INITIALIZED, Step.CONFIRM): State.READY,
    **{(state, Step.CLOSE): State.CLOSED for state in State},
}
"""Maps state and step to the next state. A missing step is a violation."""

_BEFORE_ANSWER: Final = frozenset((INITIALIZE, PING, SERVER_DISCOVER))
_BEFORE_READY: Final = frozenset((PING, NOTIFICATIONS_MESSAGE))

_MAY_BEGIN: Final[Mapping[tuple[State, Side], frozenset[str] | None]] = {
    # Before the server has answered, a client sends only pings; a server only pings and logs. A client of both eras
    # first asks which one the server belongs to, which is not a violation.
    (State.NEW, Side.CLIENT): _BEFORE_ANSWER,
    (State.NEW, Side.SERVER): _BEFORE_READY,
    (State.INITIALIZING, Side.CLIENT): frozenset((PING,)),
    (State.INITIALIZING, Side.SERVER): _BEFORE_READY,
    # Many clients send requests before they confirm, and answering them does no harm.
    (State.INITIALIZED, Side.CLIENT): None,
    (State.INITIALIZED, Side.SERVER): _BEFORE_READY,
    (State.READY, Side.CLIENT): None,
    (State.READY, Side.SERVER): None,
    (State.CLOSED, Side.CLIENT): frozenset(),
    (State.CLOSED, Side.SERVER): frozenset(),
}
"""Maps state and sender to the methods that it may begin; None for all."""

ALWAYS: Final = frozenset((NOTIFICATIONS_CANCELLED, NOTIFICATIONS_PROGRESS))
"""Methods that belong to an open request, and so depend on that alone."""


def may_begin(state: State, sender: Side, method: str) -> bool:
    """Whether a side may send a request or notification of this method in this state."""
    allowed = _MAY_BEGIN[state, sender]
    return allowed is None or method in allowed or (method in ALWAYS and state is not State.CLOSED)
