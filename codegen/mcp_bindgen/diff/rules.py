"""The catalogue of rules: what can change between two revisions, and what follows from it.

A value travels from a sender to a receiver. A change narrows a type if some value that was valid is no longer, and
widens it if some value is valid that was not. Objects are open, so a member that the receiver does not know is no
narrowing, and one that is no longer declared no widening, unless it was required.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Flag, StrEnum, auto


class Change(Flag):
    """What a change does to the set of valid values."""

    NONE = 0
    NARROWS = auto()
    WIDENS = auto()
    BOTH = NARROWS | WIDENS


class Severity(StrEnum):
    """How much a finding matters."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One kind of change: its id, what it does to the valid values, and what to do about it.

    `severity` is that of a change which breaks nobody on the wire; one that does is an error.
    """

    id: str
    purpose: str
    change: Change
    advice: str
    severity: Severity = Severity.INFO


def _rule(id_: str, change: Change, purpose: str, advice: str, severity: Severity = Severity.INFO) -> Rule:
    return Rule(id=id_, purpose=purpose, change=change, advice=advice, severity=severity)


_N, _W, _NW, _NONE = Change.NARROWS, Change.WIDENS, Change.BOTH, Change.NONE
_WARN = Severity.WARNING

CATALOGUE = (
    _rule(
        "request-method-added",
        _W,
        "A request exists that the receiver did not know.",
        "Send it to peers of the new revision only.",
    ),
    _rule("request-method-removed", _N, "A request is gone.", "Stop sending it to peers of the new revision."),
    _rule(
        "notification-method-added",
        _NONE,
        "A notification exists that did not; who does not know it ignores it.",
        "Nothing to do.",
    ),
    _rule(
        "notification-method-removed",
        _NONE,
        "A notification is gone; who sends it is not heard.",
        "Find out by other means.",
        _WARN,
    ),
    _rule("property-added-optional", _NONE, "An optional member exists that did not.", "Nothing to do."),
    _rule("property-added-required", _N, "A member must be sent that did not exist.", "Always send it."),
    _rule(
        "property-removed-optional",
        _NONE,
        "An optional member is gone; who sends it is not heard.",
        "Do not rely on it.",
        _WARN,
    ),
    _rule(
        "property-removed-required",
        _W,
        "A member that had to be sent is gone.",
        "Keep sending it to peers of the old revision.",
    ),
    _rule("property-now-required", _N, "An optional member must be sent now.", "Always send it."),
    _rule(
        "property-now-optional",
        _W,
        "A member that had to be sent may be absent now.",
        "Keep sending it; accept its absence.",
    ),
    _rule("property-renamed", _NW, "A member has another name.", "Accept both names."),
    _rule(
        "union-member-added",
        _W,
        "A value may have a form that it could not have.",
        "Accept forms that you do not know.",
    ),
    _rule("union-member-removed", _N, "A form of a value is gone.", "Stop sending it to peers of the new revision."),
    _rule(
        "result-alternative-added",
        _W,
        "A request may be answered in a way that it could not be.",
        "Look at what kind of result came.",
    ),
    _rule(
        "result-alternative-removed",
        _N,
        "A way of answering a request is gone.",
        "Answer in one of the ways that are left.",
    ),
    _rule("enum-value-added", _W, "A closed set has a new value.", "Accept values that you do not know."),
    _rule(
        "enum-value-removed",
        _N,
        "A value is no longer in a closed set.",
        "Stop sending it to peers of the new revision.",
    ),
    _rule("enum-opened", _W, "A closed set of strings takes any string now.", "Accept values that you do not know."),
    _rule("enum-closed", _N, "Only listed strings are taken now.", "Send nothing else to peers of the new revision."),
    _rule("const-changed", _NW, "A constant has another value.", "Accept both."),
    _rule("type-widened", _W, "More kinds of values are taken than were.", "Accept them."),
    _rule("type-narrowed", _N, "Fewer kinds of values are taken than were.", "Send only those that are left."),
    _rule("type-changed", _NW, "A value is of another type.", "Accept both."),
    _rule("integer-to-number", _W, "Fractions are taken where they were not.", "Accept fractions."),
    _rule("number-to-integer", _N, "Fractions are no longer taken.", "Send whole numbers."),
    _rule("nullable-added", _W, "null is taken where it was not.", "Accept null."),
    _rule("nullable-removed", _N, "null is no longer taken.", "Leave the member out."),
    _rule("constraint-added", _N, "A bound exists that did not.", "Stay within it."),
    _rule("constraint-removed", _W, "A bound is gone.", "Do not rely on it."),
    _rule("constraint-changed", _NW, "A bound has another value.", "Stay within both."),
    _rule(
        "additional-properties-closed",
        _N,
        "Members that are not declared are refused now.",
        "Send declared members only.",
    ),
    _rule(
        "additional-properties-opened",
        _W,
        "Members that are not declared are taken now.",
        "Ignore members that you do not know.",
    ),
)
"""All rules, in the order in which a report lists causes of equal weight."""

RULES: Mapping[str, Rule] = {rule.id: rule for rule in CATALOGUE}

MIRRORS: Mapping[str, str] = {
    "request-method-added": "request-method-removed",
    "notification-method-added": "notification-method-removed",
    "property-added-optional": "property-removed-optional",
    "property-added-required": "property-removed-required",
    "property-now-required": "property-now-optional",
    "property-renamed": "property-renamed",
    "union-member-added": "union-member-removed",
    "result-alternative-added": "result-alternative-removed",
    "enum-value-added": "enum-value-removed",
    "enum-opened": "enum-closed",
    "const-changed": "const-changed",
    "type-widened": "type-narrowed",
    "type-changed": "type-changed",
    "integer-to-number": "number-to-integer",
    "nullable-added": "nullable-removed",
    "constraint-added": "constraint-removed",
    "constraint-changed": "constraint-changed",
    "additional-properties-opened": "additional-properties-closed",
}
"""Each rule, and the one that sees the same change from the other side."""
