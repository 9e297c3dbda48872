"""What a rule is: one kind of change between two revisions, the check that finds it, and its consequences.

A value travels from a sender to a receiver. A change narrows a type if some valid value becomes invalid, and widens it
if some invalid value becomes valid. Objects are open, so adding a property does not narrow a type, and removing one
does not widen it, unless it was required.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import Flag, StrEnum, auto
from functools import partial
from typing import Any, TypeAlias, TypeVar

from mcp_bindgen.diff.sites import SourceSite
from mcp_bindgen.findings.severity import Severity

NO_ACTION = "No action needed."
NOTHING = "-"
"""The reading of a side on which the thing does not exist."""

Reading: TypeAlias = tuple[str, str]
"""The reading of each side, the old one first."""

_Site = TypeVar("_Site")


class Change(Flag):
    """The effect of a change on the set of valid values."""

    NONE = 0
    NARROWS = auto()
    WIDENS = auto()
    BOTH = NARROWS | WIDENS


class View(StrEnum):
    """Where a change is visible: in messages, or in definitions and the Python source generated from them."""

    WIRE = "wire"
    SOURCE = "source"


@dataclass(frozen=True, slots=True)
class Check:
    """How a rule finds its change: the kind of site that it checks, and the function that reads it.

    If `is_reversed`, the function reads the site with its sides swapped, and so are the readings.
    """

    site: type[object]
    readings: Callable[[Any], Iterable[Reading]]
    is_reversed: bool = False


def on(site: type[_Site], read: Callable[[_Site], Reading | None]) -> Check:
    """Return a check that finds at most one change at a site."""

    def readings(seen: _Site) -> Iterable[Reading]:
        found = read(seen)
        return () if found is None else (found,)

    return Check(site, readings)


def added(site: type[Any], spell: Callable[[Any], str] = str, when: Callable[[Any], bool] = lambda seen: True) -> Check:
    """Return a check for what only the new side of a site has, at the sites that `when` chooses."""
    return on(
        site, lambda seen: (NOTHING, spell(seen.after)) if seen.after and not seen.before and when(seen) else None
    )


def replaced(site: type[Any], spell: Callable[[Any], str] = str) -> Check:
    """Return a check for what both sides of a site have, if they spell it differently."""

    def read(seen: Any) -> Reading | None:
        readings = [spell(side) for side in (seen.before, seen.after) if side]
        return (readings[0], readings[1]) if len(set(readings)) == 2 else None

    return on(site, read)


def changed(site: type[Any]) -> Check:
    """Return a check for a site at which something changed in any case."""
    return Check(site, lambda seen: ((seen.before, seen.after),))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rule:
    """One kind of change: how it is found, its effect on the valid values, and what to do about it.

    Attributes:
        id: the name of the rule in reports and baselines.
        purpose: what the rule finds, in one sentence.
        change: the effect on the set of valid values.
        advice: what to do about it; for a value in a message, what the sender should do.
        check: how it is found; None for a rule on a server's own tools, which `mcp_bindgen.tool_clients` compares.
        to_receivers: what a receiver should do, if that differs.
        change_at: the effect at one site, if it can be less than `change` says.
        severity: the severity of a change that breaks no peer; a change that breaks a peer is an error.
        breaks_source: whether Python code that uses the bindings may no longer type-check or run.
        reverse: the id of the rule that finds the reverse change, if it is another one.
        unprovable: why no message can prove a break, if none can.
    """

    id: str
    purpose: str
    advice: str = NO_ACTION
    change: Change = Change.NONE
    check: Check | None = None
    to_receivers: str = ""
    change_at: Callable[[object], Change] | None = None
    severity: Severity = Severity.INFO
    breaks_source: bool = False
    reverse: str = ""
    unprovable: str = ""

    @property
    def mirror(self) -> str:
        """The id of the rule that finds the reverse change; empty if nothing does."""
        return self.reverse or (self.id if self.check else "")

    @property
    def unmirrored(self) -> str:
        """Why there is no such rule; empty if there is one."""
        return "" if self.mirror else "A contract is compared in one direction: only callers written for it can break."

    @property
    def view(self) -> View:
        """Where the change is visible."""
        return View.SOURCE if self.check and issubclass(self.check.site, SourceSite) else View.WIRE

    @property
    def site(self) -> type[object] | None:
        """The kind of site that the rule checks."""
        return self.check.site if self.check else None


SourceBreak = partial(Rule, severity=Severity.WARNING, breaks_source=True)
"""A rule on changes that break Python source, but no peer."""

_OPPOSITE = {Change.NARROWS: Change.WIDENS, Change.WIDENS: Change.NARROWS}


def pair(
    rule: tuple[str, str],
    reverse: tuple[str, str],
    *,
    check: Check,
    change: Change = Change.NONE,
    advice: tuple[str, str] = (NO_ACTION, NO_ACTION),
    to_receivers: tuple[str, str] = ("", ""),
    breaks_source: tuple[bool, bool] = (False, False),
    severity: Severity = Severity.INFO,
) -> tuple[Rule, Rule]:
    """Return a rule and the one that finds the reverse change, each by its id and its purpose.

    The latter has the same check with the sides swapped, and the opposite effect. What else is given is that of both,
    and a pair where they differ. A change that breaks Python source, but no peer, is a warning.
    """
    changes = change, _OPPOSITE.get(change, change)
    first, second = (
        Rule(
            id=id,
            purpose=purpose,
            advice=advice[n],
            change=changes[n],
            check=replace(check, is_reversed=bool(n)),
            to_receivers=to_receivers[n],
            severity=Severity.WARNING if breaks_source[n] and change is Change.NONE else severity,
            breaks_source=breaks_source[n],
            reverse=mirror,
        )
        for n, ((id, purpose), (mirror, _)) in enumerate(((rule, reverse), (reverse, rule)))
    )
    return first, second
