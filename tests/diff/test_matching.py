"""Matching definitions between revisions when their names differ, and the consequences."""

from collections.abc import Callable

import pytest

from mcp_bindgen.diff.source.compare import compare_definitions
from mcp_bindgen.diff.types.equality import Likeness, renamed
from mcp_bindgen.diff.wire.compare import compare_messages
from mcp_bindgen.ir.nodes import NULL, STRING, Field, Kind, Literal, Primitive, TypeRef, protocol_of
from mcp_bindgen.load.protocol import load_released
from support.source_view import found, read

CONTENT = 'export interface Content { type: "text" | "image"; size: number; text?: string; data?: string; }'
OTHERS = """
export interface SoundContent { type: "sound"; size: number; text?: string; }
export interface FilmContent { type: "film"; size: number; data?: string; }
"""
EXTENDED = "export interface Base { a: string; } export interface Extra extends Base { b: string; }"


class TestMatching:
    """Matching definitions when names differ."""

    def test_a_name_that_is_taken_by_another_object(self) -> None:
        """Code that uses `Answer` can still import it, but finds entirely different properties."""
        old = read("export interface Answer { a: string; b: string; }")
        new = read("export interface Answer { c: string; d: string; } export interface Reply { a: string; b: string; }")
        assert found(compare_definitions(old, new)) == [
            ("definition-name-reused", "Answer", "{ a, b }", "{ c, d }"),
            ("definition-renamed", "Reply", "Answer", "Reply"),
        ]

    def test_an_object_that_became_a_union_with_another(self) -> None:
        old = read("export interface Answer { a: string; b: string; }")
        new = read(
            "export interface GoodAnswer { a: string; b: string; } export interface BadAnswer { c: string; }"
            "export type Answer = GoodAnswer | BadAnswer;"
        )
        assert found(compare_definitions(old, new)) == [
            ("definition-added", "BadAnswer", "-", "BadAnswer"),
            ("definition-name-reused", "Answer", "{ a, b }", "GoodAnswer | BadAnswer"),
            ("definition-renamed", "GoodAnswer", "Answer", "GoodAnswer"),
        ]

    def test_inline_objects_that_become_one_definition(self) -> None:
        """Each place is named; one class cannot have two old names, so the others count as removed."""
        hints = "{ a: string; b?: string; }"
        old = read(f"export interface X {{ h: {hints} }} export interface Y {{ h: {hints} }}")
        new = read(
            f"export interface X {{ h: Hints }} export interface Y {{ h: Hints }} export interface Hints {hints}"
        )
        assert [(f.rule.id, f.place) for f in compare_definitions(old, new)] == [
            ("definition-renamed", "Hints"),
            ("definition-renamed", "Hints"),
            ("type-named", "X.h"),
            ("type-named", "Y.h"),
        ]

    def test_an_inline_object_in_a_union(self) -> None:
        old = read("export interface Holder { x: string | { a: string; }; }")
        new = read("export interface Holder { x: string | HolderX; } export interface HolderX { a: string; }")
        assert found(compare_definitions(old, new)) == [("type-named", "Holder.x", "inline object", "HolderX")]

    def test_a_renamed_message_changes_only_code(self) -> None:
        """Peers send the method; in Python, the stub and its result are named after the message."""
        text = """
        export interface %sRequest { method: "do"; }
        export interface %sResult { a: string; }
        export type ServerRequest = %sRequest;
        """
        old, new = (read(text % (name, name, name)) for name in ("Do", "ExecuteWithoutDelay"))
        assert compare_messages(old, new) == ()
        assert [(f.rule.id, f.old, f.new) for f in compare_definitions(old, new)] == [
            ("definition-renamed", "DoRequest", "ExecuteWithoutDelayRequest"),
            ("definition-renamed", "DoResult", "ExecuteWithoutDelayResult"),
        ]

    def test_objects_with_other_constants_are_not_parts(self) -> None:
        """Two new objects share its properties, but each has a constant that the old one did not allow."""
        rules = [f.rule.id for f in compare_definitions(read(CONTENT), read(OTHERS))]
        assert rules == ["definition-added", "definition-added", "definition-removed"]

    def test_a_reference_to_another_type_is_not_a_rename(self) -> None:
        """That is not a rename, but a changed type of the property."""
        types = "export interface A { a: string; } export interface B { a?: string; } "
        old, new = (read(f"{types} export interface Holder {{ x: {name}; }}") for name in "AB")
        assert found(compare_definitions(old, new)) == [("member-type-changed", "Holder.x", "A", "B")]

    def test_a_change_of_an_inherited_property_is_reported_at_the_base(self) -> None:
        text = "export interface Base { a: %s; %s } export interface Extra extends Base { b: string; }"
        old = read(text % ("string", ""))
        assert found(compare_definitions(old, read(text % ("string[]", "")))) == [
            ("member-type-changed", "Base.a", "string", "string[]")
        ]
        assert found(compare_definitions(old, read(text % ("string", "c: string;")))) == [
            ("member-added-required", "Base.c", "-", "string")
        ]

    def test_only_the_nearest_new_base_is_reported(self) -> None:
        text = "export interface A { a: string; } export interface B extends A { } export interface C %s { a: string; }"
        assert found(compare_definitions(read(text % ""), read(text % "extends B"))) == [("base-added", "C", "-", "B")]

    def test_a_dropped_base_removes_its_properties(self) -> None:
        lone = "export interface Base { a: string; } export interface Extra { b: string; }"
        assert found(compare_definitions(read(EXTENDED), read(lone))) == [
            ("base-removed", "Extra", "Base", "-"),
            ("member-removed-required", "Extra.a", "string", "-"),
        ]

    def test_a_new_constant_is_optional_in_code(self) -> None:
        """Constructors do not require it, so calls still work."""
        old, new = read("export interface A { x: string; }"), read('export interface A { x: string; kind: "a"; }')
        assert found(compare_definitions(old, new)) == [("member-added-optional", "A.kind", "-", '"a"')]

    def test_errors_with_other_codes_are_not_renames(self) -> None:
        """2026-07-28 drops one error and adds others of the same form: none is a rename of the old one."""
        findings = compare_definitions(load_released("2025-11-25"), load_released("2026-07-28"))
        renamed = [(f.old, f.new) for f in findings if f.rule.id == "definition-renamed"]
        assert renamed == [("RequestParamsMeta", "RequestMetaObject")]
        assert "URLElicitationRequiredError" in [f.place for f in findings if f.rule.id == "definition-removed"]

    def test_too_many_definitions_are_not_matched(self) -> None:
        """Beyond the limit nothing is guessed, and the comparison is still fast."""
        sides = (
            read("".join(f"export interface {kind}{i} {{ a: string; b: string; }}" for i in range(400)))
            for kind in ("Old", "New")
        )
        rules = {f.rule.id for f in compare_definitions(*sides)}
        assert rules == {"definition-added", "definition-removed"}


def text(number: int) -> TypeRef:
    return Primitive(kind=Kind.STRING, format=f"f{number}")


def constant(number: int) -> TypeRef:
    return Literal(values=(number,))


class TestBounds:
    """Comparing many members or properties takes a bounded number of steps; what is left out is not paired."""

    @pytest.mark.parametrize(
        ("gone", "come", "length", "is_found"),
        [(50, 50, 8, True), (50, 51, 8, False), (1, 2_501, 8, False), (1, 1, 100, True), (1, 1, 101, False)],
    )
    def test_renames_are_looked_for_among_few_short_names(
        self, gone: int, come: int, length: int, is_found: bool
    ) -> None:
        def fields(end: str, count: int) -> list[Field[TypeRef]]:
            names = (f"{number:06d}{end}".ljust(length, "x") for number in range(count))
            return [Field(wire_name=name, type=STRING, required=True) for name in names]

        asked: list[object] = []

        def same(a: object, b: object) -> bool:
            asked.append((a, b))
            return True

        assert bool(renamed(fields("ax", gone), fields("ay", come), same)) is bool(asked) is is_found

    @pytest.mark.parametrize(
        ("make", "count", "is_paired"),
        [(text, 11, True), (text, 12, False), (constant, 99, True), (constant, 100, False)],
        ids=["types in depth", "types by kind", "constants by kind", "equal constants only"],
    )
    def test_members_of_large_unions_are_paired_less_closely(
        self, make: Callable[[int], TypeRef], count: int, is_paired: bool
    ) -> None:
        old, new = ([make(number) for number in range(start, start + count)] for start in (0, count))
        nothing = protocol_of({})
        pairs, gone, come = Likeness(nothing, nothing, lambda a, b: a == b).pairs([*old, NULL], [*new, NULL])
        assert (NULL, NULL) in pairs
        assert len(pairs) == (count + 1 if is_paired else 1) and len(gone) == len(come) == count + 1 - len(pairs)
