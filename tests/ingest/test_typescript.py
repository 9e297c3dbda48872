"""The TypeScript front end: what it reads, what it refuses, and that facts and TypeScript say the same."""

import json
import random
from pathlib import Path

import pytest

from mcp_bindgen.ingest import typescript_source
from mcp_bindgen.ingest.typescript import read_typescript
from mcp_bindgen.ingest.typescript_expressions import MAX_DEPTH
from mcp_bindgen.ingest.typescript_facts import (
    facts_from_document,
    render_typescript,
)
from mcp_bindgen.ingest.typescript_tags import parse_doc
from mcp_bindgen.ingest.typescript_types import (
    NUMBER,
    Body,
    Expression,
    Member,
    TsDeclaration,
    TypeScriptDocument,
    Written,
)
from mcp_bindgen.ir.diagnostics import Diagnostics, Level, Location
from mcp_bindgen.ir.nodes import ANY, NULL, STRING, AllOf, Kind, ListOf, Literal, MapOf, Primitive, Ref, Union
from mcp_bindgen.merge.lower import lower
from support.official import official_schema, seed_typescript

SCHEMAS = Path(__file__).resolve().parents[2] / "schema"
REVISIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28")

NOWHERE = Location(source="")
DECLARED = "const LIMIT = 3; interface B {} type C = string;"


def read(text: str) -> TypeScriptDocument:
    """Read a text that must be without errors."""
    diagnostics = Diagnostics()
    document = read_typescript(text, "schema.ts", diagnostics)
    assert [str(d) for d in diagnostics] == []
    return document


def complaints(text: str) -> list[str]:
    """Return the errors of a text."""
    diagnostics = Diagnostics()
    read_typescript(text, "schema.ts", diagnostics)
    assert all(d.level is Level.ERROR for d in diagnostics)
    return [str(d).removeprefix("error: schema.ts") for d in diagnostics]


def declaration(text: str, name: str = "A") -> TsDeclaration:
    return next(d for d in read(text).declarations if d.name == name)


def type_of(text: str) -> Written:
    """Read a type expression in a file with the declarations of `DECLARED`."""
    return declaration(f"{DECLARED} type A = {text};").body


def members(text: str) -> dict[str, Member]:
    body = declaration(text).body
    assert isinstance(body, Body)
    return {member.wire_name: member for member in body.properties}


def member(name: str, type_: Written, *, optional: bool = False) -> Member:
    return Member(wire_name=name, required=not optional, type=type_, where=NOWHERE, span=(0, 0))


def _latest() -> str:
    """Return the latest revision as TypeScript."""
    return render_typescript(json.loads((SCHEMAS / "2026-07-28" / "typescript.json").read_text("utf-8")))


class TestTypes:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("string", STRING),
            ("object", MapOf(value=ANY)),
            ("any", ANY),
            ("null", NULL),
            ("B", Ref(name="B")),
            ("typeof LIMIT", Literal(values=(3,))),
            ("typeof LIMIT[]", ListOf(item=Literal(values=(3,)))),
            ("B[][]", ListOf(item=ListOf(item=Ref(name="B")))),
            ("Array<B>", ListOf(item=Ref(name="B"))),
            ("readonly string[]", ListOf(item=STRING)),
            ("((string))", STRING),
            ("(string | B)[]", ListOf(item=Union(members=(STRING, Ref(name="B"))))),
            ("string | B[]", Union(members=(STRING, ListOf(item=Ref(name="B"))))),
            ("| string", STRING),
            ("string | (number | null)", Union(members=(STRING, NUMBER, NULL))),
            ("| string // one\n | /* two */ number", Union(members=(STRING, NUMBER))),
            ("B & C", AllOf(members=(Ref(name="B"), Ref(name="C")))),
            (
                "string | B & C",
                Union(members=(STRING, AllOf(members=(Ref(name="B"), Ref(name="C"))))),
            ),
            ("Record<string, B>", Body(extra=Ref(name="B"), indexed=True)),
            ("{ [key: string]: B }", Body(extra=Ref(name="B"), indexed=True)),
            ("{}", Body()),
            (
                "{ $schema?: string, 'a/b': B; readonly [key: string]: number }",
                Body(
                    properties=(member("$schema", STRING, optional=True), member("a/b", Ref(name="B"))),
                    extra=NUMBER,
                    indexed=True,
                ),
            ),
            (
                "{ a: { b: string }\n c: B }",
                Body(
                    properties=(
                        member("a", Body(properties=(member("b", STRING),))),
                        member("c", Ref(name="B")),
                    )
                ),
            ),
        ],
    )
    def test_reads(self, text: str, expected: Written) -> None:
        assert type_of(text) == expected

    @pytest.mark.parametrize(
        ("text", "value"),
        [
            ('"a"', "a"),
            ("''", ""),
            (r"'it\'s \u0041\x42\u{1F600}\n'", "it's AB\U0001f600\n"),
            (r'"\ud83d\ude00"', "\U0001f600"),
            ('"a // b  /* c */"', "a // b  /* c */"),
            ("-32700", -32700),
            ("0x1F", 31),
            ("1.5", 1.5),
            ("true", True),
            ("false", False),
        ],
    )
    def test_reads_literals(self, text: str, value: object) -> None:
        found = type_of(text)
        assert isinstance(found, Literal)
        assert [(type(one), one) for one in found.values] == [(type(value), value)]

    def test_a_union_of_many_members_is_flat(self) -> None:
        found = type_of(" | ".join(f'"{n}"' for n in range(20_000)))
        assert isinstance(found, Literal)
        assert len(found.values) == 20_000


class TestDeclarations:
    def test_reads_extends(self) -> None:
        text = """interface B {} interface C {}
            export interface A
              extends B, Omit<
                C,
                "x" | 'y'
              >, Omit<B, "z"> {}"""
        extends = declaration(text).extends
        keys = Literal(values=("x", "y"))
        assert [base.type for base in extends] == [
            Ref(name="B"),
            Expression(operator="Omit", operands=(Ref(name="C"), keys)),
            Expression(operator="Omit", operands=(Ref(name="B"), Literal(values=("z",)))),
        ]

    def test_merges_interfaces_of_one_name(self) -> None:
        body = declaration("interface A { a: string } interface B {} interface A extends B { b?: number; a: string }")
        assert [base.type for base in body.extends] == [Ref(name="B")]
        assert body.body == Body(properties=(member("a", STRING), member("b", NUMBER, optional=True)))

    def test_reads_enums_exports_and_declared_types(self) -> None:
        text = """enum E { a, b = 5, c } declare type D = string; export default interface F {}
            const X: string = "x"; declare const Y: "y"; export { D as G };"""
        document = read(text)
        assert {d.name: d.kind for d in document.declarations} == {
            "E": "enum",
            "D": "type",
            "F": "interface",
            "G": "type",
        }
        assert declaration(text, "E").body == Literal(values=(0, 5, 6))
        assert document.constants == {"X": "x", "Y": "y"}

    def test_reads_parameters(self) -> None:
        found = declaration("interface A<T extends object, U = string> { t: T; u: U[] }")
        assert found.parameters == {"T": None, "U": STRING}

    def test_reads_constants(self) -> None:
        text = """
            export const LATEST_PROTOCOL_VERSION = "2099-01-01";
            /** Too much. */
            export const LIMIT = -5 as const, RATIO = 0.5;
            const ON = true;"""
        document = read(text)
        assert document.revision == "2099-01-01"
        assert list(document.constants.items()) == [
            ("LATEST_PROTOCOL_VERSION", "2099-01-01"),
            ("LIMIT", -5),
            ("RATIO", 0.5),
            ("ON", True),
        ]
        assert document.constant_docs == {"LIMIT": "Too much.", "RATIO": "Too much."}

    def test_keeps_source_order_and_lines(self) -> None:
        document = read("export interface B {\n  b: A;\n}\n\nexport type A = string;\n")
        assert [(d.name, d.kind, d.where.line) for d in document.declarations] == [
            ("B", "interface", 1),
            ("A", "type", 5),
        ]
        body = document.declarations[0].body
        assert isinstance(body, Body)
        assert str(body.properties[0].where) == "schema.ts:2"

    def test_tolerates_a_bom_and_windows_line_ends(self) -> None:
        assert (
            declaration("\ufeff/**\r\n * One.\r\n *\r\n * Two.\r\n */\r\nexport type A = string;\r\n").doc
            == "One.\n\nTwo."
        )


class TestDocs:
    @pytest.mark.parametrize(
        ("comment", "text"),
        [
            ("/** One line. */", "One line."),
            ("/**\n * First\n * line.\n *\n *  - `x` indented\n */", "First\nline.\n\n - `x` indented"),
            (
                "/** See {@link Tool}, {@link Tool | the tool} and {@linkcode Tool tools}. */",
                "See Tool, the tool and tools.",
            ),
            ("/** {@link Tool\n * | the\n * tool} */", "the tool"),
            (
                "/**\n * Mail me@example.com.\n * ```\n * @decorated\n * ```\n */",
                "Mail me@example.com.\n```\n@decorated\n```",
            ),
            ("/** {@link {@link {@link */", "{@link {@link {@link"),
            ("/***/", ""),
        ],
    )
    def test_text(self, comment: str, text: str) -> None:
        assert parse_doc(comment).text == text

    def test_tags_follow_a_block_of_code(self) -> None:
        assert parse_doc("/**\n * ```\n * @code\n * ```\n * @internal\n */").tags == {"internal": True}

    def test_tags(self) -> None:
        doc = parse_doc("""/**
             * Prose.
             *
             * @TJS-type number
             * @minimum 0
             * @nullable
             * @deprecated Use {@link B}.
             * @category `tools/list`
             * @example One
             * two
             * @example Three
             * @internal
             */""")
        assert doc.text == "Prose."
        assert list(doc.tags.items()) == [
            ("TJS-type", "number"),
            ("minimum", "0"),
            ("nullable", ""),
            ("deprecated", True),
            ("category", "tools/list"),
            ("example", "One\ntwo\n\nThree"),
            ("internal", True),
        ]

    @pytest.mark.parametrize(
        ("before", "doc"),
        [
            ("/** Yes. */ ", "Yes."),
            ("/** Yes. */\n\n", "Yes."),
            ("/** Yes. */\n// no\n", "Yes."),
            ("/** No. */\n/* no */\n/** Yes. */\n", "Yes."),
            ("/** Yes. */\n/* no */\n", "Yes."),
            ("type X = string; /** No. */\n", ""),
            ("/* no */\n", ""),
            ("// no\n", ""),
        ],
    )
    def test_only_a_comment_right_before_a_declaration_is_its_doc(self, before: str, doc: str) -> None:
        assert declaration(f"{before}export type A = string;").doc == doc

    def test_only_a_comment_right_before_a_member_is_its_doc(self) -> None:
        found = members("""interface A { // no
              /** A. */
              a: string; // no
              b: string; /* no */
              /* C,
               * plain. @format uri */
              c: string;
              /* no */

              d: string;
              /** E. @not a tag
               * @format uri */
              e?: { /** F. */ f: string; /** G. */ g: { /** H.
                * @minimum 1 */ h: number } };
            }""")
        assert {name: found[name].doc for name in found} == {
            "a": "A.",
            "b": "",
            "c": "C,\nplain. @format uri",
            "d": "",
            "e": "E. @not a tag",
        }
        assert (found["c"].tags, found["e"].tags) == ({}, {"format": "uri"})
        inner = found["e"].type
        assert isinstance(inner, Body)
        assert [m.doc for m in inner.properties] == ["F.", "G."]
        innermost = inner.properties[1].type
        assert isinstance(innermost, Body)
        assert (innermost.properties[0].doc, innermost.properties[0].tags) == ("H.", {"minimum": "1"})


class TestRefusals:
    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("interface A { a }", ":1:15: member 'a' has no type"),
            (
                r"const X = '\ud800';",
                ":1:11: the string has an escape sequence that is not supported or not valid Unicode",
            ),
            (
                r"const X = '\u{110000}';",
                ":1:11: the string has an escape sequence that is not supported or not valid Unicode",
            ),
            ("type A = typeof X;", ":1:17: constant 'X' of 'typeof X' is not declared in this file"),
            ("type A = Missing;", ":1:10: type 'Missing' is not declared in this file"),
            ("type A = Missing<string>;", ":1:10: type 'Missing' is not declared in this file"),
            ("interface A extends Missing {}", ":1:21: type 'Missing' is not declared in this file"),
            ("const X = 1, X = 2;", ":1:14: constant 'X' is declared twice"),
            ("interface A { a: string; 'a'?: string }", ":1:26: member 'a' is declared twice"),
        ],
    )
    def test_what_is_malformed_is_an_error(self, text: str, message: str) -> None:
        assert message in complaints(text)

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("type A = string;\nnamespace N {}", ":2: a namespace is not read"),
            ("export function f() {}", ":1: a function is not read"),
            ("export class K {}", ":1: a class is not read"),
            ("x = 3;", ":1: an assignment expression is not read"),
            ('import type { B } from "./b";', ":1: an import is not read"),
            ('export { B } from "./b";', ":1: an export is not read"),
            ("interface A { (): string }", ":1: a call signature is not read"),
            ("interface A { new (): A }", ":1: a construct signature is not read"),
            (
                "interface A { [x]: string }",
                ":1: a computed property name as the name of a member is not read",
            ),
            ("const X = `a`;", ":1: the value of 'X' is not read"),
            ("const X = 10n;", ":1: the value of 'X' is not read"),
            ("const X = 017;", ":1: the value of 'X' is not read"),
            ("const X = 9007199254740993;", ":1: the value of 'X' is not read"),
            ("const X = -1e400;", ":1: the value of 'X' is not read"),
            ("namespace A { export const x = 1 } interface A { a: string } type B = A;", ":1: a namespace is not read"),
            ("const X = [1];", ":1: the value of 'X' is not read"),
            ("declare const x: string;", ":1: the value of 'x' is not read"),
            ("type A = { [a: string]: A; [b: string]: A };", ":1: an index signature is not read"),
            (
                "type A = string; type A = number;",
                ":1: 'A' is declared again and differs; schema.ts:1 is ignored",
            ),
            (
                "interface A { a: string } interface A { a: number }",
                ":1: 'a' is declared again and differs; schema.ts:1 is ignored",
            ),
        ],
    )
    def test_what_says_nothing_about_messages_is_skipped_with_a_warning(self, text: str, message: str) -> None:
        diagnostics = Diagnostics()
        read_typescript(text, "schema.ts", diagnostics)
        assert [str(d).removeprefix("warning: schema.ts") for d in diagnostics] == [message]

    @pytest.mark.parametrize(
        ("text", "kind"),
        [
            ("string extends B ? B : C", Kind.ANY),
            ("`a${string}`", Kind.STRING),
            ("() => string", Kind.ANY),
            ("N.B", Kind.ANY),
            ("Map<string, B>", Kind.ANY),
            ("keyof typeof LIMIT", Kind.STRING),
            ("typeof LIMIT.x", Kind.ANY),
            ('import("./b").B', Kind.ANY),
            ("10n", Kind.ANY),
            ("-1e400", Kind.ANY),
        ],
    )
    def test_an_unsupported_type_keeps_its_text(self, text: str, kind: Kind) -> None:
        found = lower(read(f"{DECLARED} type A = {text};"), {})["A"].type
        assert isinstance(found, Primitive) and found.opaque
        assert (found.opaque.text, found.opaque.where.line, found.kind) == (text, 1, kind)

    def test_an_enum_with_a_computed_value_is_open(self) -> None:
        found = declaration("enum A { a = 1, b = a << 1, c }").body
        assert isinstance(found, Union)
        assert [m.operator for m in found.members if isinstance(m, Expression)] == ["b = a << 1", "c"]

    def test_overloads_and_accessors_are_one_member(self) -> None:
        text = "interface A { f(a: string): void; f(a: number): string; get b(): string; set b(value: string) }"
        assert list(members(text)) == ["f", "b"]

    def test_a_tuple_is_an_array_with_a_text(self) -> None:
        found = type_of("[string, B]")
        assert isinstance(found, ListOf)
        assert found == ListOf(item=Union(members=(STRING, Ref(name="B"))))
        assert found.opaque
        assert found.opaque.text == "[string, B]"

    def test_all_errors_are_collected(self) -> None:
        found = complaints("interface A { m: Missing; b: [Absent] }\ntype B = keyof Gone;\nconst X = '\\ud800';")
        assert [line.split(": ", 1)[0] for line in found] == [":3:11", ":1:18", ":1:31", ":2:16"]

    @pytest.mark.parametrize(
        "text", ["type A = ;", "type A = { a: ", "interface A { [key: string] }", "@@@", "type A = string;\0", "'"]
    )
    def test_syntax_errors_have_a_place(self, text: str) -> None:
        assert all(line.startswith(":1:") and "syntax error" in line for line in complaints(text))
        assert complaints(text)

    def test_what_is_around_a_syntax_error_is_still_read(self) -> None:
        diagnostics = Diagnostics()
        document = read_typescript("type A = string;\ntype = ;\nclass E {}\ntype B = C;\n", "schema.ts", diagnostics)
        assert [d.name for d in document.declarations][:1] == ["A"]
        assert any(":2:" in str(d) and "syntax error" in str(d) for d in diagnostics)
        assert any("a class" in str(d) for d in diagnostics)
        assert not any("not declared" in str(d) for d in diagnostics)

    def test_errors_are_capped(self) -> None:
        assert len(complaints("type A = ;\n" * 50)) == 21
        assert len(complaints("type A = Missing;\n" * 500)) == 201


class TestHostileText:
    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("opening", "closing"),
        [
            ("(", ")"),
            ("{ a: ", "}"),
            ("Array<", ">"),
            ("", "[]"),
            ("readonly ", ""),
            ("string | (", ")"),
            ("keyof ", ""),
        ],
    )
    @pytest.mark.parametrize("closed", [True, False])
    def test_deep_nesting_is_an_error_or_ends_in_a_text(self, opening: str, closing: str, closed: bool) -> None:
        depth = 100_000
        diagnostics = Diagnostics()
        document = read_typescript(
            f"type A = {opening * depth}string{closing * depth if closed else ''};", "schema.ts", diagnostics
        )
        assert len(list(diagnostics)) <= 21
        assert list(diagnostics) or not (closed or opening) or "Expression" in repr(document.declarations)

    def test_nesting_up_to_the_limit_is_read(self) -> None:
        assert type_of(f"{'(' * MAX_DEPTH}string{')' * MAX_DEPTH}") == STRING
        assert isinstance(type_of(f"{'(' * (MAX_DEPTH + 1)}string{')' * (MAX_DEPTH + 1)}"), Expression)

    def test_long_text_is_refused(self) -> None:
        assert complaints("// \u00e9" + "x" * 5_000_000) == [": longer than 5 MB: not read"]
        assert complaints("\u00e9" * 3_000_000) == [": longer than 5 MB: not read"]

    def test_lone_surrogates_are_refused(self) -> None:
        assert complaints("type A =\n '\ud800';") == [":2:3: a lone surrogate: the text is not valid Unicode"]

    @pytest.mark.slow
    @pytest.mark.parametrize(
        "text",
        [
            "/**/" * 100_000 + "type A = string;",
            "/** {@link " * 100_000 + "*/ type A = string;",
            "/** " + "{@link a" * 100_000 + " */ type A = string;",
            "type A = '" + "\\u{0}" * 100_000 + "';",
            "interface A {" + "".join(f"a{n}: string; /* x */ " for n in range(15_000)) + "}",
            "enum E {} " * 15_000,
            "a b c (" * 3_000,
            "- " * 200_000,
            "{ " * 200_000,
        ],
    )
    @pytest.mark.timeout(60)
    def test_long_repetitions_are_read_to_the_end(self, text: str) -> None:
        """Reading takes a fraction of a second; quadratic work would exceed the timeout."""
        assert read_typescript(text, "schema.ts", Diagnostics()) is not None

    def test_a_parser_that_searches_too_long_is_stopped(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(typescript_source, "MAX_SECONDS", 0.1)
        assert complaints("-|" * 200_000) == [": not parsed within 0.1 seconds: is this TypeScript?"]

    def test_mutilated_text_never_raises(self) -> None:
        text = _latest()[:6000]
        chance = random.Random(20241105)
        junk = [
            "{",
            "}",
            "(",
            "<",
            "'",
            '"',
            "`",
            "/*",
            "*/",
            "//",
            "\\",
            "\0",
            "\u2028",
            "|",
            "&",
            ";",
            "=>",
            "@",
            "é",
        ]
        for _ in range(150):
            pieces = list(text)
            for _ in range(chance.randint(1, 6)):
                start = chance.randrange(len(pieces))
                pieces[start : start + chance.choice([0, 1, 40])] = [chance.choice(junk)]
            diagnostics = Diagnostics()
            document = read_typescript("".join(pieces), "schema.ts", diagnostics)
            assert isinstance(facts_from_document(document, "".join(pieces)), dict)


class TestOfficialFile:
    def test_documentation_is_that_of_the_json(self) -> None:
        document = read(seed_typescript().read_text("utf-8"))
        definitions = json.loads(official_schema("2024-11-05").read_text("utf-8"))["definitions"]
        for one in document.declarations:
            schema = definitions[one.name]
            if one.name != "EmptyResult":  # an alias: the JSON keeps the $ref alone
                assert one.doc == schema.get("description", "")
            for part in one.body.properties if isinstance(one.body, Body) else ():
                assert part.doc == schema["properties"][part.wire_name].get("description", "")
