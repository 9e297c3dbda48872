"""What is done with what a revision cannot say, who is told of it, and the errors for it."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, TypeAlias

from mcp_runtime.errors import LocalProtocolError, MissingCapability

log: Final = logging.getLogger("mcp_runtime.bridge")

MAX_REMEMBERED: Final = 10_000
"""How many different losses are remembered, so that each is told once."""


class Action(StrEnum):
    """What is done with something that the other revision cannot say."""

    FALLBACK = "fallback"
    """Say it in the words of the other revision, if there is a way; else refuse."""
    DROP = "drop"
    """Leave it out, with as much around it as must not stand without it."""
    REFUSE = "refuse"
    """Do not send the message: the sender gets `NotExpressible`."""


UNDECLARED: Final = "undeclared"
"""The kind of members that the other revision does not declare. They are sent along, which every revision allows."""
CAPABILITY: Final = "capability"
"""The kind of capabilities that the other revision does not have. They are never declared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """Something that did not get through as it was.

    Attributes:
        kind: what it was: ``audio``, ``resource_link``, ... (docs/bridging.md lists them).
        action: what was done with it.
        method: the method of the message.
        part: ``params`` or ``result``.
        path: where in that part, as a JSON pointer.
        revision: the revision that cannot say it.
    """

    kind: str
    action: Action
    method: str
    part: str
    path: str
    revision: str

    def __str__(self) -> str:
        done = {
            Action.FALLBACK: "was said in other words",
            Action.DROP: "was left out",
            Action.REFUSE: "kept the message from being sent",
        }
        where = f"{self.part} of {self.method}, {self.path or '/'}"
        return f"{where}: {self.kind}, which {self.revision} cannot say, {done[self.action]}"


OnLoss: TypeAlias = Callable[[Loss], None]
"""Is told of losses, each kind once for each method and place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bridging:
    """How to talk to peers of other revisions.

    Attributes:
        revisions: the revisions to offer, that of the implementation among them in any case; None for all that are
            installed with it.
        policy: what is done with what a revision cannot say, by kind; `Action.FALLBACK` for kinds that are not named.
        on_loss: is told of every loss, each kind once per connection, method and place; the log is told too.
    """

    revisions: tuple[str, ...] | None = None
    policy: Mapping[str, Action] = field(default_factory=dict[str, Action])
    on_loss: OnLoss | None = None


def telling(on_loss: OnLoss | None) -> OnLoss:
    """Return what tells the log of a loss, and a callback whose failures are its own."""

    def tell(loss: Loss) -> None:
        log.warning("%s", loss)
        if on_loss is not None:
            try:
                on_loss(loss)
            except Exception as error:
                log.error("the callback for losses failed", exc_info=error)

    return tell


class NotExpressible(LocalProtocolError):
    """The revision that was negotiated cannot say what is in a message.

    Args:
        kind: what it is.
        revision: the revision that was negotiated.
        method: the method of the message.
        pointer: where in the params or the result, as a JSON pointer.
    """

    def __init__(self, *, kind: str, revision: str, method: str, pointer: str) -> None:
        reason = f"this revision cannot say it: {kind}"
        super().__init__(revision=revision, method=method, pointer=pointer, reason=reason)
        self.kind = kind

    def __reduce__(self) -> tuple[Any, ...]:
        return (_not_expressible, (self.kind, self.revision, self.method, self.pointer))


def _not_expressible(kind: str, revision: str, method: str, pointer: str) -> NotExpressible:
    return NotExpressible(kind=kind, revision=revision, method=method, pointer=pointer)


class MissingInRevision(MissingCapability):
    """The revision that was negotiated does not have a method.

    Args:
        method: the method.
        revision: the revision that was negotiated.
        capability: the path of the capability that newer revisions have for it, empty if none.
    """

    def __init__(self, method: str, revision: str, capability: str = "") -> None:
        super().__init__(capability, method)
        self.args = (f"{method} does not exist in revision {revision}, which was negotiated with this peer",)
        self.method = method
        self.revision = revision

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.method, self.revision, self.capability))
