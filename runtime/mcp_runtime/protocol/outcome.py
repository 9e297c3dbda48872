"""The outcome of a received message, for the transport that carried it."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Verdict(StrEnum):
    """Whether a message was accepted."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"
    """It is a message, but violates the protocol."""
    MALFORMED = "malformed"
    """It is not a message at all."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a received message.

    A request that was accepted may still be answered with an error. The error response for a message that was not
    accepted has already been sent on its channel.

    Attributes:
        verdict: whether it was accepted.
        code: the JSON-RPC error code for it; 0 if it was accepted.
        reason: what is wrong, for people; empty if it was accepted.
        is_answered: whether it is a request, so that an answer is, or was, sent on its channel.
        is_answer: whether it answers an open request of this side.
    """

    verdict: Verdict
    code: int = 0
    reason: str = ""
    is_answered: bool = False
    is_answer: bool = False

    @property
    def is_accepted(self) -> bool:
        """Whether the message was accepted."""
        return self.verdict is Verdict.ACCEPTED


ACCEPTED: Final = Outcome(Verdict.ACCEPTED)
"""The outcome of a message that was accepted."""

ANSWERED: Final = Outcome(Verdict.ACCEPTED, is_answered=True)
"""The outcome of a request that was accepted."""

ANSWER: Final = Outcome(Verdict.ACCEPTED, is_answer=True)
"""The outcome of an answer that was accepted."""


def of_batch(outcomes: list[Outcome]) -> Outcome:
    """Return the outcome of several messages that arrived as one: accepted if any was, answered if any is."""
    if any(outcome.is_answered for outcome in outcomes):
        return ANSWERED
    return next((outcome for outcome in outcomes if outcome.is_accepted), outcomes[0] if outcomes else ACCEPTED)
