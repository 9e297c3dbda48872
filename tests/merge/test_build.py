"""Building the IR: names of inline objects, inheritance, intersections, cycles; and what holds for all revisions."""

import json
from collections.abc import Iterator

import pytest

from mcp_bindgen.ingest.revisions import shipped_source
from mcp_bindgen.ingest.sources import SourceKind
from mcp_bindgen.ir.diagnostics import Diagnostics
from mcp_bindgen.ir.names import inline_name, lineage, method_constant, reference, references
from mcp_bindgen.ir.nodes import (
    ANY,
    NULL,
    STRING,
    Alias,
    Kind,
    ListOf,
    Literal,
    MapOf,
    Primitive,
    Protocol,
    Ref,
    Struct,
    TypeRef,
    Union,
)
from mcp_bindgen.load.protocol import load_released
from mcp_bindgen.merge.build import build
from support.definitions import alias, build_json, built, errors, good, shape, struct
from support.samples import REVISIONS, lines, read_json


class TestInlineNames:
    @pytest.mark.parametrize(
        ("wire_name", "name"),
        [
            ("inputSchema", "ToolInputSchema"),
            ("_meta", "ToolMeta"),
            ("io.modelcontextprotocol/related-task", "ToolIoModelcontextprotocolRelatedTask"),
            ("$schema", "ToolSchema"),
            ("URL", "ToolURL"),
            ("__", "ToolMember"),
            ("", "ToolMember"),
            ("é", "ToolMember"),
            ("2x", "Tool2x"),
        ],
    )
    def test_a_name_is_made_of_the_holder_and_the_property(self, wire_name: str, name: str) -> None:
        assert inline_name("Tool", wire_name) == name

    def test_inline_objects_get_names_wherever_they_are(self) -> None:
        definitions = good(
            """interface A { one: { x: string }; list: { x: string }[]; map: { [key: string]: { x: string } };
                 either: string | { x: string }; deep: { deeper: { x: string } } }
               type B = string | { x: string };"""
        )
        assert list(definitions) == "A AOne AList AMap AEither ADeep ADeepDeeper B BItem".split()
        assert {d.name: d.holder for d in definitions.values() if isinstance(d, Struct) and d.holder} == {
            "AOne": "A.one",
            "AList": "A.list",
            "AMap": "A.map",
            "AEither": "A.either",
            "ADeep": "A.deep",
            "ADeepDeeper": "A.deep.deeper",
            "BItem": "B",
        }
        assert shape(struct(definitions, "A")) == {
            "one": (Ref(name="AOne"), True),
            "list": (ListOf(item=Ref(name="AList")), True),
            "map": (MapOf(value=Ref(name="AMap")), True),
            "either": (Union(members=(STRING, Ref(name="AEither"))), True),
            "deep": (Ref(name="ADeep"), True),
        }
        assert alias(definitions, "B") == Union(members=(STRING, Ref(name="BItem")))

    def test_additional_properties_are_lifted(self) -> None:
        inner = {"type": "object", "properties": {"x": {"type": "string"}}}
        definitions, found = build_json({"A": {**inner, "additionalProperties": inner}})
        assert found == []
        assert struct(definitions, "A").extra == Ref(name="AExtra")
        assert struct(definitions, "AExtra").holder == "A.*"

    def test_a_name_that_is_taken_gets_a_number_and_a_warning(self) -> None:
        definitions, found = built("interface A { b: { x: string }; B: { y: string } } interface AB2 { z: string }")
        assert list(definitions) == ["A", "AB", "AB3", "AB2"]
        assert shape(struct(definitions, "A"))["B"] == (Ref(name="AB3"), True)
        assert found == ["warning: #/A: an inline object is named AB3, because AB is taken"]

    def test_a_definition_keeps_its_name_wherever_it_is(self) -> None:
        definitions, found = built("interface A { b: { x: string } } interface AB { z: string }")
        assert list(definitions) == ["A", "AB2", "AB"]
        assert list(shape(struct(definitions, "AB"))) == ["z"]
        assert len(found) == 1

    def test_names_do_not_depend_on_the_order_of_members_of_other_types(self) -> None:
        first = good("interface A { b: { x: string } } interface C { d: { y: string } }")
        second = good("interface C { d: { y: string } } interface A { b: { x: string } }")
        assert dict(first) == dict(second)


class TestInheritance:
    def test_properties_of_the_bases_come_first(self) -> None:
        definitions = good(
            "interface C extends B { c: string } interface B extends A { b?: string } interface A { a: string }"
        )
        c = struct(definitions, "C")
        assert shape(c) == {"a": (STRING, True), "b": (STRING, False), "c": (STRING, True)}
        assert c.own == {"c"}
        assert lineage("C", definitions) == ("B", "A")

    def test_an_override_replaces_the_property_in_its_place(self) -> None:
        definitions = good('interface B extends A { a: "x" } interface A { a?: string; b: string }')
        assert list(shape(struct(definitions, "B")).items()) == [
            ("a", (Literal(values=("x",)), True)),
            ("b", (STRING, True)),
        ]

    def test_omit_leaves_properties_out(self) -> None:
        definitions = good(
            """interface B extends Omit<A, "a" | "nothing"> { c: string } interface A { a: string; b: string }
               interface C extends Omit<A, "a"> { a: boolean }"""
        )
        assert list(shape(struct(definitions, "B"))) == ["b", "c"]
        assert shape(struct(definitions, "C"))["a"] == (Primitive(kind=Kind.BOOLEAN), True)
        assert struct(definitions, "B").bases[0].omitted == ("a", "nothing")

    def test_several_bases(self) -> None:
        definitions = good("""interface C extends A, B { c: string } interface A { a: string; x: string }
               interface B { b: string; x?: string }""")
        c = struct(definitions, "C")
        assert shape(c) == {"a": (STRING, True), "x": (STRING, True), "b": (STRING, True), "c": (STRING, True)}
        assert [base.name for base in c.bases] == ["A", "B"]
        assert lineage("C", definitions) == ("A", "B")

    def test_a_base_that_is_an_alias(self) -> None:
        definitions = good("interface C extends B { c: string } type B = A; interface A { a: string }")
        assert list(shape(struct(definitions, "C"))) == ["a", "c"]

    def test_the_type_of_undeclared_properties_is_inherited(self) -> None:
        definitions = good("""interface B extends A { b: string } interface A { a: string; [key: string]: string }
               interface D extends M { d: string } interface M { [key: string]: string }""")
        assert struct(definitions, "B").extra == STRING
        assert struct(definitions, "D").extra == STRING

    def test_a_base_that_is_not_an_object_is_an_error(self) -> None:
        assert errors("interface A extends B {} type B = string;") == [
            "error: #/A: 'A' extends 'B', which is not an object type"
        ]
        assert errors("interface A extends B {} type B = C | D; interface C {} interface D {}") == [
            "error: #/A: 'A' extends 'B', which is not an object type"
        ]

    def test_a_long_chain_is_refused_or_read_but_never_breaks(self) -> None:
        chain = "".join(f"interface A{n} extends A{n + 1} {{ m{n}: string }}\n" for n in range(60))
        definitions = good(chain + "interface A60 {}")
        assert len(struct(definitions, "A0").fields) == 60


class TestCycles:
    @pytest.mark.parametrize(
        ("text", "names"),
        [
            ("type A = A;", "A"),
            ("type A = B; type B = A;", "AB"),
            ("type A = string | B; type B = A | number;", "AB"),
            ("interface A extends A {}", "A"),
            ("interface A extends B {} interface B extends A {}", "AB"),
            ("type A = A & { x: string };", "A"),
            ("interface A extends B {} type B = A | string;", "AB"),
        ],
    )
    def test_a_type_that_is_defined_by_itself_is_an_error(self, text: str, names: str) -> None:
        found = errors(text)
        assert [f"error: #/{n}: '{n}' is defined in terms of itself; break the cycle" for n in names] == [
            line for line in found if "in terms of itself" in line
        ]

    def test_a_cycle_of_all_of_is_an_error(self) -> None:
        definitions, found = build_json(
            {"A": {"allOf": [{"$ref": "#/$defs/B"}, {"type": "object"}]}, "B": {"$ref": "#/$defs/A"}}
        )
        assert definitions == {}
        assert found == [f"error: #/$defs/{n}: '{n}' is defined in terms of itself; break the cycle" for n in "AB"]

    def test_references_to_a_cycle_are_not_reported(self) -> None:
        assert errors("type A = B; type B = B | string;") == [
            "error: #/B: 'B' is defined in terms of itself; break the cycle"
        ]

    def test_recursion_through_objects_lists_and_maps_is_fine(self) -> None:
        definitions = good("""interface Tree { left?: Tree; rest: Tree[]; named: { [key: string]: Tree } }
               type Value = string | Value[] | { [key: string]: Value };
               interface One { two?: Two } interface Two extends One { one: One }""")
        assert shape(struct(definitions, "Tree"))["left"] == (Ref(name="Tree"), False)
        assert alias(definitions, "Value") == Union(
            members=(STRING, ListOf(item=Ref(name="Value")), MapOf(value=Ref(name="Value")))
        )

    def test_a_reference_that_leads_nowhere_is_an_error(self) -> None:
        declarations, _ = read_json({"A": {"type": "array", "items": {"$ref": "#/$defs/B"}}, "B": True})
        diagnostics = Diagnostics()
        assert build({"A": declarations["A"]}, "schema.json", diagnostics) == {}
        assert lines(diagnostics) == ["error: #/$defs/A: there is no definition 'B'"]


class TestKinds:
    def test_what_becomes_a_struct_and_what_an_alias(self) -> None:
        definitions = good(
            """interface Empty {} interface Open { [key: string]: unknown } interface Map { [key: string]: string }
               type Record_ = Record<string, string>; type Object_ = object; type Text = string;
               type Body = { a: string }; type Nothing = {}; type Same = Body;"""
        )
        assert {name: type(d).__name__ for name, d in definitions.items()} == {
            "Empty": "Struct",
            "Open": "Struct",
            "Map": "Alias",
            "Record_": "Alias",
            "Object_": "Alias",
            "Text": "Alias",
            "Body": "Struct",
            "Nothing": "Alias",
            "Same": "Alias",
        }

    def test_descriptions_and_tags_are_kept(self) -> None:
        definitions = good("""/** Doc. @not
                * @deprecated
                * @internal
                * @category `x/y` */
               interface A { /** M.
                * @deprecated */ m: { n: string } }
               /** T. */ type T = string;""")
        a = struct(definitions, "A")
        assert (a.doc, a.deprecated, a.internal, a.category) == ("Doc. @not", True, True, "x/y")
        assert (a.fields[0].doc, a.fields[0].deprecated) == ("M.", True)
        assert definitions["T"].doc == "T."

    def test_method_constant_and_reference(self) -> None:
        definitions = good("""interface A { method: "a/b" } interface B { method: string } interface C {} type D = A;
               interface E { method: "a" | "b" } interface F { method: 5 }""")
        found = {name: method_constant(d) for name, d in definitions.items()}
        assert found == {"A": "a/b", "B": None, "C": None, "D": None, "E": None, "F": None}
        assert method_constant(None) is None
        assert (reference(Ref(name="A")), reference(STRING)) == ("A", None)


def types_in(protocol: Protocol) -> Iterator[TypeRef]:
    """Iterate over every type of the protocol, inner ones included."""
    pending: list[TypeRef] = []
    for definition in protocol.definitions.values():
        if isinstance(definition, Alias):
            pending.append(definition.type)
        else:
            pending += [field.type for field in definition.fields]
            pending += [definition.extra] if definition.extra is not None else []
    while pending:
        type_ = pending.pop()
        yield type_
        match type_:
            case ListOf(item=inner) | MapOf(value=inner):
                pending.append(inner)
            case Union(members=members):
                pending += members
            case Primitive() | Literal() | Ref():
                pass


@pytest.mark.parametrize("revision", REVISIONS)
class TestEveryRevision:
    def test_every_reference_resolves(self, revision: str) -> None:
        protocol = load_released(revision)
        for type_ in types_in(protocol):
            assert set(references(type_)) <= protocol.definitions.keys()
            resolved = protocol.resolve(type_)
            assert not isinstance(resolved, Ref)

    def test_unions_are_flat_and_without_repetition(self, revision: str) -> None:
        for type_ in types_in(load_released(revision)):
            if isinstance(type_, Union):
                assert len(type_.members) == len(set(type_.members)) > 1
                assert not any(isinstance(member, Union) for member in type_.members)

    def test_structs_have_their_own_and_inherited_fields(self, revision: str) -> None:
        protocol = load_released(revision)
        for struct_ in protocol.structs():
            names = [field.wire_name for field in struct_.fields]
            assert len(names) == len(set(names))
            assert set(struct_.own) <= set(names)
            inherited: set[str] = set()
            for base in struct_.bases:
                parent = protocol.resolve(Ref(name=base.name))
                assert isinstance(parent, Struct | MapOf)
                if isinstance(parent, Struct):
                    inherited |= {field.wire_name for field in parent.fields} - set(base.omitted)
            assert inherited | set(struct_.own) == set(names)
            assert struct_.extra is not None, "no object of MCP is closed"

    def test_methods_name_definitions(self, revision: str) -> None:
        protocol = load_released(revision)
        for method in protocol.methods:
            used = (method.message, method.params, method.result, *method.alternatives)
            assert {name for name in used if name} <= protocol.definitions.keys()
            assert method.params

    def test_inline_objects_point_to_the_definition_that_contains_them(self, revision: str) -> None:
        protocol = load_released(revision)
        holders = [struct_.holder for struct_ in protocol.structs() if struct_.holder]
        assert holders
        assert all(holder.partition(".")[0] in protocol.definitions for holder in holders)

    def test_definitions_are_those_of_the_schema_and_the_inline_objects(self, revision: str) -> None:
        schema = json.loads(shipped_source(revision, SourceKind.JSON_SCHEMA).data)
        definitions = load_released(revision).definitions
        own = {name for name, d in definitions.items() if not (isinstance(d, Struct) and d.holder)}
        assert own >= (schema.get("$defs") or schema["definitions"]).keys()
        counts = {"2024-11-05": 79, "2025-03-26": 83, "2025-06-18": 91, "2025-11-25": 145, "2026-07-28": 155}
        assert len(own) == counts.get(revision, len(own))

    def test_every_definition_is_listed_under_its_name(self, revision: str) -> None:
        assert all(name == d.name for name, d in load_released(revision).definitions.items())


def test_any_and_null_are_distinct() -> None:
    definitions = good("type A = unknown; type B = null; type C = any;")
    assert (alias(definitions, "A"), alias(definitions, "B"), alias(definitions, "C")) == (ANY, NULL, ANY)
