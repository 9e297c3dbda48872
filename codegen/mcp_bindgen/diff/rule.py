"""What a rule is: one kind of change between two revisions, the check that finds it, and what follows from it.

A value travels from a sender to a receiver. A change narrows a type if some value that was valid no longer is, and
widens it if some value is valid that was not. Objects are open, so a property that the receiver does not know is not a
narrowing, and one that is no longer declared is not a widening, unless it was required.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Flag, StrEnum, auto
from typing import Any, TypeAlias, TypeVar

from mcp_bindgen.diff.sites import SourceSite

NOTHING = "-"
"""How a reading says that its side has nothing of the kind."""

Reading: TypeAlias = tuple[str, str]
"""What each side says, the old one first."""

_Site = TypeVar("_Site")


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


@dataclass(frozen=True, slots=True)
class Check:
    """How a rule finds its change: the kind of site that it looks at, and what it reads there."""

    site: type[object]
    readings: Callable[[Any], Iterable[Reading]]


def on(site: type[_Site], read: Callable[[_Site], Reading | None]) -> Check:
    """Return a check that finds at most one change at a site."""

    def readings(seen: _Site) -> Iterable[Reading]:
        found = read(seen)
        return () if found is None else (found,)

    return Check(site, readings)


def each(site: type[_Site], read: Callable[[_Site], Iterable[Reading]]) -> Check:
    """Return a check that may find several changes at a site."""
    return Check(site, read)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rule:
    """One kind of change: how it is found, what it does to the valid values, and what to do about it.

    Attributes:
        id: the name of the rule in reports and baselines.
        purpose: what the rule finds, in a sentence.
        change: what the change does to the set of valid values.
        advice: what to do about it; if a message carries the value, what its sender should do.
        check: how it is found; None for a rule on a server's own tools, which `mcp_bindgen.tool_clients` compares.
        to_receivers: what a receiver should do, where that is something else.
        change_at: what the change does at one site, where it does less than `change` says.
        severity: how much a change matters that breaks nobody on the wire; one that breaks somebody is an error.
        breaks_source: whether Python code that uses the bindings may no longer type-check or run.
        mirror: the id of the rule that sees the same change from the other side, which may be this one.
        unmirrored: why there is no such rule, where there is none.
        one_sided: whether the thing itself exists on one side only.
        unprovable: why no message can prove a break, where none can.
    """

    id: str
    purpose: str
    advice: str
    change: Change = Change.NONE
    check: Check | None = None
    to_receivers: str = ""
    change_at: Callable[[object], Change] | None = None
    severity: Severity = Severity.INFO
    breaks_source: bool = False
    mirror: str = ""
    unmirrored: str = ""
    one_sided: bool = False
    unprovable: str = ""

    @property
    def view(self) -> View:
        """Where the change shows."""
        return View.SOURCE if self.check and issubclass(self.check.site, SourceSite) else View.WIRE

    @property
    def site(self) -> type[object] | None:
        """The kind of site that the rule looks at."""
        return self.check.site if self.check else None
