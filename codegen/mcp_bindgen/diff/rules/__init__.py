"""The rules: every kind of change that a comparison can find, each as a value beside the check that finds it."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import ModuleType
from typing import Any

from mcp_bindgen.diff.rule import Reading, Rule
from mcp_bindgen.diff.rules import annotations, contracts, definitions, messages, properties, values
from mcp_bindgen.diff.sites import RuledSite
from mcp_bindgen.ir.diagnostics import InputError, did_you_mean


def rules_of(module: ModuleType) -> tuple[Rule, ...]:
    """Return the rules of a module, in the order in which it defines them."""
    return tuple(value for value in vars(module).values() if isinstance(value, Rule))


CATALOGUE: tuple[Rule, ...] = tuple(
    rule for module in (messages, properties, values, definitions, annotations, contracts) for rule in rules_of(module)
)
"""All rules, in the order in which a report lists causes of equal weight."""

RULES: Mapping[str, Rule] = {rule.id: rule for rule in CATALOGUE}

_BY_SITE: Mapping[type[object] | None, tuple[Rule, ...]] = {
    site: tuple(rule for rule in CATALOGUE if rule.site is site) for site in {rule.site for rule in CATALOGUE}
}


def judge(site: object) -> Iterator[tuple[Rule, Reading]]:
    """Iterate over what changed at a site: the rule that finds it, and the reading of each side."""
    ends: Any = site
    swapped = replace(ends, before=ends.after, after=ends.before)
    for rule in (RULES[site.rule],) if isinstance(site, RuledSite) else _BY_SITE[type(site)]:
        if rule.check and rule.check.is_reversed:
            yield from ((rule, (old, new)) for new, old in rule.check.readings(swapped))
        elif rule.check:
            yield from ((rule, reading) for reading in rule.check.readings(site))


def rule_named(id_: str) -> Rule:
    """Return the rule of an id.

    Raises:
        InputError: there is none.
    """
    if id_ not in RULES:
        hint = did_you_mean(id_, RULES) or "`mcp-bindgen rules` lists all rules"
        raise InputError.at(id_, f"there is no such rule; {hint}")
    return RULES[id_]
