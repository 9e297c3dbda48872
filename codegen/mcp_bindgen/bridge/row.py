"""One decision that is made by hand about a difference between two revisions."""

from dataclasses import dataclass

RULE_SPLIT = "split"
"""The name of the conversion that makes several items of a list out of one."""

RULE_SESSION = "session"
"""The name in place of a conversion where both ends of a conversation see to it, before or after its messages."""
ERA = "era"
"""The kind of what one era says by other messages than the other one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One decision.

    Attributes:
        rule: the rule of the diff that sees the difference.
        places: where, as the diff names places.
        value: what only the newer side has there, as the diff spells it.
        kind: the name by which a user's policy chooses.
        convert: the function of `mcp_runtime.bridge.fallbacks` that says it otherwise; empty if nothing does.
        says: what becomes of it, for people.
        reason: why so.
        way: whether it is about the way to the older revision (``down``) or to the newer one, where types differ.
    """

    rule: str
    places: tuple[str, ...]
    value: str
    kind: str
    convert: str = ""
    says: str
    reason: str
    way: str = "down"

    def fits(self, rule: str, place: str, value: str) -> bool:
        """Whether the row is about a difference."""
        return self.rule == rule and place in self.places and value == self.value


@dataclass(frozen=True, slots=True, kw_only=True)
class FramingRow:
    """A difference of the frame around messages, which the session sees to: no conversion of params or results.

    `between` names the neighbours that it stands between.
    """

    place: str
    rules: tuple[str, ...]
    between: tuple[tuple[str, str], ...]
    says: str
