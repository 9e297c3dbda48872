"""Whether a change may keep the date of its revision."""

from itertools import pairwise

import pytest

from mcp_bindgen.diff.compatibility import Compatibility, Verdict, compatibility
from mcp_bindgen.diff.finding import Carrier, Finding, Pair, Travel
from mcp_bindgen.diff.rules import RULES
from mcp_bindgen.diff.source.compare import compare_definitions
from mcp_bindgen.diff.wire.compare import compare_messages
from mcp_bindgen.diff.wire.witness import Witnesses
from mcp_bindgen.ingest.sources import read_source
from mcp_bindgen.ir.nodes import Protocol
from mcp_bindgen.load.protocol import load_released
from support.official import official_schema, seed_typescript
from support.samples import REVISIONS, load
from support.source_view import read

REQUEST = """
export interface DoRequest { method: "do"; params: DoRequestParams; }
export interface DoResult { }
export type ServerRequest = DoRequest;
"""


def verdict_on(old: Protocol, new: Protocol) -> Compatibility:
    witnesses = Witnesses(old, new)
    return compatibility([*(witnesses.testify(f) for f in compare_messages(old, new)), *compare_definitions(old, new)])


def params(members: str, more: str = "") -> Protocol:
    return read(f"{REQUEST} export interface DoRequestParams {{ {members} }} {more}")


def wire(rule: str, gates: dict[Pair, str] | None = None, unproven: frozenset[Pair] = frozenset()) -> Finding:
    """A finding on a message from a server."""
    carriers = {Carrier("do", "params", Travel.TO_CLIENT): ()}
    return Finding(
        rule=RULES[rule], place="X.x", old="a", new="b", carriers=carriers, gates=gates or {}, unproven=unproven
    )


class TestCompatible:
    @pytest.mark.parametrize(
        ("old", "new"),
        [
            ("x: string;", "x: string;"),
            ("x: string;", "x: string; y?: string;"),
            ("/** A name. */ x: string;", "/** A label. */ x: string;"),
            ("x: string;", "/** @deprecated */ x: string;"),
        ],
    )
    def test_the_revision_may_keep_its_date(self, old: str, new: str) -> None:
        verdict = verdict_on(params(old), params(new))
        assert verdict.verdict is Verdict.COMPATIBLE
        assert verdict.deciding == verdict.doubtful == ()
        assert verdict.sentence == "The change is backward compatible: the revision may keep its date."

    def test_a_renamed_definition_keeps_the_date(self) -> None:
        """A renamed class breaks code that imports it, but no peer."""
        old = params("x: string;", "export interface Old { a: string; }")
        new = params("x: string;", "export interface Older { a: string; }")
        assert any(f.rule.breaks_source for f in compare_definitions(old, new))
        assert verdict_on(old, new).verdict is Verdict.COMPATIBLE

    def test_a_change_behind_a_capability_keeps_the_date(self) -> None:
        """Neither peer sends what the other has not declared, so the two versions are compatible."""
        gated = wire("union-member-added", gates={Pair.OLD_CLIENT: "capability:client.sampling"})
        assert gated.breaks == {Pair.OLD_CLIENT}
        assert compatibility([gated]).verdict is Verdict.COMPATIBLE

    def test_the_first_text_of_2024_11_05_listed_one_request_less(self) -> None:
        """Nobody sends what no root union lists, although bindings have the method."""
        revision = REVISIONS[0]
        seed, _ = load(read_source(str(seed_typescript())), revision=revision)
        official, _ = load(read_source(str(official_schema(revision))), revision=revision)
        verdict = verdict_on(seed, official)
        assert [f.new for f in verdict.deciding] == ["resources/templates/list"]
        assert verdict.verdicts == {Pair.OLD_CLIENT: Verdict.COMPATIBLE, Pair.NEW_CLIENT: Verdict.BREAKS}

    def test_a_date_that_was_not_needed(self) -> None:
        verdict = compatibility(compare_definitions(read("", "2099-01-01"), read("", "2099-01-02")))
        assert verdict.sentence == "The change is backward compatible: the revision did not need a new date."


class TestIncompatible:
    @pytest.mark.parametrize(
        ("old", "new", "rule"),
        [
            ("x: string;", "x: string; y: string;", "property-added-required"),
            ("x: string;", "x: string | string[];", "union-member-added"),
            ('x: "a" | "b";', 'x: "b";', "enum-value-removed"),
        ],
    )
    def test_the_revision_needs_another_date(self, old: str, new: str, rule: str) -> None:
        verdict = verdict_on(params(old), params(new))
        assert verdict.verdict is Verdict.BREAKS
        assert [f.rule.id for f in verdict.deciding] == [rule]
        assert verdict.sentence == "The change is not backward compatible (1 finding): the revision needs a new date."

    def test_a_capability_protects_only_its_pair(self) -> None:
        """The gate protects only one of the two pairs that break."""
        verdict = compatibility([wire("const-changed", gates={Pair.OLD_CLIENT: "capability:client.sampling"})])
        assert [f.rule.id for f in verdict.deciding] == ["const-changed"]

    @pytest.mark.parametrize(("old", "new"), list(pairwise(REVISIONS)))
    def test_every_released_revision_earned_its_date(self, old: str, new: str) -> None:
        verdict = verdict_on(load_released(old), load_released(new))
        assert verdict.verdict is Verdict.BREAKS
        assert "the revision already has a new date" in verdict.sentence
        assert all(f.proven - f.gates.keys() for f in verdict.deciding)


class TestDoubtful:
    def test_a_break_that_is_neither_proven_nor_excluded_is_not_compatible(self) -> None:
        finding = wire("union-member-added", unproven=frozenset((Pair.OLD_CLIENT,)))
        verdict = compatibility([finding])
        assert verdict.verdicts == {Pair.OLD_CLIENT: Verdict.NOT_PROVEN, Pair.NEW_CLIENT: Verdict.COMPATIBLE}
        assert verdict.verdict is Verdict.NOT_PROVEN
        assert verdict.undecided == (finding,)
        assert verdict.sentence.startswith("It is not proven that the change is backward compatible (1 finding).")
        assert "keep its date" not in verdict.sentence

    def test_a_break_decides_over_a_doubt(self) -> None:
        doubtful = wire("union-member-added", unproven=frozenset((Pair.OLD_CLIENT,)))
        assert compatibility([doubtful, wire("const-changed")]).verdict is Verdict.BREAKS

    def test_a_removed_optional_property_needs_review(self) -> None:
        verdict = verdict_on(params("x: string; y?: string;"), params("x: string;"))
        assert verdict.verdict is Verdict.COMPATIBLE
        assert [f.rule.id for f in verdict.doubtful] == ["property-removed-optional"]

    def test_a_changed_requirement_in_a_description_needs_review(self) -> None:
        verdict = verdict_on(
            params("/** It MAY be empty. */ x: string;"), params("/** It MUST NOT be empty. */ x: string;")
        )
        assert verdict.verdict is Verdict.COMPATIBLE
        assert [f.rule.id for f in verdict.doubtful] == ["description-requirements-changed"]
