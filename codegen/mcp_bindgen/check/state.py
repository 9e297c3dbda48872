"""What a check knows of a server while probes run: one state, which `after` alone moves.

A probe that gets no answer is repeated in a new conversation, since silence counts only if it is confirmed there. A
server over HTTP that has ended may be started again by something else, so it is tried again for some time.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from mcp_bindgen.check.client import Said

RESTARTS: Final = 10
"""How often a server over HTTP is tried again whose port refuses connections."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Alive:
    """The server has answered the last probe, or none was sent yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unanswered:
    """A probe, the last one, got no answer: why, its messages, and whether the server had restarted for it."""

    reason: Exception
    said: Sequence[Said]
    has_restarted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Restarting:
    """The port of the server has refused connections, `times` in a row; `unanswered` is the state before."""

    times: int
    unanswered: Unanswered | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Gone:
    """The server has ended for good; `unanswered` is the state before."""

    unanswered: Unanswered | None = None


State: TypeAlias = Alive | Unanswered | Restarting | Gone


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """A probe has got its answer, or a verdict without one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """The port refuses connections."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Vanished:
    """The server ends though nothing was sent to it."""


Event: TypeAlias = Answered | Unanswered | Refused | Vanished


def after(state: State, event: Event) -> State:
    """Return the state of a server after an event."""
    match event:
        case Answered():
            return Alive()
        case Unanswered():
            return replace(event, has_restarted=restarted(state))
        case Refused():
            before = unanswered(state)
            times = 1 + (state.times if isinstance(state, Restarting) else 0)
            return Restarting(times=times, unanswered=before) if times <= RESTARTS else Gone(unanswered=before)
        case Vanished():
            return Gone()


def unanswered(state: State) -> Unanswered | None:
    """Return the silence that the next conversation is to confirm, if any."""
    match state:
        case Unanswered():
            return state
        case Restarting(unanswered=before) | Gone(unanswered=before):
            return before
        case Alive():
            return None


def restarted(state: State) -> bool:
    """Whether the server has been restarted for the probe that is next."""
    return isinstance(state, Restarting) or (isinstance(state, Unanswered) and state.has_restarted)
