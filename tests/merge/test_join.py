"""Joining intersections: objects, unions, scalars, and what no type expresses."""

from typing import Any

import pytest

from mcp_bindgen.ir.nodes import ANY, STRING, Bounds, Kind, Literal, Primitive, Ref, TypeRef, Union
from support.definitions import alias, build_json, built, good, shape, struct


class TestComputedTypes:
    def test_a_property_that_may_be_undefined_is_optional(self) -> None:
        definitions = good("interface A { x: string | undefined; y: string }")
        assert shape(struct(definitions, "A")) == {"x": (STRING, False), "y": (STRING, True)}

    @pytest.mark.parametrize(("utility", "required"), [("Partial", False), ("Required", True)])
    def test_partial_and_required(self, utility: str, required: bool) -> None:
        definitions = good(f"interface A {{ x: string; y?: string }} type B = {utility}<A>;")
        assert shape(struct(definitions, "B")) == {"x": (STRING, required), "y": (STRING, required)}

    def test_exclude_and_extract_choose_among_constants_only(self) -> None:
        definitions = good("""type A = Exclude<"a" | "b", "a">; type B = Extract<"a" | "b", "a">;
               type C = Exclude<string | number, string>;""")
        assert [alias(definitions, name) for name in "AB"] == [Literal(values=("b",)), Literal(values=("a",))]
        assert alias(definitions, "C") == ANY, "kept as text"

    def test_a_parameter_of_a_mapped_type_hides_that_of_the_declaration(self) -> None:
        definitions = good("""interface A<K> { in: { [K in "a" | "b"]: K }; out: K } type B = A<number[]>;""")
        held = struct(definitions, "ANumberArrayIn")
        assert shape(held) == {name: (Literal(values=(name,)), True) for name in "ab"}

    def test_an_enum_without_members_admits_no_value(self) -> None:
        assert alias(good("enum A {}"), "A") == Primitive(kind=Kind.NEVER)

    @pytest.mark.parametrize(("kind", "is_exact"), [({"const": "b"}, True), ({"type": "string"}, False)])
    def test_exactly_one_of_objects_needs_a_tag(self, kind: Any, is_exact: bool) -> None:
        kinds = ({"const": "a"}, kind)
        parts = [{"type": "object", "properties": {"kind": one}, "required": ["kind"]} for one in kinds]
        definitions, _ = build_json({"A": {"oneOf": parts}})
        assert (alias(definitions, "A").opaque is None) is is_exact


class TestIntersections:
    def test_named_parts_become_bases_and_the_others_fields(self) -> None:
        definitions = good("""type C = A & B & { c: string }; interface A { a: string } interface B { b: string }
               interface D { d: A & { e: string } }""")
        assert shape(struct(definitions, "C")) == {"a": (STRING, True), "b": (STRING, True), "c": (STRING, True)}
        assert [base.name for base in struct(definitions, "C").bases] == ["A", "B"]
        assert shape(struct(definitions, "D"))["d"] == (Ref(name="DD"), True)
        assert list(shape(struct(definitions, "DD"))) == ["a", "e"]

    def test_all_of_is_an_intersection(self) -> None:
        part = {"type": "object", "properties": {"c": {"type": "string"}}, "required": ["c"]}
        other = {"type": "object", "properties": {"a": {"type": "string"}}}
        definitions, found = build_json({"A": other, "B": {"allOf": [{"$ref": "#/$defs/A"}, part]}})
        assert found == []
        assert shape(struct(definitions, "B")) == {"a": (STRING, False), "c": (STRING, True)}

    def test_a_property_is_required_if_one_part_requires_it(self) -> None:
        definitions = good("type C = A & B; interface A { x: string } interface B { x?: string }")
        assert shape(struct(definitions, "C"))["x"] == (STRING, True)

    def test_a_later_part_does_not_make_a_property_optional(self) -> None:
        """An inline part narrows a property of a named one; in JSON, two parts may both declare it."""
        definitions = good("type C = A & { x?: 'a' }; interface A { x: string }")
        assert shape(struct(definitions, "C"))["x"] == (Literal(values=("a",)), True)
        parts = [
            {"type": "object", "properties": {"x": {"type": "string"}}, "required": names} for names in (["x"], [])
        ]
        assert shape(struct(build_json({"A": {"allOf": parts}})[0], "A")) == {"x": (STRING, True)}

    def test_an_intersection_with_a_union_is_a_union_of_intersections(self) -> None:
        definitions, _ = built("""type A = B & ({ kind: "x"; x: string } | C); interface B { b: string }
               interface C { kind: "c" }""")
        assert alias(definitions, "A") == Union(members=(Ref(name="AKindX"), Ref(name="AC")))
        assert list(shape(struct(definitions, "AKindX"))) == ["b", "kind", "x"]
        assert [base.name for base in struct(definitions, "AC").bases] == ["B", "C"]

    @pytest.mark.parametrize(
        ("text", "type_"),
        [
            ("string & {}", STRING),
            ("string & unknown", STRING),
            ('("a" | "b") & "b"', Literal(values=("b",))),
            ('("a" | 1) & string', Literal(values=("a",))),
        ],
    )
    def test_scalars_are_narrowed(self, text: str, type_: TypeRef) -> None:
        found, _ = built(f"type A = {text};")
        assert alias(found, "A") == type_

    def test_assertions_of_both_parts_hold(self) -> None:
        parts = [
            {"type": "string", "minLength": 1, "maxLength": 9},
            {"minLength": 3},
            {"type": "string", "maxLength": 5},
        ]
        definitions, found = build_json({"A": {"allOf": parts}, "B": {"$ref": "#/$defs/A", "minLength": 4}})
        assert found == []
        assert alias(definitions, "A") == Primitive(kind=Kind.STRING, bounds=Bounds(min_length=3, max_length=5))
        assert alias(definitions, "B") == Primitive(kind=Kind.STRING, bounds=Bounds(min_length=4, max_length=5))

    @pytest.mark.parametrize(
        ("text", "kind", "opaque"),
        [
            ("string & { a: string }", Kind.STRING, "string & { a: string }"),
            ("number & { readonly minimum: 0 }", Kind.INTEGER, "integer & { minimum: 0 }"),
            ("string & boolean", Kind.ANY, "string & boolean"),
            ("string[] & { a: string }", Kind.ANY, "string[] & { a: string }"),
        ],
    )
    def test_what_no_type_expresses_is_kept_as_text(self, text: str, kind: Kind, opaque: str) -> None:
        found = alias(good(f"type A = {text};"), "A")
        assert found == Primitive(kind=kind)
        assert found.opaque and found.opaque.text == opaque

    def test_too_many_forms_are_kept_as_text(self) -> None:
        union = " | ".join(f"{{ m{n}: string }}" for n in range(9))
        found = alias(built(f"type U = {union}; type V = {union}; type A = U & V;")[0], "A")
        assert (found, found.opaque and found.opaque.text) == (ANY, "U & V")
