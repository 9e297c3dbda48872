"""What a rule is: one kind of change between two revisions, and what follows from it.

A value travels from a sender to a receiver. A change narrows a type if some value that was valid is no longer, and
widens it if some value is valid that was not. Objects are open, so a member that the receiver does not know is no
narrowing, and one that is no longer declared no widening, unless it was required.
"""

from dataclasses import dataclass
from enum import Flag, StrEnum, auto


class Change(Flag):
    """What a change does to the set of valid values."""

    NONE = 0
    NARROWS = auto()
    WIDENS = auto()
    BOTH = NARROWS | WIDENS


class View(StrEnum):
    """What a change shows itself in: messages, or the definitions of the schema and the Python source made of them."""

    WIRE = "wire"
    SOURCE = "source"


class Severity(StrEnum):
    """How much a finding matters."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One kind of change: its id, what it does to the valid values, and what to do about it.

    `severity` is that of a change which breaks nobody on the wire; one that does is an error. `breaks_source` says that
    Python code which uses the bindings may no longer type-check or run. `mirror` is the id of the rule that sees the
    same change from the other side, which may be this one; where there is none, `unmirrored` says why. `one_sided` says
    that the thing itself is on one side only. `unprovable` is why no message can prove a break, where none can.
    """

    id: str
    purpose: str
    change: Change
    advice: str
    severity: Severity = Severity.INFO
    view: View = View.WIRE
    breaks_source: bool = False
    mirror: str = ""
    unmirrored: str = ""
    one_sided: bool = False
    unprovable: str = ""
