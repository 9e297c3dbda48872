"""One manual decision about a difference between two revisions."""

from dataclasses import dataclass

RULE_SPLIT = "split"
"""The name of the conversion that splits one item of a list into several."""

RULE_SESSION = "session"
"""The name used instead of a conversion if both ends of a conversation handle the difference."""
ERA = "era"
"""The kind of differences that the eras express by different messages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One decision.

    Attributes:
        rule: the rule of the diff that finds the difference.
        places: where, as the diff names places.
        value: what only the newer side has there, as the diff spells it.
        kind: the name that a user's policy refers to.
        convert: the function of `mcp_runtime.bridge.fallbacks` that converts it; empty if there is none.
        says: the treatment, in words.
        reason: the reason.
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
        """Whether the row covers a difference."""
        return self.rule == rule and place in self.places and value == self.value


@dataclass(frozen=True, slots=True, kw_only=True)
class FramingRow:
    """A difference in the frame around messages, which the session handles without converting params or results.

    `between` names the adjacent revisions that differ.
    """

    place: str
    rules: tuple[str, ...]
    between: tuple[tuple[str, str], ...]
    says: str
