"""The actions for values that a revision cannot express, reports of losses, and the errors."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeAlias

from mcp_runtime.core.errors import LocalProtocolError, MissingCapability

MAX_REMEMBERED: Final = 10_000
"""How many different losses are remembered, so that each is reported once."""


class LossAction(StrEnum):
    """What to do with a value that the other revision cannot express."""

    FALLBACK = "fallback"
    """Express it differently in the other revision if possible; refuse it otherwise."""
    DROP = "drop"
    """Drop it, with as much around it as cannot be sent without it."""
    REFUSE = "refuse"
    """Do not send the message: the sender gets `NotExpressible`."""


UNDECLARED: Final = "undeclared"
"""The kind of properties that the other revision does not declare. They are sent along, as every revision allows."""
CAPABILITY: Final = "capability"
"""The kind of capabilities that the other revision lacks. They are never declared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """A value that did not get through unchanged.

    Attributes:
        kind: what it was: ``audio``, ``resource_link`` and so on (docs/bridging.md lists them).
        action: what was done with it.
        method: the method of the message.
        part: ``params`` or ``result``.
        path: the location in that part, as a JSON pointer.
        revision: the revision that cannot express it.
    """

    kind: str
    action: LossAction
    method: str
    part: str
    path: str
    revision: str

    def __str__(self) -> str:
        done = {
            LossAction.FALLBACK: "was expressed differently",
            LossAction.DROP: "was dropped",
            LossAction.REFUSE: "kept the message from being sent",
        }
        where = f"{self.part} of {self.method}, {self.path or '/'}"
        return f"{where}: {self.kind}, which {self.revision} cannot express, {done[self.action]}"


OnLoss: TypeAlias = Callable[[Loss], None]
"""Called with each loss, once per kind, method and place."""


def reporter(on_loss: OnLoss | None) -> OnLoss:
    """Return a function that logs a loss and calls a callback, whose exceptions it logs."""
    import logging  # Programs that import App do not need it before they serve.

    log = logging.getLogger("mcp_runtime.bridge")

    def report(loss: Loss) -> None:
        log.debug("%s", loss)
        if on_loss is not None:
            try:
                on_loss(loss)
            except Exception as error:
                log.error("the on_loss callback failed", exc_info=error)

    return report


class NotExpressible(LocalProtocolError):
    """The negotiated revision cannot express a message.

    Args:
        kind: the kind of value.
        revision: the revision that was negotiated.
        method: the method of the message.
        pointer: the location in the params or the result, as a JSON pointer.
    """

    def __init__(self, *, kind: str, revision: str, method: str, pointer: str) -> None:
        reason = f"this revision cannot express it: {kind}"
        super().__init__(revision=revision, method=method, pointer=pointer, reason=reason)
        self.kind = kind


class MissingInRevision(MissingCapability):
    """The negotiated revision does not have a method.

    Args:
        method: the method.
        revision: the revision that was negotiated.
        capability: the path of the capability that newer revisions have for it; empty if none.
    """

    def __init__(self, method: str, revision: str, capability: str = "") -> None:
        super().__init__(capability, method)
        self.args = (f"{method} does not exist in revision {revision}, which was negotiated with this peer",)
        self.method = method
        self.revision = revision
