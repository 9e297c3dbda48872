"""The catalogue: every kind of change that a comparison can find."""

from collections.abc import Mapping

from mcp_bindgen.diff.rule import Rule
from mcp_bindgen.diff.rules import annotations, contracts, definitions, messages, properties, values

CATALOGUE: tuple[Rule, ...] = (
    *messages.RULES,
    *properties.RULES,
    *values.RULES,
    *definitions.RULES,
    *annotations.RULES,
    *contracts.RULES,
)
"""All rules, in the order in which a report lists causes of equal weight."""

RULES: Mapping[str, Rule] = {rule.id: rule for rule in CATALOGUE}
