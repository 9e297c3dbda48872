"""What becomes of a message that arrives, for the transport that carried it."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Verdict(StrEnum):
    """Whether a message was taken."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"
    """It is a message, but breaks the protocol where it came."""
    MALFORMED = "malformed"
    """It is not a message at all."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a message.

    A request that was accepted may still be answered with an error. What a peer has to be told of a message that was
    not accepted has left by its channel already.

    Attributes:
        verdict: whether it was taken.
        code: the JSON-RPC error code that its sender deserves; 0 if it was accepted.
        reason: what is wrong, for people; empty if it was accepted.
        is_answered: whether it is a request, so that an answer leaves, or has left, by its channel.
        is_answer: whether it is the answer to a request of this side that was open.
    """

    verdict: Verdict
    code: int = 0
    reason: str = ""
    is_answered: bool = False
    is_answer: bool = False

    @property
    def is_accepted(self) -> bool:
        """Whether the message was taken."""
        return self.verdict is Verdict.ACCEPTED


ACCEPTED: Final = Outcome(Verdict.ACCEPTED)
"""The outcome of a message that was taken."""

ANSWERED: Final = Outcome(Verdict.ACCEPTED, is_answered=True)
"""The outcome of a request that was taken."""

ANSWER: Final = Outcome(Verdict.ACCEPTED, is_answer=True)
"""The outcome of an answer that was taken."""


def of_batch(outcomes: list[Outcome]) -> Outcome:
    """Return the outcome of several messages that came as one: accepted if any was, answered if any is."""
    if any(outcome.is_answered for outcome in outcomes):
        return ANSWERED
    return next((outcome for outcome in outcomes if outcome.is_accepted), outcomes[0] if outcomes else ACCEPTED)
