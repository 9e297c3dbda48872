"""How a comparison walks types: cycles, reused names, places in the file, gates."""

import pytest

from mcp_bindgen.diff.finding import Carrier, Pair, Travel
from mcp_bindgen.diff.wire.compare import compare_messages
from mcp_bindgen.diff.wire.gates import Gates
from mcp_bindgen.load.protocol import load_released
from support.rule_cases import REQUEST, RESULT, asking, read

END = """
export interface EndRequest { method: "end"; params: EndRequestParams; }
export interface EndRequestParams { b: B; }
export interface EndResult { }
export type ClientRequest = InitializeRequest | DoRequest | EndRequest;
"""


def test_an_assumption_made_inside_a_cycle_is_checked_again() -> None:
    """B is equal only while A is assumed to be; the request of B is affected too."""

    def text(member: str) -> str:
        types = f"export interface A {{ b?: B; x: {member}; }} export interface B {{ a?: A; }}"
        return f"{REQUEST} {RESULT} {END} export interface DoRequestParams {{ a: A; }} {types}"

    (finding,) = compare_messages(read(text("string")), read(text("boolean")))
    assert (finding.rule.id, finding.place, finding.methods) == ("type-changed", "A.x", ("do", "end"))


def test_a_recursive_alias_is_reported_once() -> None:
    old, new = (
        read(asking("x: Nest;", f"export type Nest = {forms} | Nest[];")) for forms in ("string", "string | boolean")
    )
    assert [f.place for f in compare_messages(old, new)] == ["DoRequestParams.x"]


def test_a_union_member_whose_name_was_reused_is_still_paired() -> None:
    """The old A is now C, and every old value is still valid; the new A is an additional form."""
    more = "export interface B { z: boolean; }"
    was = "export interface A { a: string; b: string; }"
    is_ = "export interface A { q: string; } export interface C { a: string; b: string; }"
    old, new = read(asking("x: A | B;", more + was)), read(asking("x: A | B | C;", more + is_))
    assert [(f.rule.id, f.new) for f in compare_messages(old, new)] == [("union-member-added", "A")]


@pytest.mark.parametrize(
    ("was", "is_", "pointer"),
    [
        ("x: string[];", "x: boolean[];", "/x/items"),
        ("x: string[] | null;", "x: boolean[] | null;", "/x"),
        ("x: { [key: string]: string };", "x: { [key: string]: boolean };", "/x/additionalProperties"),
        ("x: { y?: string };", "x: { y: string };", "/x/properties/y"),
        ('"a/b~c": string;', '"a/b~c": boolean;', "/a~1b~0c"),
    ],
)
def test_the_pointer_refers_to_the_file(was: str, is_: str, pointer: str) -> None:
    """Below an inline union, the order in the file is unknown."""
    (finding,) = compare_messages(read(asking(was)), read(asking(is_)))
    assert finding.pointer == "/$defs/DoRequestParams/properties" + pointer


def test_only_the_older_peer_is_gated() -> None:
    gates = Gates(load_released("2025-03-26"), load_released("2025-06-18"))
    ask = Carrier("elicitation/create", "params", Travel.TO_CLIENT)
    assert gates.gate(ask, Pair.OLD_CLIENT, frozenset()) == "capability:client.elicitation"
    assert gates.gate(ask, Pair.NEW_CLIENT, frozenset()) == ""


def test_what_was_once_used_without_a_declaration_has_no_gate() -> None:
    gates = Gates(load_released("2024-11-05"), load_released("2025-03-26"))
    complete = Carrier("completion/complete", "params", Travel.TO_SERVER)
    assert gates.gate(complete, Pair.NEW_CLIENT, frozenset()) == ""
