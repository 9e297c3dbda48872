"""How a report evaluates findings: which programs break, severities, and grouping."""

from dataclasses import replace
from datetime import date

import pytest

from mcp_bindgen.diff.finding import Carrier, Finding, Pair, Travel
from mcp_bindgen.diff.report import text, words
from mcp_bindgen.diff.report.model import Report, Side, by_method, causes
from mcp_bindgen.diff.report.options import Options, Peer, Role
from mcp_bindgen.diff.rule import View
from mcp_bindgen.diff.rules import CATALOGUE
from mcp_bindgen.findings.baseline import Baseline, Row
from mcp_bindgen.findings.severity import Severity
from support.findings import finding, reported

CALL = Carrier("tools/call", "params", Travel.TO_SERVER)
RESULT = Carrier("tools/call", "result", Travel.TO_CLIENT)
BREAKS_CLIENT = finding(place="CallToolRequestParams.x", carriers=[CALL])
BREAKS_SERVER = finding()
BREAKS_BOTH = finding("type-changed", "Tool.x", "string", "integer")
BREAKS_NOBODY = finding("property-removed-optional", "Tool.title", "string", "-")


def page(report: Report, *, everything: bool = False) -> list[str]:
    return text.render(report, everything=everything).splitlines()


class TestRoles:
    def test_the_verdict_is_that_of_the_older_program(self) -> None:
        lines = page(reported(BREAKS_CLIENT, BREAKS_SERVER, BREAKS_BOTH, BREAKS_NOBODY))
        assert lines[0] == "2001-01-01 to 2002-02-02: 3 errors, 1 warning"
        assert "  a client written for 2001-01-01 against a 2002-02-02 server: 2 breaks" in lines
        assert "  a server written for 2001-01-01 against a 2002-02-02 client: 2 breaks" in lines

    def test_a_role_sees_its_own_breaks_and_changes_without_breaks(self) -> None:
        found = reported(BREAKS_CLIENT, BREAKS_SERVER, BREAKS_BOTH, BREAKS_NOBODY, options=Options(role=Role.CLIENT))
        assert {judged.finding.place for judged in found.findings} == {
            "CallToolRequestParams.x",
            "Tool.x",
            "Tool.title",
        }
        assert not any("a server written" in line for line in page(found))
        assert [judged.broken for judged in found.findings] == [(Pair.OLD_CLIENT,), (Pair.OLD_CLIENT,), ()]

    def test_with_older_peers_the_program_is_the_newer_one(self) -> None:
        found = reported(BREAKS_CLIENT, BREAKS_SERVER, options=Options(role=Role.CLIENT, peer=Peer.OLDER))
        assert [judged.finding for judged in found.findings] == [BREAKS_SERVER]
        assert "  a client written for 2002-02-02 against a 2001-01-01 server: 1 break" in page(found)

    def test_a_break_that_is_proven_for_the_other_role_alone_is_a_warning(self) -> None:
        half = replace(BREAKS_BOTH, unproven=frozenset({Pair.OLD_CLIENT}))
        assert reported(half).findings[0].severity is Severity.ERROR
        assert reported(half, options=Options(role=Role.CLIENT)).findings[0].severity is Severity.WARNING
        assert reported(half, options=Options(role=Role.SERVER)).findings[0].severity is Severity.ERROR


class TestSeverity:
    GATED = finding(gates={Pair.NEW_CLIENT: "capability:server.tasks"})

    @pytest.mark.parametrize("made_finding", [BREAKS_CLIENT, BREAKS_BOTH, BREAKS_NOBODY, GATED, finding(proven=False)])
    def test_without_a_role_the_severity_is_that_of_the_finding(self, made_finding: Finding) -> None:
        assert Options().severity(made_finding) is made_finding.severity
        assert Options(ignore_gated=True).severity(made_finding) is made_finding.gated_severity

    def test_a_gate_counts_only_if_it_is_assumed(self) -> None:
        assert "2002-02-02 client: compatible, 1 break, behind a capability" in page(reported(self.GATED))[2]
        assert page(reported(self.GATED, BREAKS_BOTH))[2].endswith(": 2 breaks, 1 of them behind a capability")
        assert any("; behind server.tasks" in line for line in page(reported(self.GATED)))
        assert reported(self.GATED).fails
        assert not reported(self.GATED, options=Options(ignore_gated=True)).fails
        assert reported(BREAKS_SERVER, options=Options(ignore_gated=True)).fails

    def test_a_gate_protects_only_its_pair(self) -> None:
        half = replace(BREAKS_BOTH, gates={Pair.NEW_CLIENT: "capability:server.tasks"})
        assert Options(ignore_gated=True).severity(half) is Severity.ERROR
        assert Options(ignore_gated=True, role=Role.SERVER).severity(half) is Severity.WARNING

    def test_an_override_decides(self) -> None:
        overridden = Options(severities={"property-added-required": Severity.INFO}, fail_on=Severity.WARNING)
        found = reported(BREAKS_SERVER, options=overridden)
        assert (found.findings[0].severity, found.fails) == (Severity.INFO, False)
        assert found.peers[1].breaks == 1
        stricter = Options(severities={"property-removed-optional": Severity.ERROR})
        assert reported(BREAKS_NOBODY, options=stricter).fails

    def test_fail_on_is_a_threshold(self) -> None:
        levels = (Severity.ERROR, Severity.WARNING, Severity.INFO, None)
        assert [reported(BREAKS_SERVER, options=Options(fail_on=level)).fails for level in levels] == [
            True,
            True,
            True,
            False,
        ]
        assert [reported(BREAKS_NOBODY, options=Options(fail_on=level)).fails for level in levels] == [
            False,
            True,
            True,
            False,
        ]


class TestAccepted:
    ROW = Row(number=1, rule="property-added-required", path="*.resultType", reason="known", expires=date(2030, 1, 1))

    def test_it_stays_visible_and_does_not_count(self) -> None:
        found = reported(BREAKS_SERVER, BREAKS_CLIENT, baseline=Baseline(source="a.toml", rows=(self.ROW,)))
        assert found.fails
        assert [(judged.finding, judged.reason) for judged in found.findings if judged.accepted] == [
            (BREAKS_SERVER, "known")
        ]
        alone = reported(BREAKS_SERVER, baseline=Baseline(source="a.toml", rows=(self.ROW,)))
        assert not alone.fails
        lines = page(alone)
        assert lines[0].endswith(": 1 accepted")
        assert "  a server written for 2001-01-01 against a 2002-02-02 client: 1 break, 1 accepted" in lines
        assert any("CallToolResult.resultType: ResultType; tools/call; accepted: known" in line for line in lines)

    def test_an_expired_row_no_longer_accepts_and_is_reported(self) -> None:
        late = Baseline(source="a.toml", rows=(self.ROW,), today=date(2030, 1, 1))
        found = reported(BREAKS_SERVER, baseline=late)
        assert found.fails
        assert any(
            "row 1 (property-added-required, *.resultType) expired on 2030-01-01" in line for line in page(found)
        )

    def test_only_a_row_that_matches_nothing_is_stale(self) -> None:
        baseline = Baseline(source="a.toml", rows=(self.ROW,))
        assert [stale.why for stale in reported(BREAKS_CLIENT, baseline=baseline).stale] == [
            "matches no finding: remove it"
        ]
        assert reported(BREAKS_SERVER, baseline=baseline, options=Options(role=Role.CLIENT)).stale == ()


class TestGrouping:
    def test_one_change_in_many_definitions_is_one_line(self) -> None:
        places = [f"{name}Result.resultType" for name in "ABCDEF"]
        (line,) = [line for line in page(reported(*(finding(place=place) for place in places))) if "resultType" in line]
        assert line == ("  server: resultType: ResultType, in AResult, BResult, CResult and 3 more; tools/call")

    def test_breaks_of_different_peers_are_different_causes(self) -> None:
        found = reported(BREAKS_SERVER, replace(BREAKS_CLIENT, place="CallToolRequestParams.resultType"))
        assert len(causes(found.findings)) == 2

    def test_the_worst_comes_first(self) -> None:
        found = reported(BREAKS_NOBODY, finding("property-added-optional", "Tool.z"), BREAKS_SERVER)
        assert [judged.severity for judged in found.findings] == [Severity.ERROR, Severity.WARNING, Severity.INFO]

    def test_by_method(self) -> None:
        listed = Carrier("tools/list", "result", Travel.TO_CLIENT)
        found = reported(finding(carriers=[RESULT, listed]), BREAKS_BOTH, replace(BREAKS_NOBODY, carriers={listed: ()}))
        assert by_method(found.findings) == (("tools/call", 2, 0), ("tools/list", 1, 1))
        assert "  tools/call 2+0, tools/list 1+1" in page(found)
        baseline = Baseline(source="a.toml", rows=(TestAccepted.ROW,))
        assert by_method(reported(BREAKS_SERVER, BREAKS_BOTH, baseline=baseline).findings) == (("tools/call", 1, 0),)

    def test_the_short_page_lists_some_causes_of_a_rule_and_counts_the_rest(self) -> None:
        many = reported(*(finding(place=f"Tool.m{number:02}", new=f"T{number}") for number in range(20)))
        assert "  and 13 more (--all shows them)" in page(many)
        assert not any("more" in line for line in page(many, everything=True))

    def test_what_any_message_may_carry_is_named_with_its_place(self) -> None:
        made_finding = finding(
            "error-code-added", "URL_NEEDED", "-", "-32042", carriers=[Carrier("", "result", Travel.TO_CLIENT)]
        )
        assert any(line.endswith("URL_NEEDED: -32042") for line in page(reported(made_finding)))

    def test_the_short_page_stays_short_and_leaves_no_rule_out(self) -> None:
        rules = [rule for rule in CATALOGUE if rule.change]
        many = [finding(rule.id, f"Tool.m{n}", str(n), str(n + 1)) for rule in rules for n in range(20)]
        lines = page(reported(*many))
        assert len(lines) <= text.MAX_LINES
        assert all(any(line.startswith(f"error {rule.id}: ") for line in lines) for rule in rules)
        assert f"error {rules[-1].id}: Tool.m0, Tool.m1, Tool.m10 and 17 more" in lines


class TestPage:
    def test_all_shows_each_finding_with_its_messages(self) -> None:
        lines = page(reported(BREAKS_SERVER, finding(place="X.y", proven=False)), everything=True)
        assert f"    CallToolResult.resultType {BREAKS_SERVER.fingerprint}, in tools/call" in lines
        assert any('new client, old server: {"jsonrpc": "2.0"' in line for line in lines)
        assert "      new client, old server: no message that demonstrates this was found" in lines

    def test_long_lines_are_broken_but_messages_are_not(self) -> None:
        long = finding(place="Tool." + "x" * 30, new=" ".join(["word"] * 23))
        lines = page(reported(long), everything=True)
        assert max(len(line) for line in lines if "jsonrpc" not in line) <= text.WIDTH
        assert sum("jsonrpc" in line for line in lines) == 1

    def test_no_change(self) -> None:
        lines = page(reported())
        assert lines[0] == "2001-01-01 to 2002-02-02: no change"
        assert "version" not in "".join(lines)

    def test_a_view_selects_findings(self) -> None:
        source = next(rule for rule in CATALOGUE if rule.view is View.SOURCE)
        only_source = replace(BREAKS_NOBODY, rule=source, carriers={})
        wire_only = finding("request-method-added", "DoRequest", "-", "do")
        shown = {
            view: reported(only_source, wire_only, BREAKS_SERVER, options=Options(view=view)) for view in (None, *View)
        }
        rules = {view: {judged.rule.id for judged in found.findings} for view, found in shown.items()}
        assert rules[None] == {source.id, "request-method-added", "property-added-required"}
        assert rules[View.WIRE] == {"request-method-added", "property-added-required"}
        assert rules[View.SOURCE] == {source.id, "property-added-required"}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (("a", True), ("b", True), "peers that negotiate a common revision are not affected"),
        (("a", True), ("a", True), "both sides are dated a"),
        (("a", True), ("x", False), "one side has no date"),
    ],
)
def test_the_gate_of_the_version(old: tuple[str, bool], new: tuple[str, bool], expected: str) -> None:
    sides = [Side(name=name, revision=name, dated=dated) for name, dated in (old, new)]
    assert words.gate(*sides).startswith(expected)
