"""The lifecycle of the legacy era (2024-11-05 to 2025-11-25, basic/lifecycle): a handshake, a session, an end.

The state machine is a table. What is not in it is not allowed.
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
        return Side.SERVER if self is Side.CLIENT else Side.CLIENT


class State(StrEnum):
    """How far a conversation has come."""

    NEW = "new"
    INITIALIZING = "initializing"
    INITIALIZED = "initialized"
    READY = "ready"
    CLOSED = "closed"


class Step(StrEnum):
    """What moves a conversation on; both ends take the same steps, one by sending, the other by receiving."""

    ASK = "the request initialize"
    ACCEPT = "the result of initialize"
    REFUSE = "an error in answer to initialize"
    CONFIRM = "the notification initialized"
    CLOSE = "the end of the connection"


STEPS: Final[Mapping[tuple[State, Step], State]] = {
    (State.NEW, Step.ASK): State.INITIALIZING,
    (State.INITIALIZING, Step.ACCEPT): State.INITIALIZED,
    # A client whose revision was refused may ask for another one.
    (State.INITIALIZING, Step.REFUSE): State.NEW,
    (State.INITIALIZED, Step.CONFIRM): State.READY,
    **{(state, Step.CLOSE): State.CLOSED for state in State},
}
"""State and step -> the next state. A step that is missing is a violation."""

_BEFORE_ANSWER: Final = frozenset((INITIALIZE, PING, SERVER_DISCOVER))
_BEFORE_READY: Final = frozenset((PING, NOTIFICATIONS_MESSAGE))

_MAY_BEGIN: Final[Mapping[tuple[State, Side], frozenset[str] | None]] = {
    # Before the server has answered, a client sends nothing but pings; a server nothing but pings and logs. A client of
    # both eras asks first which one the server is of, which is no violation.
    (State.NEW, Side.CLIENT): _BEFORE_ANSWER,
    (State.NEW, Side.SERVER): _BEFORE_READY,
    (State.INITIALIZING, Side.CLIENT): frozenset((PING,)),
    (State.INITIALIZING, Side.SERVER): _BEFORE_READY,
    # Many clients begin to ask before they confirm, and nothing is lost by answering them.
    (State.INITIALIZED, Side.CLIENT): None,
    (State.INITIALIZED, Side.SERVER): _BEFORE_READY,
    (State.READY, Side.CLIENT): None,
    (State.READY, Side.SERVER): None,
    (State.CLOSED, Side.CLIENT): frozenset(),
    (State.CLOSED, Side.SERVER): frozenset(),
}
"""State and sender -> the methods that it may begin; None for all."""

ALWAYS: Final = frozenset((NOTIFICATIONS_CANCELLED, NOTIFICATIONS_PROGRESS))
"""What belongs to a request that is open, and so is governed by that alone."""


def may_begin(state: State, sender: Side, method: str) -> bool:
    """Whether a side may send a request or notification of this method in this state."""
    allowed = _MAY_BEGIN[state, sender]
    return allowed is None or method in allowed or (method in ALWAYS and state is not State.CLOSED)
