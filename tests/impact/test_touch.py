"""The table of what each rule touches is complete, and so are those of the migration guide."""

import pytest

from impact.corpus_marks import CASES, marks
from mcp_bindgen.diff.rule import Change
from mcp_bindgen.diff.rules import CATALOGUE, RULES
from mcp_bindgen.impact.touch import TOUCHES
from mcp_bindgen.migrate.guide import NEWS, TO_RECEIVERS


@pytest.mark.parametrize("rule", [rule.id for rule in CATALOGUE if rule.breaks_source])
def test_every_rule_that_breaks_source_has_a_row(rule: str) -> None:
    assert rule in TOUCHES


@pytest.mark.parametrize("rule", TOUCHES)
def test_every_row_is_of_a_rule_that_breaks_source(rule: str) -> None:
    assert RULES[rule].breaks_source


def test_the_corpus_shows_many_of_them() -> None:
    shown = {rule for case in CASES for _, _, rule in marks(case)}
    assert shown <= TOUCHES.keys()
    assert len(shown) >= 18


@pytest.mark.parametrize("rule", [*NEWS, *TO_RECEIVERS])
def test_the_guide_knows_no_rule_that_is_gone(rule: str) -> None:
    assert rule in RULES
    assert rule not in TO_RECEIVERS or Change.WIDENS in RULES[rule].change
