"""The catalogue: every kind of change that a comparison can find."""

from collections.abc import Mapping

from mcp_bindgen.diff.catalogue import annotations, definitions, members, messages, tools, values
from mcp_bindgen.diff.rule import Rule

CATALOGUE: tuple[Rule, ...] = (
    *messages.RULES,
    *members.RULES,
    *values.RULES,
    *definitions.RULES,
    *annotations.RULES,
    *tools.RULES,
)
"""All rules, in the order in which a report lists causes of equal weight."""

RULES: Mapping[str, Rule] = {rule.id: rule for rule in CATALOGUE}
