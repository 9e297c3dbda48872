"""What happens to each message that arrives, in both eras: two tables, of the session and of its messages.

The session belongs to the legacy era (2024-11-05 to 2025-11-25, basic/lifecycle): handshake, session, end. The modern
era (2026-07-28) has none: each request stands alone.

A result or an error is in no table. In every state it completes the request of this side that has its id.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final, TypeAlias

from mcp_runtime.core.protocol import names


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


class Action(StrEnum):
    """What happens to a request or a notification.

    A method is known if its revision has it, the declared capabilities include it, and this side has a handler for it.
    """

    HANDLE = "handle"
    """A request: its handler answers it. An unknown one is answered with -32601."""
    PONG = "pong"
    """A ping: it is answered at once, unless the program has a handler for it."""
    BEGIN = "begin"
    """`initialize`: it is answered with the revision and the capabilities."""
    DELIVER = "deliver"
    """A notification: it is delivered to its handler, and to middleware. An unknown one is ignored silently."""
    CONFIRM = "confirm"
    """`notifications/initialized`: the session is ready; then as `DELIVER`."""
    CANCEL = "cancel"
    """The request that it names is stopped, and gets no answer.

    Only the sender of a request may cancel it: in a session any except `initialize`, in the modern era only over the
    channel that the request came over. If it is not open any more, this is like `DELIVER` at a client and in a session,
    and like `IGNORE` otherwise.
    """
    PROGRESS = "progress"
    """The report is passed to the caller whose request it names. If that is not open, it is a violation."""
    IGNORE = "ignore"
    """Nothing: it belongs to a request that is over, or that came over another channel."""
    REFUSE = "refuse"
    """A violation: it is reported. A request is answered with -32600."""
    REPORT = "report"
    """A violation: it is reported. A request is not answered, since a client of the modern era sends no answers."""


REQUEST: Final = "any other request"
NOTIFICATION: Final = "any other notification"

A = Action
# fmt: off
DISPATCH: Final[Mapping[Side, Mapping[str, tuple[Action, Action, Action, Action, Action]]]] = {
    Side.SERVER: {
        # the method                      new           initializing  initialized   ready         modern era
        names.INITIALIZE:                (A.BEGIN,      A.REFUSE,     A.REFUSE,     A.REFUSE,     A.HANDLE),
        names.PING:                      (A.PONG,       A.PONG,       A.PONG,       A.PONG,       A.HANDLE),
        names.SERVER_DISCOVER:           (A.HANDLE,     A.REFUSE,     A.HANDLE,     A.HANDLE,     A.HANDLE),
        REQUEST:                         (A.REFUSE,     A.REFUSE,     A.HANDLE,     A.HANDLE,     A.HANDLE),
        names.NOTIFICATIONS_INITIALIZED: (A.REFUSE,     A.REFUSE,     A.CONFIRM,    A.REFUSE,     A.IGNORE),
        names.NOTIFICATIONS_CANCELLED:   (A.CANCEL,     A.CANCEL,     A.CANCEL,     A.CANCEL,     A.CANCEL),
        names.NOTIFICATIONS_PROGRESS:    (A.PROGRESS,   A.PROGRESS,   A.PROGRESS,   A.PROGRESS,   A.IGNORE),
        NOTIFICATION:                    (A.REFUSE,     A.REFUSE,     A.DELIVER,    A.DELIVER,    A.IGNORE),
    },
    Side.CLIENT: {
        # the method                      new           initializing  initialized   ready         modern era
        names.INITIALIZE:                (A.REFUSE,     A.REFUSE,     A.REFUSE,     A.REFUSE,     A.REPORT),
        names.PING:                      (A.PONG,       A.PONG,       A.PONG,       A.PONG,       A.REPORT),
        REQUEST:                         (A.REFUSE,     A.REFUSE,     A.REFUSE,     A.HANDLE,     A.REPORT),
        names.NOTIFICATIONS_INITIALIZED: (A.REFUSE,     A.REFUSE,     A.REFUSE,     A.REFUSE,     A.REFUSE),
        names.NOTIFICATIONS_CANCELLED:   (A.CANCEL,     A.CANCEL,     A.CANCEL,     A.CANCEL,     A.CANCEL),
        names.NOTIFICATIONS_PROGRESS:    (A.PROGRESS,   A.PROGRESS,   A.PROGRESS,   A.PROGRESS,   A.PROGRESS),
        names.NOTIFICATIONS_MESSAGE:     (A.DELIVER,    A.DELIVER,    A.DELIVER,    A.DELIVER,    A.DELIVER),
        NOTIFICATION:                    (A.REFUSE,     A.REFUSE,     A.DELIVER,    A.DELIVER,    A.DELIVER),
    },
}
# fmt: on
"""Maps the receiver and the method to what happens in each state of a session, and in the modern era.

What a side must not send in a state of the session is what the other one refuses.
"""


Rules: TypeAlias = Mapping[str, Action]
"""One column of the table at one receiver."""

_OPEN: Final = (State.NEW, State.INITIALIZING, State.INITIALIZED, State.READY)
SESSION: Final[Mapping[tuple[Side, State], Rules]] = {
    **{
        (side, state): {method: actions[column] for method, actions in DISPATCH[side].items()}
        for side in Side
        for column, state in enumerate(_OPEN)
    },
    **{(side, State.CLOSED): {REQUEST: A.REFUSE, NOTIFICATION: A.REFUSE} for side in Side},
}
"""The rules of each state of a session; once it has ended, everything is refused."""
MODERN: Final[Mapping[Side, Rules]] = {
    side: {method: actions[-1] for method, actions in DISPATCH[side].items()} for side in Side
}
"""The rules of the modern era."""
