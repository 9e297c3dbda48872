"""Merging schema.ts and schema.json: one synthetic pair per rule, and the exact changes of every released revision."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest

from mcp_bindgen.ingest.revisions import released, shipped_source
from mcp_bindgen.ingest.shapes import Declaration
from mcp_bindgen.ingest.sources import SourceKind
from mcp_bindgen.ir.diagnostics import Diagnostics
from mcp_bindgen.ir.nodes import (
    ANY,
    NULL,
    STRING,
    Alias,
    Base,
    Bounds,
    Difference,
    Field,
    Kind,
    ListOf,
    Literal,
    MapOf,
    Object,
    Primitive,
    Protocol,
    Ref,
    Shape,
    Struct,
    TypeRef,
    Union,
)
from mcp_bindgen.load.protocol import load_released, read_halves
from mcp_bindgen.merge.reconcile import RULES, Reconciled, reconcile
from support.samples import REVISIONS, TRANSCRIBED, lines, schema_document, typescript_document

INTEGER, NUMBER, BOOLEAN = (Primitive(kind=kind) for kind in (Kind.INTEGER, Kind.NUMBER, Kind.BOOLEAN))

ALIKE = ("boolean-subschema", "reference-inlined", "union-flattened")
"""The rules whose readings are spelled alike."""
LEDGER: Mapping[str, Mapping[str, int]] = {
    "2024-11-05": {
        "boolean-subschema": 1,
        "enum-order": 3,
        "open-literals": 1,
        "params-meta": 14,
        "reference-inlined": 10,
        "union-order": 4,
    },
    "2025-03-26": {
        "boolean-subschema": 1,
        "enum-order": 3,
        "open-literals": 1,
        "params-meta": 14,
        "reference-inlined": 10,
        "union-order": 4,
    },
    "2025-06-18": {
        "boolean-subschema": 2,
        "enum-order": 6,
        "number-in-value-union": 1,
        "open-literals": 1,
        "params-meta": 15,
        "reference-inlined": 10,
        "union-order": 4,
    },
    "2025-11-25": {
        "boolean-subschema": 2,
        "enum-order": 9,
        "number-in-value-union": 1,
        "open-literals": 1,
        "params-meta": 4,
        "reference-inlined": 7,
        "union-flattened": 5,
        "union-order": 7,
    },
    "2026-07-28": {
        "enum-order": 15,
        "null-in-value-union": 1,
        "number-in-value-union": 2,
        "open-literals": 17,
        "reference-inlined": 23,
        "union-flattened": 5,
        "union-order": 6,
    },
}
_ANSWERS = "/$defs/ElicitResult/properties/content/additionalProperties"
CONTRADICTIONS: Mapping[str, list[tuple[str, str]]] = {
    "2024-11-05": [],
    "2025-03-26": [],
    "2025-06-18": [("number-in-value-union", _ANSWERS.replace("$defs", "definitions"))],
    "2025-11-25": [("number-in-value-union", _ANSWERS)],
    "2026-07-28": [
        ("null-in-value-union", "/$defs/JSONValue"),
        ("number-in-value-union", "/$defs/JSONValue"),
        ("number-in-value-union", _ANSWERS),
    ],
}


def merge(typescript: str, definitions: Mapping[str, Any]) -> Reconciled:
    """Merge a small pair."""
    return reconcile(typescript_document(typescript), schema_document(definitions))


def merged_type(typescript: str, node: Any, **others: Any) -> tuple[Shape, list[Difference]]:
    """Merge two readings of the type A; return what it becomes, and the errata."""
    merged = merge(typescript, {"A": node, **others})
    assert merged.unexpected == ()
    return merged.declarations["A"].type, list(merged.errata)


def rules(errata: list[Difference]) -> list[tuple[str, str]]:
    return [(erratum.rule, erratum.pointer.removeprefix("/$defs/A")) for erratum in errata]


def merge_shipped(revision: str) -> Reconciled:
    diagnostics = Diagnostics()
    halves = read_halves([shipped_source(revision, kind) for kind in SourceKind], diagnostics)
    assert halves.typescript
    assert halves.schema
    merged = reconcile(halves.typescript, halves.schema)
    assert not lines(diagnostics)
    return merged


def struct_of(protocol: Protocol, name: str) -> Struct:
    found = protocol.definitions[name]
    assert isinstance(found, Struct)
    return found


def member(protocol: Protocol, struct: str, name: str) -> Field:
    found = struct_of(protocol, struct).field(name)
    assert found
    return found


def alias(protocol: Protocol, name: str) -> TypeRef:
    found = protocol.definitions[name]
    assert isinstance(found, Alias)
    return found.type


def text(*types: str) -> dict[str, Any]:
    first, *others = types
    return {"type": list(types) if others else first}


class TestReleased:
    def test_the_revisions_are_the_released_ones(self) -> None:
        assert tuple(released()) == REVISIONS
        assert TRANSCRIBED == tuple(LEDGER) == tuple(CONTRADICTIONS)

    @pytest.mark.parametrize("revision", TRANSCRIBED)
    def test_the_ledger_is_exact(self, revision: str) -> None:
        assert Counter(erratum.rule for erratum in load_released(revision).errata) == LEDGER[revision]

    @pytest.mark.parametrize("revision", TRANSCRIBED)
    def test_the_contradictions_are_exact(self, revision: str) -> None:
        errata = load_released(revision).errata
        assert sorted((e.rule, e.pointer) for e in errata if e.contradiction) == sorted(CONTRADICTIONS[revision])

    @pytest.mark.parametrize("revision", REVISIONS)
    def test_no_difference_is_unexpected(self, revision: str) -> None:
        assert merge_shipped(revision).unexpected == ()

    @pytest.mark.parametrize("revision", REVISIONS)
    def test_every_erratum_is_complete(self, revision: str) -> None:
        for erratum in load_released(revision).errata:
            assert erratum.rule in RULES
            assert erratum.pointer.startswith("/")
            assert erratum.right
            assert erratum.left
            assert erratum.right != erratum.left or erratum.rule in ALIKE

    def test_every_rule_is_used_or_has_its_own_pair(self) -> None:
        used = {rule for counts in LEDGER.values() for rule in counts}
        assert RULES.keys() - used == {"number"}  # see TestNumbers.test_a_tag_wins

    @pytest.mark.parametrize("revision", REVISIONS)
    def test_log_levels_go_from_harmless_to_severe(self, revision: str) -> None:
        levels = "debug info notice warning error critical alert emergency".split()
        assert alias(load_released(revision), "LoggingLevel") == Literal(values=tuple(levels))

    @pytest.mark.parametrize("revision", REVISIONS)
    def test_known_values_of_open_strings_are_kept(self, revision: str) -> None:
        protocol = load_released(revision)
        known = ["endTurn", "stopSequence", "maxTokens"] + (["toolUse"] if revision >= "2025-11-25" else [])
        stop = member(protocol, "CreateMessageResult", "stopReason").type
        assert stop == Primitive(kind=Kind.STRING, known=tuple(known))
        if revision >= "2026":
            assert alias(protocol, "ResultType") == Primitive(kind=Kind.STRING, known=("complete", "input_required"))

    @pytest.mark.parametrize("revision", REVISIONS[2:])
    def test_answers_of_forms_take_fractions(self, revision: str) -> None:
        content = member(load_released(revision), "ElicitResult", "content").type
        lists = (ListOf(item=STRING),) if revision >= "2025-11-25" else ()
        assert content == MapOf(value=Union(members=(STRING, NUMBER, BOOLEAN, *lists)))

    def test_json_values_take_null_and_fractions(self) -> None:
        value = alias(load_released("2026-07-28"), "JSONValue")
        assert value == Union(members=(STRING, NUMBER, BOOLEAN, NULL, Ref(name="JSONObject"), Ref(name="JSONArray")))

    @pytest.mark.parametrize("revision", REVISIONS)
    def test_ids_and_tokens_stay_integers(self, revision: str) -> None:
        for name in ("RequestId", "ProgressToken"):
            assert alias(load_released(revision), name) == Union(members=(STRING, INTEGER))

    def test_numbers_of_all_revisions(self) -> None:
        """The complete list of properties that accept fractions, transcribed from the specification."""
        expected = {
            "Annotations.priority",
            "CreateMessageRequestParams.temperature",
            "ModelPreferences.costPriority",
            "ModelPreferences.intelligencePriority",
            "ModelPreferences.speedPriority",
            "NumberSchema.default",
            "NumberSchema.maximum",
            "NumberSchema.minimum",
            "ProgressNotificationParams.progress",
            "ProgressNotificationParams.total",
        }
        found = {
            f"{struct.name}.{field.wire_name}"
            for revision in REVISIONS
            for struct in load_released(revision).structs()
            for field in struct.fields
            if isinstance(field.type, Primitive) and field.type.kind is Kind.NUMBER
        }
        assert found - {"AnnotatedAnnotations.priority"} == expected
        probability = member(load_released("2025-11-25"), "Annotations", "priority").type
        assert probability == Primitive(kind=Kind.NUMBER, bounds=Bounds(minimum=0, maximum=1))

    @pytest.mark.parametrize("revision", TRANSCRIBED)
    def test_constants(self, revision: str) -> None:
        expected: dict[str, object] = {
            "LATEST_PROTOCOL_VERSION": revision,
            "JSONRPC_VERSION": "2.0",
            "PARSE_ERROR": -32700,
            "INVALID_REQUEST": -32600,
            "METHOD_NOT_FOUND": -32601,
            "INVALID_PARAMS": -32602,
            "INTERNAL_ERROR": -32603,
        }
        if revision == "2025-11-25":
            expected["URL_ELICITATION_REQUIRED"] = -32042
        if revision == "2026-07-28":
            expected |= {
                "HEADER_MISMATCH": -32020,
                "MISSING_REQUIRED_CLIENT_CAPABILITY": -32021,
                "UNSUPPORTED_PROTOCOL_VERSION": -32022,
            }
        assert {constant.name: constant.value for constant in load_released(revision).constants} == expected


class TestNumbers:
    def test_a_number_beside_a_boolean_takes_any_number(self) -> None:
        type_, errata = merged_type("type A = string | number | boolean;", text("string", "integer", "boolean"))
        assert type_ == Union(members=(STRING, NUMBER, BOOLEAN))
        assert rules(errata) == [("number-in-value-union", "")]
        assert (errata[0].right, errata[0].left) == ("string | integer | boolean", "string | number | boolean")
        assert errata[0].contradiction

    def test_the_rule_reaches_members_maps_and_lists(self) -> None:
        values = text("string", "integer", "boolean")
        type_, errata = merged_type(
            "interface A { m: { [key: string]: string | number | boolean }; l: Array<boolean | number> }",
            {
                "type": "object",
                "properties": {
                    "m": {"type": "object", "additionalProperties": values},
                    "l": {"type": "array", "items": text("boolean", "integer")},
                },
                "required": ["m", "l"],
            },
        )
        assert isinstance(type_, Object)
        assert [field.type for field in type_.properties] == [
            MapOf(value=Union(members=(STRING, NUMBER, BOOLEAN))),
            ListOf(item=Union(members=(BOOLEAN, NUMBER))),
        ]
        assert rules(errata) == [
            ("number-in-value-union", "/properties/m/additionalProperties"),
            ("number-in-value-union", "/properties/l/items"),
        ]

    def test_null_of_a_value_is_kept(self) -> None:
        type_, errata = merged_type("type A = boolean | null | string;", text("boolean", "string"))
        assert type_ == Union(members=(BOOLEAN, NULL, STRING))
        assert [(e.rule, e.contradiction) for e in errata] == [("null-in-value-union", True)]

    def test_null_elsewhere_is_a_disagreement(self) -> None:
        merged = merge("type A = string | null;", {"A": text("string")})
        assert [d.rule for d in merged.unexpected] == ["union-member"]

    def test_a_tag_wins(self) -> None:
        node = {"type": "object", "properties": {"n": text("integer")}}
        type_, errata = merged_type("interface A { /** @TJS-type number */ n?: number }", node)
        assert type_ == Object(properties=(Field(wire_name="n", type=NUMBER, required=False),))
        assert [(e.rule, e.contradiction) for e in errata] == [("number", True)]

    @pytest.mark.parametrize("kind", ["integer", "number"])
    def test_a_plain_number_follows_the_json(self, kind: str) -> None:
        node = {"type": "object", "properties": {"n": text(kind), "id": text("string", kind)}}
        type_, errata = merged_type("interface A { n?: number; id?: string | number }", node)
        stated = Primitive(kind=Kind(kind))
        assert isinstance(type_, Object)
        assert [field.type for field in type_.properties] == [stated, Union(members=(STRING, stated))]
        assert errata == []

    def test_without_a_json_a_plain_number_is_an_integer(self) -> None:
        merged = reconcile(typescript_document("type A = number; type B = boolean | number;"), schema_document({}))
        assert merged.declarations["A"].type == INTEGER
        assert merged.declarations["B"].type == Union(members=(BOOLEAN, NUMBER))

    @pytest.mark.parametrize(
        ("typescript", "node", "rule"),
        [
            ("string[]", {"type": "array", "items": text("string"), "maxItems": 3}, "bound-lost"),
            ("/** @minimum 0 */ number", {"type": "integer", "minimum": 0, "maximum": 5}, "bound"),
            ("/** @minimum 0 */ number", {"type": "integer"}, "bound-lost"),
            ("string", {"type": "string", "format": "uri"}, "format"),
            (
                "{ deep?: string }",
                {"type": "object", "properties": {"deep": {"minLength": 1, **text("string")}}},
                "bound-lost",
            ),
        ],
    )
    def test_tags_alone_state_bounds_and_formats(self, typescript: str, node: Any, rule: str) -> None:
        """What the JSON says about them is compared: schema.ts can say it too."""
        *tag, type_ = typescript.rpartition("*/ ")
        found = merge(
            f"interface A {{ {''.join(tag)} a?: {type_} }}", {"A": {"type": "object", "properties": {"a": node}}}
        )
        assert [difference.rule for difference in found.unexpected] == [rule]

    @pytest.mark.parametrize(
        ("type_", "node"),
        [
            ("string", {"type": "string", "not": {"const": "x"}}),
            ("string | null", {"type": ["string", "null"], "not": {"const": "x"}}),
            ("string[]", {"type": "array", "items": {"type": "string", "contentEncoding": "x", "if": {}}}),
            (
                "{ a?: string }",
                {"properties": {"a": text("string")}, "type": "object", "dependentRequired": {"a": ["b"]}},
            ),
        ],
    )
    def test_text_that_only_the_json_has_is_a_difference(self, type_: str, node: Any) -> None:
        found = merge(
            f"interface A {{ x: {type_} }}", {"A": {"type": "object", "properties": {"x": node}, "required": ["x"]}}
        )
        assert [difference.rule for difference in found.unexpected] == ["text"]

    def test_an_official_number_without_a_tag_is_an_integer(self) -> None:
        """Where the JSON says otherwise, the tag is gone."""
        sides = typescript_document("type A = number;"), schema_document({"A": text("number")})
        assert reconcile(*sides).declarations["A"].type == NUMBER
        official = reconcile(*sides, official=True)
        assert official.declarations["A"].type == INTEGER
        assert [difference.rule for difference in official.unexpected] == ["type"]


class TestShape:
    BASE: Mapping[str, Any] = {
        "type": "object",
        "properties": {"b": {"type": "string"}},
        "required": ["b"],
    }

    def test_an_inlined_copy_is_the_named_type(self) -> None:
        node = {"type": "object", "properties": {"x": self.BASE}}
        type_, errata = merged_type("interface A { x?: B } interface B { b: string }", node, B=self.BASE)
        assert type_ == Object(properties=(Field(wire_name="x", type=Ref(name="B"), required=False),))
        assert rules(errata) == [("reference-inlined", "/properties/x")]
        assert not errata[0].contradiction

    def test_a_copy_that_differs_is_a_disagreement(self) -> None:
        node: Any = {"type": "object", "properties": {"x": {**self.BASE, "required": []}}}
        merged = merge("interface A { x?: B } interface B { b: string }", {"A": node, "B": self.BASE})
        assert [(d.rule, d.pointer) for d in merged.unexpected] == [("required", "/$defs/A/properties/x/properties/b")]

    def test_a_copied_union_of_one_member_is_a_reference(self) -> None:
        type_, errata = merged_type("type A = B; interface B { b: string }", self.BASE, B=self.BASE)
        assert type_ == Ref(name="B")
        assert rules(errata) == [("reference-inlined", "")]

    def test_an_index_signature_that_was_lost(self) -> None:
        node = {"type": "object", "properties": {"b": {"type": "string"}}, "required": ["b"]}
        type_, errata = merged_type("interface A { b: string; [key: string]: unknown }", node)
        assert type_ == Object(properties=(Field(wire_name="b", type=STRING, required=True),), extra=ANY)
        assert errata == []

    def test_an_index_signature_of_a_type_is_compared(self) -> None:
        node = {"type": "object", "properties": {"b": {"type": "string"}}, "required": ["b"]}
        merged = merge("interface A { b: string; [key: string]: string }", {"A": node})
        assert [(d.rule, d.pointer) for d in merged.unexpected] == [("type", "/$defs/A/additionalProperties")]

    def test_an_interface_that_is_a_map(self) -> None:
        node = {"type": "object", "additionalProperties": {"type": "string"}}
        type_, errata = merged_type("interface A { [key: string]: string }", node)
        assert type_ == MapOf(value=STRING)
        assert errata == []

    def test_inheritance_comes_from_the_typescript(self) -> None:
        node = {"type": "object", "properties": {"a": text("string"), "b": text("string")}, "required": ["a", "b"]}
        type_, errata = merged_type("interface A extends B { a: string } interface B { b: string }", node, B=self.BASE)
        assert type_ == Object(
            properties=(Field(wire_name="a", type=STRING, required=True),), bases=(Base(name="B", omitted=()),)
        )
        assert errata == []

    def test_omitted_members_are_not_inherited(self) -> None:
        base = {"type": "object", "properties": {"b": text("string"), "c": text("string")}}
        node = {"type": "object", "properties": {"c": text("string")}}
        type_, errata = merged_type(
            'interface A extends Omit<B, "b"> {} interface B { b?: string; c?: string }', node, B=base
        )
        assert isinstance(type_, Object)
        assert type_.bases == (Base(name="B", omitted=("b",)),)
        assert errata == []

    @pytest.mark.parametrize(
        ("typescript", "node", "rule"),
        [
            ("interface A { a: string; b?: string }", ["a"], "member"),
            ("interface A { a?: string }", ["a"], "required"),
            ("interface A { a: boolean }", ["a"], "type"),
        ],
    )
    def test_other_disagreements_are_unexpected(self, typescript: str, node: list[str], rule: str) -> None:
        schema = {"type": "object", "properties": {"a": text("string")}, "required": node}
        merged = merge(typescript, {"A": schema})
        assert [d.rule for d in merged.unexpected] == [rule]
        assert [e.rule for e in merged.errata] == [rule]
        assert merged.errata[0].contradiction

    def test_a_definition_of_one_side_is_unexpected(self) -> None:
        merged = merge("type A = string; type B = string;", {"A": text("string"), "C": text("string")})
        assert [(d.rule, d.pointer, d.left, d.right) for d in merged.unexpected] == [
            ("definition", "/B", "string", "-"),
            ("definition", "/$defs/C", "-", "string"),
        ]
        assert list(merged.declarations) == ["A", "B"]


class TestUnions:
    def test_the_order_of_an_enum_is_the_authors(self) -> None:
        type_, errata = merged_type('type A = "low" | "high" | "any";', {"enum": ["any", "high", "low"]})
        assert type_ == Literal(values=("low", "high", "any"))
        assert rules(errata) == [("enum-order", "")]
        assert not errata[0].contradiction

    def test_a_value_of_one_side_is_a_disagreement(self) -> None:
        merged = merge('type A = "low" | "high";', {"A": {"enum": ["high", "low", "mid"]}})
        assert [d.rule for d in merged.unexpected] == ["union-member"]

    def test_known_values_of_an_open_string_are_kept(self) -> None:
        type_, errata = merged_type('type A = "end" | "stop" | string;', text("string"))
        assert type_ == Primitive(kind=Kind.STRING, known=("end", "stop"))
        assert [(e.rule, e.right, e.left) for e in errata] == [("open-literals", "string", '"end" | "stop" | string')]

    def test_the_order_of_a_union_is_the_authors(self) -> None:
        objects = {name: {"type": "object", "properties": {name: {"const": name}}} for name in "BC"}
        typescript = 'type A = B | C; interface B { B?: "B" } interface C { C?: "C" }'
        type_, errata = merged_type(typescript, {"anyOf": [{"$ref": f"#/$defs/{n}"} for n in "CB"]}, **objects)
        assert type_ == Union(members=(Ref(name="B"), Ref(name="C")))
        assert rules(errata) == [("union-order", "")]

    def test_a_nested_union_stays_nested(self) -> None:
        objects = {name: {"type": "object", "properties": {name: {"const": name}}} for name in "BCD"}
        definitions = "".join(f'interface {n} {{ {n}?: "{n}" }} ' for n in "BCD")
        flat = {"anyOf": [{"$ref": f"#/$defs/{n}"} for n in "BCD"]}
        type_, errata = merged_type(
            f"type A = E | D; type E = B | C; {definitions}",
            flat,
            E={"anyOf": [{"$ref": f"#/$defs/{n}"} for n in "BC"]},
            **objects,
        )
        assert type_ == Union(members=(Ref(name="E"), Ref(name="D")))
        assert rules(errata) == [("union-flattened", "")]


class TestDescriptions:
    """What only schema.ts states."""

    TYPESCRIPT = """
        /** One. @not a tag
         * @category `tools/list`
         * @internal */
        interface A {
          /** Old.
           * @deprecated since now */
          a?: string;
          b?: string;
        }
        /** @deprecated */
        type B = string;
        /** Much. */
        const LIMIT = 5;
        type C = typeof LIMIT;
        """

    def merged(self) -> Mapping[str, Declaration]:
        member_ = {"type": "string", "description": "From the JSON."}
        node = {"type": "object", "properties": {"a": member_, "b": member_}, "description": "JSON."}
        definitions = {"A": node, "B": {"type": "string", "description": "B."}, "C": {"const": 5}}
        result = merge(self.TYPESCRIPT, definitions)
        assert result.errata == ()
        return result.declarations

    def test_deprecation_category_and_internal(self) -> None:
        found = self.merged()
        assert (found["A"].deprecated, found["A"].category, found["A"].internal) == (False, "tools/list", True)
        assert (found["B"].deprecated, found["B"].category, found["B"].internal) == (True, "", False)
        type_ = found["A"].type
        assert isinstance(type_, Object)
        assert [field.deprecated for field in type_.properties] == [True, False]

    def test_the_text_of_the_typescript_takes_precedence(self) -> None:
        found = self.merged()
        assert (found["A"].doc, found["B"].doc) == ("One. @not a tag", "B.")
        type_ = found["A"].type
        assert isinstance(type_, Object)
        assert [field.doc for field in type_.properties] == ["Old.", "From the JSON."]

    def test_constants_are_literals(self) -> None:
        assert self.merged()["C"].type == Literal(values=(5,))

    def test_pointers_are_those_of_the_json(self) -> None:
        assert {name: d.pointer for name, d in self.merged().items()} == {name: f"/$defs/{name}" for name in "ABC"}


def test_deprecated_definitions_of_the_modern_revision() -> None:
    protocol = load_released("2026-07-28")
    deprecated = {name for name, definition in protocol.definitions.items() if definition.deprecated}
    assert {"CreateMessageRequest", "ListRootsRequest", "LoggingMessageNotification"} <= deprecated
    assert not any(d.deprecated for r in REVISIONS[:4] for d in load_released(r).definitions.values())


@pytest.mark.parametrize("revision", REVISIONS[2:])
def test_categories_of_the_later_revisions(revision: str) -> None:
    definitions = load_released(revision).definitions
    assert definitions["CallToolRequest"].category == "tools/call"
