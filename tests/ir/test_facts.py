"""Facts that follow from types: discriminators, the order of unions, constants, pages, and what a struct extends."""

from collections.abc import Sequence

import pytest

from mcp_bindgen.ir.facts import are_distinct, discriminators, most_specific_first
from mcp_bindgen.ir.names import lineage
from mcp_bindgen.ir.nodes import Protocol, Ref, Struct, TypeRef, Union
from support.samples import HANDSHAKE_TS, load, typescript_source

SHAPES = """
export interface Circle { kind: "circle"; r: number; }
export interface Square { kind: "square"; a: number; label?: string; }
export interface Note { kind?: "note"; text: string; }
export interface Any { label?: string; }
export type Tagged = Circle | Square;
export type Mixed = Circle | string;
export type Untagged = Circle | Note;
export type Vague = Any | Base | Circle | Square | string | null;
export interface Base { b: string; }
export interface Left extends Base { l: string; }
export interface Far { f: string; }
export interface Right extends Far { r: string; }
export interface Bottom extends Left, Right { x: string; }
"""


@pytest.fixture(scope="module")
def protocol() -> Protocol:
    return load(typescript_source(HANDSHAKE_TS + SHAPES))[0]


def members(protocol: Protocol, name: str) -> Sequence[TypeRef]:
    union = protocol.resolve(Ref(name=name))
    assert isinstance(union, Union)
    return union.members


def struct(protocol: Protocol, name: str) -> Struct:
    found = protocol.resolve(Ref(name=name))
    assert isinstance(found, Struct)
    return found


@pytest.mark.parametrize(("union", "tags"), [("Tagged", ["kind"]), ("Mixed", []), ("Untagged", []), ("Vague", [])])
def test_a_discriminator_is_a_constant_that_every_member_requires(
    protocol: Protocol, union: str, tags: list[str]
) -> None:
    assert list(discriminators(protocol, members(protocol, union))) == tags


@pytest.mark.parametrize(("name", "expected"), [("Circle", True), ("Note", False)])
def test_a_constant_is_required(protocol: Protocol, name: str, expected: bool) -> None:
    field = struct(protocol, name).field("kind")
    assert field is not None and field.is_constant is expected


def test_the_member_that_requires_most_comes_first(protocol: Protocol) -> None:
    ordered = most_specific_first(protocol, members(protocol, "Vague"))
    names = [type_.name if isinstance(type_, Ref) else "" for type_ in ordered]
    assert names.index("Circle") < names.index("Any") and names.index("Base") < names.index("Any")
    assert are_distinct(protocol, members(protocol, "Tagged"))


def test_of_equal_requirements_the_member_with_fewer_properties_comes_first(protocol: Protocol) -> None:
    pair = (Ref(name="Square"), Ref(name="Circle"))
    assert most_specific_first(protocol, pair) == [Ref(name="Circle"), Ref(name="Square")]


def test_the_nearest_bases_come_first(protocol: Protocol) -> None:
    assert lineage("Bottom", protocol.definitions) == ("Left", "Right", "Base", "Far")
