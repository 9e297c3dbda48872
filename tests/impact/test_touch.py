"""The table of what each rule affects is complete, and so are those of the migration guide."""

from impact.corpus_marks import CASES, marks
from mcp_bindgen.diff.rules import CATALOGUE, contracts
from mcp_bindgen.impact.marks import TOUCHES


def test_every_rule_that_breaks_source_has_a_row_and_no_other_does() -> None:
    of_tools = {contracts.TOOL_REMOVED, contracts.TOOL_INPUT_NARROWED, contracts.TOOL_OUTPUT_WIDENED}
    assert set(TOUCHES) == {rule for rule in CATALOGUE if rule.breaks_source} | of_tools


def test_the_corpus_shows_many_of_them() -> None:
    shown = {rule for case in CASES for _, _, rule in marks(case)}
    assert shown <= {rule.id for rule in TOUCHES}
    assert len(shown) >= 18


def test_advice_to_receivers_is_for_what_messages_carry() -> None:
    assert [rule.id for rule in CATALOGUE if rule.to_receivers and not rule.change] == []
