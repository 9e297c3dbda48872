"""One pair of schemas for every rule of the catalogue, with the complete list of what is found between them."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

import pytest

from mcp_bindgen.diff.compare import compare
from mcp_bindgen.diff.finding import Carrier, Finding, Pair, Travel, breaks
from mcp_bindgen.diff.rules import CATALOGUE, MIRRORS, Change
from mcp_bindgen.ir.nodes import Protocol
from mcp_bindgen.load import load_released
from samples import HANDSHAKE, REVISIONS, json_source, load, typescript_source

Found: TypeAlias = tuple[str, str, str, str]
"""The id of a rule, the place, the old reading and the new one."""

START = """
export interface InitializeRequest { method: "initialize"; params: { protocolVersion: string }; }
export interface InitializeResult { protocolVersion: string; }
"""
REQUEST = 'export interface DoRequest { method: "do"; params: DoRequestParams; }'
RESULT = "export interface DoResult { }"
ROOT = "export type ClientRequest = InitializeRequest | DoRequest;"
OTHER_MESSAGES = """
export type ClientRequest = InitializeRequest;
export interface EmptyResult { }
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Two schemas, by what they say beyond the handshake, and all findings between them.

    TypeScript cannot close an object, so where that is the point they are definitions of JSON Schema.
    """

    old: str | Mapping[str, Any]
    new: str | Mapping[str, Any]
    found: tuple[Found, ...]


def asking(params: str, more: str = "") -> str:
    """A schema with a request of the client whose params have these members."""
    return f"{REQUEST} {RESULT} {ROOT} export interface DoRequestParams {{ {params} }} {more}"


def member(rule: str, was: str, is_: str, old: str, new: str) -> Case:
    """A case in which the declaration of one member changes."""
    return Case(old=asking(was), new=asking(is_), found=((rule, "DoRequestParams.x", old, new),))


OPEN = HANDSHAKE
CLOSED = {
    **HANDSHAKE,
    "InitializeRequestParams": {**HANDSHAKE["InitializeRequestParams"], "additionalProperties": False},
}

CASES: dict[str, Case] = {
    "request-method-added": Case(
        old=OTHER_MESSAGES,
        new=OTHER_MESSAGES + 'export interface AskRequest { method: "ask"; } export type ServerRequest = AskRequest;',
        found=(("request-method-added", "AskRequest", "-", "ask"),),
    ),
    "request-method-removed": Case(
        old=asking("x: string;"),
        new=OTHER_MESSAGES,
        found=(("request-method-removed", "DoRequest", "do", "-"),),
    ),
    "notification-method-added": Case(
        old=OTHER_MESSAGES,
        new=OTHER_MESSAGES
        + 'export interface ToldNotification { method: "told"; } export type ServerNotification = ToldNotification;',
        found=(("notification-method-added", "ToldNotification", "-", "told"),),
    ),
    "notification-method-removed": Case(
        old=OTHER_MESSAGES
        + 'export interface ToldNotification { method: "told"; } export type ClientNotification = ToldNotification;',
        new=OTHER_MESSAGES,
        found=(("notification-method-removed", "ToldNotification", "told", "-"),),
    ),
    "property-added-optional": member("property-added-optional", "", "x?: string;", "-", "string"),
    "property-added-required": member("property-added-required", "", "x: string[];", "-", "string[]"),
    "property-removed-optional": member("property-removed-optional", "x?: string;", "", "string", "-"),
    "property-removed-required": member("property-removed-required", "x: boolean;", "", "boolean", "-"),
    "property-now-required": member("property-now-required", "x?: string;", "x: string;", "optional", "required"),
    "property-now-optional": member("property-now-optional", "x: string;", "x?: string;", "required", "optional"),
    "property-renamed": Case(
        old=asking("toolName: string;"),
        new=asking("tool_name: string;"),
        found=(("property-renamed", "DoRequestParams.tool_name", "toolName", "tool_name"),),
    ),
    "union-member-added": member("union-member-added", "x: string;", "x: string | string[];", "-", "string[]"),
    "union-member-removed": Case(
        old=asking("x: A | B;", 'export interface A { type: "a"; } export interface B { type: "b"; }'),
        new=asking("x: A;", 'export interface A { type: "a"; } export interface B { type: "b"; }'),
        found=(("union-member-removed", "DoRequestParams.x", "B", "-"),),
    ),
    "result-alternative-added": Case(
        old=asking("", "export interface LaterResult { }"),
        new=asking(
            "",
            "export interface LaterResult { }"
            " export interface DoResultResponse { id: string; result: DoResult | LaterResult; }",
        ),
        found=(("result-alternative-added", "DoResult", "-", "LaterResult"),),
    ),
    "result-alternative-removed": Case(
        old=asking(
            "",
            "export interface LaterResult { }"
            " export interface DoResultResponse { id: string; result: DoResult | LaterResult; }",
        ),
        new=asking("", "export interface LaterResult { }"),
        found=(("result-alternative-removed", "DoResult", "LaterResult", "-"),),
    ),
    "enum-value-added": member("enum-value-added", 'x: "a" | "b";', 'x: "a" | "b" | "c";', "-", '"c"'),
    "enum-value-removed": member("enum-value-removed", 'x: "a" | "b";', 'x: "b";', '"a"', "-"),
    "enum-opened": member("enum-opened", 'x: "a" | "b";', "x: string;", '"a" | "b"', "string"),
    "enum-closed": member("enum-closed", "x: string;", 'x: "a" | "b";', "string", '"a" | "b"'),
    "const-changed": member("const-changed", 'x: "a";', 'x: "b";', '"a"', '"b"'),
    "type-widened": member("type-widened", "x: string;", "x: unknown;", "string", "any"),
    "type-narrowed": member("type-narrowed", "x: unknown;", "x: string[];", "any", "string[]"),
    "type-changed": member("type-changed", "x: string;", "x: string[];", "string", "string[]"),
    "integer-to-number": member(
        "integer-to-number", "x: number;", "/** @TJS-type number */ x: number;", "integer", "number"
    ),
    "number-to-integer": member(
        "number-to-integer", "/** @TJS-type number */ x: number;", "x: number;", "number", "integer"
    ),
    "nullable-added": member("nullable-added", "x: string;", "x: string | null;", "-", "null"),
    "nullable-removed": member("nullable-removed", "x: string | null;", "x: string;", "null", "-"),
    "constraint-added": member("constraint-added", "x: number;", "/** @maximum 5 */ x: number;", "-", "maximum 5"),
    "constraint-removed": member("constraint-removed", "/** @minimum 5 */ x: number;", "x: number;", "minimum 5", "-"),
    "constraint-changed": member(
        "constraint-changed",
        "/** @pattern ^a */ x: string;",
        "/** @pattern ^b */ x: string;",
        "pattern ^a",
        "pattern ^b",
    ),
    "additional-properties-closed": Case(
        old=OPEN,
        new=CLOSED,
        found=(("additional-properties-closed", "InitializeRequestParams{}", "open", "closed"),),
    ),
    "additional-properties-opened": Case(
        old=CLOSED,
        new=OPEN,
        found=(("additional-properties-opened", "InitializeRequestParams{}", "closed", "open"),),
    ),
}

ALL_MIRRORS = {**MIRRORS, **{there: here for here, there in MIRRORS.items()}}
SWAPPED = {Pair.OLD_CLIENT: Pair.NEW_CLIENT, Pair.NEW_CLIENT: Pair.OLD_CLIENT}
NAMED_BY_THE_NEW_SIDE = {
    "property-renamed": "the place ends in the name that the member has now, which is another on the way back",
}
"""Rules whose findings are at another member on the way back, and why."""


def read(text: str | Mapping[str, Any]) -> Protocol:
    source = typescript_source(START + text) if isinstance(text, str) else json_source(text)
    protocol, diagnostics = load(source)
    assert not diagnostics
    return protocol


def found(findings: Iterable[Finding]) -> list[Found]:
    return [(f.rule.id, f.place, f.old, f.new) for f in findings]


def test_every_rule_has_a_case() -> None:
    assert list(CASES) == [rule.id for rule in CATALOGUE]


@pytest.mark.parametrize("rule", CASES)
def test_what_is_found(rule: str) -> None:
    case = CASES[rule]
    findings = compare(read(case.old), read(case.new))
    assert found(findings) == list(case.found)
    assert rule in {finding.rule.id for finding in findings}


def test_who_breaks() -> None:
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


def test_a_mirror_for_every_rule() -> None:
    """Every rule is on one side of one row; one that is its own mirror is on both sides of its row."""
    sides = Counter(rule for row in MIRRORS.items() for rule in set(row))
    assert sides == Counter(rule.id for rule in CATALOGUE)


def test_mirrors_change_the_opposite() -> None:
    opposite = {Change.NARROWS: Change.WIDENS, Change.WIDENS: Change.NARROWS}
    change = {rule.id: rule.change for rule in CATALOGUE}
    for here, there in MIRRORS.items():
        assert change[there] == opposite.get(change[here], change[here])


Seen: TypeAlias = tuple[str, str, str, str, Carrier, frozenset[Pair]]


def seen(findings: Iterable[Finding], *, whole: bool) -> set[Seen]:
    """Return the findings once for each message that carries them; the place whole, or only its last member."""
    return {
        (f.rule.id, _place(f, whole), f.old, f.new, carrier, breaks(f.rule.change, carrier.travel))
        for f in findings
        for carrier in f.carriers
    }


def mirrored(findings: set[Seen]) -> set[Seen]:
    return {
        (ALL_MIRRORS[rule], place, new, old, carrier, frozenset(SWAPPED[pair] for pair in pairs))
        for rule, place, old, new, carrier, pairs in findings
    }


def _place(finding: Finding, whole: bool) -> str:
    if finding.rule.id in NAMED_BY_THE_NEW_SIDE:
        return ""
    definition, _, member = finding.place.rpartition(".")
    return finding.place if whole else member if definition else ""


@pytest.mark.parametrize("rule", CASES)
def test_the_way_back_of_a_case(rule: str) -> None:
    old, new = read(CASES[rule].old), read(CASES[rule].new)
    there, back = compare(old, new), compare(new, old)
    assert seen(back, whole=True) == mirrored(seen(there, whole=True))
    assert {ALL_MIRRORS[f.rule.id]: f.breaks for f in there} == {
        f.rule.id: frozenset(SWAPPED[pair] for pair in f.breaks) for f in back
    }


@pytest.mark.parametrize(("old", "new"), list(pairwise(REVISIONS)))
def test_the_way_back_between_released_revisions(old: str, new: str) -> None:
    """A place is named after the definition of the new side, so of places only the last member is the same."""
    before, after = load_released(old), load_released(new)
    there, back = compare(before, after), compare(after, before)
    assert seen(back, whole=False) == mirrored(seen(there, whole=False))
