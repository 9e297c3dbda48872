"""What every rule on messages finds in both directions, and the message that proves it."""

import json
from collections.abc import Iterable
from itertools import combinations, pairwise, permutations
from typing import Any, TypeAlias

import pytest

from mcp_bindgen.diff.finding import Carrier, Finding, Pair, Subject, Travel, breaks
from mcp_bindgen.diff.rule import Change
from mcp_bindgen.diff.rules import CATALOGUE, contracts, messages, properties, rules_of, values
from mcp_bindgen.diff.wire.compare import compare_messages
from mcp_bindgen.diff.wire.witness import Witnesses
from mcp_bindgen.findings.severity import Severity
from mcp_bindgen.load.protocol import load_released
from support.findings import definitions_between, messages_between, proven_between
from support.official import official_schema
from support.rule_cases import CASES, found, read
from support.samples import REVISIONS

WIRE = (*rules_of(messages), *rules_of(properties), *rules_of(values))
MIRRORS = {rule.id: rule.mirror for rule in WIRE}
MOVING = ("property-renamed", "property-moved")
"""Rules whose place has another name on the other side."""
SWAPPED = {Pair.OLD_CLIENT: Pair.NEW_CLIENT, Pair.NEW_CLIENT: Pair.OLD_CLIENT}
RANK = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.INFO: 2}


def tiered(pair: tuple[str, str]) -> Any:
    """Return the parameters of two revisions: the quick tests compare each revision with the next one."""
    return pytest.param(*pair, marks=[] if pair in pairwise(REVISIONS) else [pytest.mark.slow])


def test_every_rule_has_a_case() -> None:
    assert CASES.keys() == {rule.id for rule in WIRE}


@pytest.mark.parametrize("rule", CASES)
def test_it_finds_its_change(rule: str) -> None:
    case = CASES[rule]
    findings = compare_messages(read(case.old), read(case.new))
    assert found(findings) == list(case.found)
    assert rule in {finding.rule.id for finding in findings}
    assert {finding.place for finding in findings} == {finding.now for finding in findings} or rule in MOVING


@pytest.mark.parametrize("rule", CASES)
def test_no_other_finding_is_as_severe(rule: str) -> None:
    case = CASES[rule]
    findings = compare_messages(read(case.old), read(case.new))
    rank = min(RANK[f.severity] for f in findings if f.rule.id == rule)
    as_severe = [f.rule.id for f in findings if f.rule.id != rule and RANK[f.severity] <= rank]
    assert bool(as_severe) == bool(case.beside), as_severe


def test_the_direction_decides_which_peer_breaks() -> None:
    """The rules' directions by hand: the receiver refuses what it does not know."""
    to_server, to_client = Travel.TO_SERVER, Travel.TO_CLIENT
    table = [
        (Change.NARROWS, to_server, {Pair.OLD_CLIENT}),
        (Change.NARROWS, to_client, {Pair.NEW_CLIENT}),
        (Change.WIDENS, to_server, {Pair.NEW_CLIENT}),
        (Change.WIDENS, to_client, {Pair.OLD_CLIENT}),
        *((Change.BOTH, travel, {Pair.OLD_CLIENT, Pair.NEW_CLIENT}) for travel in Travel),
        *((Change.NONE, travel, set[Pair]()) for travel in Travel),
    ]
    for change, travel, pairs in table:
        assert breaks(change, travel) == pairs


def test_every_rule_has_a_mirror_or_a_reason() -> None:
    """The mirror of the mirror is the rule; only rules on contracts have none."""
    known = {rule.id: rule.mirror for rule in CATALOGUE}
    assert [rule.id for rule in CATALOGUE if rule.mirror and known.get(rule.mirror) != rule.id] == []
    assert {rule for rule in CATALOGUE if not rule.mirror} == set(rules_of(contracts))
    assert all(bool(rule.mirror) != bool(rule.unmirrored) for rule in CATALOGUE)


def test_mirrors_make_the_opposite_change() -> None:
    opposite = {Change.NARROWS: Change.WIDENS, Change.WIDENS: Change.NARROWS}
    change = {rule.id: rule.change for rule in WIRE}
    for here, there in MIRRORS.items():
        assert change[there] == opposite.get(change[here], change[here])


Seen: TypeAlias = tuple[str, str, str, str, str, Subject | None, Subject | None, Carrier, frozenset[Pair]]


def seen(findings: Iterable[Finding]) -> set[Seen]:
    """Return the findings once for each message that carries them."""
    return {
        (f.rule.id, f.place, f.now, f.old, f.new, f.before, f.after, carrier, f.breaks_in(carrier))
        for f in findings
        for carrier in f.carriers
    }


def mirrored(findings: Iterable[Finding]) -> set[Seen]:
    """Return the expected findings of the reverse comparison: everything with its sides swapped."""
    renames = {f.old: f.new for f in findings if f.rule.id == "method-renamed"}
    return {
        (
            MIRRORS[f.rule.id],
            f.now,
            f.place,
            f.new,
            f.old,
            f.after,
            f.before,
            Carrier(renames.get(carrier.method, carrier.method), carrier.part, carrier.travel),
            frozenset(SWAPPED[pair] for pair in f.breaks_in(carrier)),
        )
        for f in findings
        for carrier in f.carriers
    }


@pytest.mark.parametrize("rule", CASES)
def test_the_reverse_of_a_case_finds_the_mirrors(rule: str) -> None:
    old, new = read(CASES[rule].old), read(CASES[rule].new)
    assert seen(compare_messages(new, old)) == mirrored(compare_messages(old, new))


@pytest.mark.parametrize(("old", "new"), [tiered(pair) for pair in combinations(REVISIONS, 2)])
def test_the_reverse_of_two_revisions_finds_the_mirrors(old: str, new: str) -> None:
    there, back = messages_between(old, new), messages_between(new, old)
    assert seen(back) == mirrored(there)
    assert len({f.fingerprint for f in there}) == len(there)
    assert {f.rule.id for f in there if not f.pointer} <= {
        f"error-code-{verb}" for verb in ("added", "removed", "renumbered")
    }


@pytest.mark.parametrize(("old", "new"), [tiered(pair) for pair in permutations(REVISIONS, 2)])
def test_pointers_resolve(old: str, new: str) -> None:
    files = [json.loads(official_schema(revision).read_text("utf-8")) for revision in (new, old)]
    for finding in (*messages_between(old, new), *definitions_between(old, new)):
        assert any(resolves(finding.pointer, file) for file in files), (finding.rule.id, finding.pointer)


def resolves(pointer: str, document: Any) -> bool:
    for token in pointer.split("/")[1:]:
        key = token.replace("~1", "/").replace("~0", "~")
        if key not in document:
            return False
        document = document[key]
    return True


# A break is proven, or has a reason why it is not


UNPROVABLE = {
    "opaque-changed": "the receiver rejects none",
    "error-code-renumbered": "any integer is a valid code",
}


@pytest.mark.parametrize("rule", CASES)
def test_a_message_proves_the_case(rule: str) -> None:
    old, new = read(CASES[rule].old), read(CASES[rule].new)
    testimony = Witnesses(old, new)
    for finding in map(testimony.testify, compare_messages(old, new)):
        assert finding.witnesses.keys() == finding.proven
        assert finding.why_unproven.keys() == finding.unproven
        for reason in finding.why_unproven.values():
            assert UNPROVABLE[rule] in reason
        if rule in UNPROVABLE:
            assert finding.unproven


@pytest.mark.parametrize(("old", "new"), list(pairwise(REVISIONS)))
def test_only_a_code_with_a_new_meaning_is_undecided(old: str, new: str) -> None:
    assert {f.rule.id for f in proven_between(old, new) if f.unproven} <= {"error-code-renumbered"}


@pytest.mark.parametrize(("old", "new"), list(pairwise(REVISIONS)))
def test_proven_breaks_are_proven_in_reverse(old: str, new: str) -> None:
    there, back = proven_between(old, new), proven_between(new, old)
    proven = {(MIRRORS[f.rule.id], f.now, f.new, f.old): f.proven for f in there}
    assert {(f.rule.id, f.place, f.old, f.new): f.proven for f in back} == {
        key: frozenset(SWAPPED[pair] for pair in pairs) for key, pairs in proven.items()
    }


def test_a_message_that_is_refused_for_another_reason_proves_nothing() -> None:
    """Any old answer to completion/complete lacks `resultType`; the bound needs more values."""
    before, after = load_released("2025-11-25"), load_released("2026-07-28")
    (finding,) = [f for f in compare_messages(before, after) if f.rule.id == "constraint-added"]
    witness = Witnesses(before, after).testify(finding).witnesses[Pair.NEW_CLIENT]
    assert len(witness["result"]["completion"]["values"]) > 100
