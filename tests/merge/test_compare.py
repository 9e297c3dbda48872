"""Comparing two readings by what they mean, and how types are shown to people."""

import pytest

from mcp_bindgen.ingest.json_schema import SchemaDocument, read_schema
from mcp_bindgen.ingest.revisions import shipped_source
from mcp_bindgen.ingest.shapes import Declaration
from mcp_bindgen.ingest.sources import SourceKind, parse_json
from mcp_bindgen.ir.diagnostics import Diagnostics
from mcp_bindgen.ir.nodes import (
    ANY,
    STRING,
    AllOf,
    Bounds,
    Difference,
    Field,
    Kind,
    ListOf,
    Literal,
    MapOf,
    Object,
    Primitive,
    Ref,
    Shape,
    Union,
)
from mcp_bindgen.ir.spell import is_any, spell, spell_bounds
from mcp_bindgen.merge.compare import Comparison
from mcp_bindgen.merge.flatten import flatten, resolve
from mcp_bindgen.merge.lower import lower
from support.official import official_schema
from support.samples import REVISIONS, lines, read_json, typescript_document

INTEGER = Primitive(kind=Kind.INTEGER)


def declared(text: str) -> dict[str, Declaration]:
    return lower(typescript_document(text), {})


def compared(left: str, right: str) -> list[Difference]:
    return list(Comparison(declared(left), declared(right)).declarations())


def rules(left: str, right: str) -> list[tuple[str, str]]:
    return [(d.rule, d.pointer.removeprefix("/A")) for d in compared(left, right)]


class TestSame:
    @pytest.mark.parametrize(
        ("left", "right"),
        [
            ("type A = string;", "type A = string;"),
            ("interface A { x: string; y?: B } interface B {}", "interface A { y?: B; x: string } interface B {}"),
            (
                "interface A extends B { x: string } interface B { y: string }",
                "interface A { x: string; y: string } interface B { y: string }",
            ),
            (
                "type A = B & { x: string }; interface B { y: string }",
                "interface A extends B { x: string } interface B { y: string }",
            ),
            ("interface A { [key: string]: unknown }", "interface A {}"),
            ("type A = object;", "interface A {}"),
            ("interface A { a: A; l: A[] }", "interface A { a: A; l: A[] }"),
        ],
    )
    def test_equivalent_declarations_do_not_differ(self, left: str, right: str) -> None:
        assert compared(left, right) == []
        assert compared(right, left) == []


class TestDifferences:
    @pytest.mark.parametrize(
        ("left", "right", "rule", "pointer", "contradiction"),
        [
            ("type A = string;", "type A = boolean;", "type", "", True),
            ("type A = string;", "type A = string[];", "type", "", True),
            ("type A = string[];", "type A = boolean[];", "type", "/items", True),
            (
                "type A = Record<string, string>;",
                "type A = Record<string, boolean>;",
                "type",
                "/additionalProperties",
                True,
            ),
            ('type A = "a";', 'type A = "b";', "literal", "", True),
            ("type A = true;", "type A = 1;", "literal", "", True),
            ('type A = "a" | "b";', 'type A = "b" | "a";', "enum-order", "", False),
            ('type A = "a" | "b";', 'type A = "a";', "union-member", "", True),
            ("type A = string | boolean;", "type A = boolean | string;", "union-order", "", False),
            ("type A = string | boolean;", "type A = string;", "union-member", "", True),
            ('type A = "x" | string;', "type A = string;", "open-literals", "", False),
            ("interface A { x: string }", "interface A { x?: string }", "required", "/properties/x", True),
            ("interface A { x: string }", "interface A { y: string }", "member", "/properties/x", True),
            ('interface A { "a/b~": string }', "interface A {}", "member", "/properties/a~1b~0", True),
            (
                "type A = B; interface B { b: string }",
                "interface A { b: string } interface B { b: string }",
                "reference-inlined",
                "",
                False,
            ),
            ("type A = string;", "", "definition", "", True),
        ],
    )
    def test_a_difference_is_found(self, left: str, right: str, rule: str, pointer: str, contradiction: bool) -> None:
        first = compared(left, right)[0]
        assert (first.rule, first.pointer, first.contradiction) == (rule, f"/A{pointer}", contradiction)

    def test_bounds_and_formats(self) -> None:
        def one(bounds: Bounds, format_: str = "") -> dict[str, Declaration]:
            return {"A": Declaration(name="A", type=Primitive(kind=Kind.STRING, bounds=bounds, format=format_))}

        (found,) = Comparison(one(Bounds(min_length=1)), one(Bounds())).declarations()
        assert (found.rule, found.left, found.right) == ("bound-lost", "min length 1", "no bound")
        assert found.contradiction
        (found,) = Comparison(one(Bounds(min_length=1)), one(Bounds(min_length=2))).declarations()
        assert (found.rule, found.left, found.right) == ("bound", "min length 1", "min length 2")
        (found,) = Comparison(one(Bounds(), "uri"), one(Bounds())).declarations()
        assert (found.rule, found.contradiction) == ("format", False)

    def test_a_closed_object_differs_from_an_open_one(self) -> None:
        members = {"type": "object", "properties": {"x": {"type": "string"}}}
        left, _ = read_json({"A": members})
        right, _ = read_json({"A": {**members, "additionalProperties": False}})
        assert [d.rule for d in Comparison(left, right).declarations()] == ["openness"]

    def test_differences_are_found_in_the_order_of_the_left_side(self) -> None:
        names = "zulu yankee alpha mike bravo".split()
        left = "".join(f"{name}: string; " for name in names)
        right = "".join(f"{name}: boolean; " for name in reversed(names))
        assert [pointer for _, pointer in rules(f"interface A {{ {left} }}", f"interface A {{ {right} }}")] == [
            f"/properties/{name}" for name in names
        ]

    def test_types_that_refer_to_each_other_are_compared_once(self) -> None:
        left = "interface A { x: B } interface B { x: B; y: string } interface C { x: C; y: string }"
        right = "interface A { x: C } interface B { x: B; y: string } interface C { x: C; y: string }"
        assert rules(left, right)[0] == ("reference-inlined", "/properties/x")
        left = "interface A { p: B; q: B } interface B { n: B } interface C { n: C }"
        assert rules(left, left.replace("p: B; q: B", "p: C; q: C")) == [
            ("reference-inlined", "/properties/p"),
            ("reference-inlined", "/properties/p/properties/n"),
            ("reference-inlined", "/properties/q"),
        ]


class TestFlatten:
    def test_cycles_end(self) -> None:
        declarations = declared("interface A extends A { x: string } type B = B; type C = D; type D = C;")
        flat = flatten(Ref(name="A"), declarations)
        assert flat
        assert list(flat.properties) == ["x"]
        assert flatten(Ref(name="B"), declarations) is None
        assert isinstance(resolve(Ref(name="C"), declarations), Ref)
        assert resolve(Ref(name="missing"), declarations) == Ref(name="missing")


class TestOfficialFiles:
    @pytest.mark.parametrize("revision", REVISIONS)
    def test_the_shipped_structure_is_that_of_the_official_file(self, revision: str) -> None:
        """Not only in meaning: the declarations are equal, and in the same order, without the docs."""

        def read(data: bytes) -> SchemaDocument:
            diagnostics = Diagnostics()
            document = read_schema(parse_json(data, "schema.json", diagnostics), "schema.json", diagnostics)
            assert lines(diagnostics) == []
            return document

        shipped = read(shipped_source(revision, SourceKind.JSON_SCHEMA).data)
        official = read(official_schema(revision).read_bytes())
        assert shipped.container == official.container
        assert list(Comparison(shipped.declarations, official.declarations).declarations()) == []
        assert any(declaration.doc for declaration in official.declarations.values())
        assert not any(declaration.doc for declaration in shipped.declarations.values())
        bare = {name: undocumented(declaration) for name, declaration in official.declarations.items()}
        assert list(shipped.declarations.items()) == list(bare.items())


def undocumented(declaration: Declaration) -> Declaration:
    return Declaration(
        name=declaration.name,
        type=without_docs(declaration.type),
        deprecated=declaration.deprecated,
        pointer=declaration.pointer,
    )


def without_docs(type_: Shape) -> Shape:
    match type_:
        case Primitive() | Literal() | Ref():
            return type_
        case ListOf(item=item, bounds=bounds):
            return ListOf(item=without_docs(item), bounds=bounds)
        case MapOf(value=value, bounds=bounds):
            return MapOf(value=without_docs(value), bounds=bounds)
        case Union(members=members):
            return Union(members=tuple(without_docs(member) for member in members))
        case AllOf(members=members):
            return AllOf(members=tuple(without_docs(member) for member in members))
        case Object(properties=properties, bases=bases, extra=extra):
            bare = tuple(
                Field(wire_name=f.wire_name, type=without_docs(f.type), required=f.required, deprecated=f.deprecated)
                for f in properties
            )
            return Object(properties=bare, bases=bases, extra=None if extra is None else without_docs(extra))


class TestSpelling:
    @pytest.mark.parametrize(
        ("type_", "text"),
        [
            (STRING, "string"),
            (ANY, "any"),
            (Primitive(kind=Kind.STRING, known=("a", "b")), '"a" | "b" | string'),
            (Literal(values=("a", 1, True, None)), '"a" | 1 | true | null'),
            (Ref(name="Tool"), "Tool"),
            (ListOf(item=Ref(name="Tool")), "Tool[]"),
            (ListOf(item=Union(members=(STRING, INTEGER))), "(string | integer)[]"),
            (ListOf(item=Literal(values=("a", "b"))), '("a" | "b")[]'),
            (MapOf(value=STRING), "{ [key: string]: string }"),
            (AllOf(members=(Ref(name="A"), Union(members=(STRING, INTEGER)))), "A & (string | integer)"),
            (
                Object(
                    properties=(
                        Field(wire_name="x", type=STRING, required=True),
                        Field(wire_name="y", type=ANY, required=False),
                    )
                ),
                "{ x: string; y?: any }",
            ),
        ],
    )
    def test_types(self, type_: Shape, text: str) -> None:
        assert spell(type_) == text

    @pytest.mark.parametrize(
        ("type_", "text"),
        [
            (STRING, ""),
            (Primitive(kind=Kind.NUMBER, bounds=Bounds(minimum=0, maximum=1.5)), "minimum 0, maximum 1.5"),
            (Primitive(kind=Kind.STRING, bounds=Bounds(pattern="^a"), format="uri"), "pattern ^a, format uri"),
            (ListOf(item=STRING, bounds=Bounds(max_items=100, unique_items=True)), "max items 100, unique items"),
            (MapOf(value=STRING, bounds=Bounds(min_properties=1)), "min properties 1"),
        ],
    )
    def test_bounds(self, type_: Primitive | ListOf[Shape] | MapOf[Shape], text: str) -> None:
        assert spell_bounds(type_) == text

    def test_large_bounds_keep_their_digits(self) -> None:
        large = Primitive(kind=Kind.INTEGER, bounds=Bounds(maximum=9007199254740993))
        assert spell_bounds(large) == "maximum 9007199254740993"

    def test_any_is_recognized(self) -> None:
        assert is_any(ANY)
        assert not is_any(STRING)
        assert not is_any(Ref(name="A"))
