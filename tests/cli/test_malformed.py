"""Schemas that cannot be used: a message that says where, exit status 2, nothing written, no traceback."""

import ast
import json
from pathlib import Path
from typing import Any

import pytest

from support.command import Cli, files_below
from support.samples import HANDSHAKE, HANDSHAKE_TS

STRING = {"type": "string"}
DEEP = 10_000


def schema(**definitions: Any) -> str:
    return json.dumps({"$defs": {**HANDSHAKE, **definitions}})


def chain(length: int, kind: str) -> str:
    """A schema whose definitions each refer to the next one."""
    definitions: dict[str, Any] = {f"A{length}": {"type": "object", "properties": {"end": STRING}}}
    for number in range(length):
        target = {"$ref": f"#/$defs/A{number + 1}"}
        extended = {"allOf": [target, {"type": "object", "properties": {f"p{number}": STRING}}]}
        definitions[f"A{number}"] = extended if kind == "base" else target
    return schema(**definitions)


FIELD = {"type": "object", "properties": {"a": STRING}}
CASES: dict[str, tuple[str, str | bytes, str]] = {
    "bad JSON": ("s.json", '{"$defs": {', "s.json:1:12: not valid JSON"),
    "no JSON": ("s.json", "", "s.json:1:1: not valid JSON"),
    "a JSON list": ("s.json", "[]", "s.json: a schema is a JSON object"),
    "no definitions": ("s.json", "{}", "no definitions: they are looked for under $defs and under definitions"),
    "a key twice": ("s.json", '{"$defs": {"A": {"type": "null", "type": "null"}}}', "'type' occurs twice"),
    "NaN": ("s.json", '{"$defs": {"A": {"type": "number", "minimum": NaN}}}', "NaN is not JSON"),
    "bad TypeScript": ("s.ts", HANDSHAKE_TS + "export interface {", "s.ts:6:1: syntax error"),
    "no TypeScript": ("s.ts", "", "s.ts: not an MCP schema"),
    "noise": ("s.ts", "\x01 ] } ((", "s.ts:1:1: syntax error"),
    "a dangling reference": (
        "s.json",
        schema(A={"$ref": "#/$defs/B"}),
        's.json#/$defs/A/$ref: the reference "#/$defs/B" has no target',
    ),
    "a dangling name": ("s.ts", HANDSHAKE_TS + "export type A = B;", "s.ts:6:17: type 'B' is not declared"),
    "a cycle": ("s.json", schema(A={"$ref": "#/$defs/B"}, B={"$ref": "#/$defs/A"}), "s.json#/$defs/A: 'A' is defined"),
    "a cycle of bases": (
        "s.ts",
        HANDSHAKE_TS + "export interface A extends B {}\nexport interface B extends A {}",
        "'A' is defined in terms of itself",
    ),
    "one name for two": ("s.json", schema(**{"Foo-Bar": FIELD, "Foo_Bar": FIELD}), "would both be called FooBar"),
    "a lone surrogate": ("s.json", schema(A={"type": "string", "description": "\ud800"}), "lone surrogate"),
    "not UTF-8": ("s.json", b'{"$defs": {"\xff": {}}}', "s.json: not UTF-8"),
    "not UTF-8 TypeScript": ("s.ts", b'export type A = "\xff";', "s.ts: not UTF-8"),
    "binary": ("s.json", bytes(range(256)), "this is a binary file"),
    "50 MB": ("s.json", b'{"$defs": {}}' + b" " * (50 * 2**20), "larger than 16 MiB"),
    "deep JSON": ("s.json", '{"a":' * DEEP + "1" + "}" * DEEP, "nested too deeply"),
    "deep lists": ("s.json", '{"$defs":{"A":' + '{"items":' * DEEP + "{}" + "}" * DEEP + "}}", "nested too deeply"),
    "deep TypeScript": ("s.ts", f"{HANDSHAKE_TS} type A = {'(' * DEEP}string{')' * DEEP};", "s.ts"),
    "a schema of something else": ("s.json", json.dumps({"$defs": {"A": STRING}}), "s.json: not an MCP schema"),
    "a revision that is a path": (
        "s.ts",
        f'const LATEST_PROTOCOL_VERSION = "../x";{HANDSHAKE_TS}',
        "cannot name",
    ),
}
ODD: dict[str, tuple[str, str, str, bool]] = {
    "an unknown keyword": ("s.json", schema(A={"type": "string", "frob": 1}), "#/$defs/A/frob: A: no type", True),
    "an applicator": ("s.json", schema(A={"if": {}}), "s.json#/$defs/A/if: A: no type expresses", True),
    "a remote reference": ("s.json", schema(A={"$ref": "http://a/b"}), "no type expresses '$ref http://a/b'", True),
    "deep arrays": ("s.ts", f"{HANDSHAKE_TS} type A = string{'[]' * DEEP};", "s.ts:6: A: no type expresses", True),
    "deep objects": (
        "s.ts",
        f"{HANDSHAKE_TS} type A = {'{a:' * DEEP}string{'}' * DEEP};",
        "A.a: no type expresses '{a:{a:",
        True,
    ),
    "a method name twice": (
        "s.json",
        schema(ARequest=HANDSHAKE["InitializeRequest"]),
        "#/ARequest: initialize is also the method of InitializeRequest",
        False,
    ),
    "a name in colors": ("s.json", schema(**{"[red]x\x1b[31m": {"$ref": "#"}}), r"[red]x\x1b[31m", False),
    "a name that is code": ("s.json", schema(**{'"""\nimport os\n': STRING}), "is named ImportOs in Python", False),
    "a name that is a path": ("s.json", schema(**{"../../etc/passwd": FIELD}), "is named EtcPasswd in Python", False),
}
"""Schemas that no Python type or name expresses: the expected warning, and whether --strict refuses them."""
NAMELESS = ("a revision that is a path",)


@pytest.mark.parametrize("case", CASES)
def test_a_malformed_schema_is_refused(cli: Cli, case: str) -> None:
    name, data, expected = CASES[case]
    Path(name).write_bytes(data if isinstance(data, bytes) else data.encode())
    before = files_below(Path())
    done = cli("generate", *(() if case in NAMELESS else ("2099-01-01",)), "--schema", name, expect=2)
    assert done.out == ""
    assert expected in done.err
    assert all(line.startswith(("error: ", "and ")) for line in done.err.splitlines())
    assert name in done.err
    assert "\x1b" not in done.err
    assert files_below(Path()) == before


@pytest.mark.parametrize("case", ODD)
def test_an_odd_schema_is_generated_with_a_warning(cli: Cli, case: str) -> None:
    name, data, expected, is_opaque = ODD[case]
    Path(name).write_text(data, "utf-8")
    before = files_below(Path())
    if is_opaque:
        assert expected in cli("generate", "2099-01-01", "--schema", name, "--strict", expect=2).err
        assert files_below(Path()) == before
    done = cli("generate", "2099-01-01", "--schema", name, "--verbose")
    assert expected in done.err
    assert all(line.startswith(("warning: ", "note: ")) for line in done.err.splitlines())
    assert "\x1b" not in done.err
    assert max(map(len, done.err.splitlines())) < 400
    assert {path.split("/")[0] for path in files_below(Path()).keys() - before.keys()} == {"generated"}


@pytest.mark.parametrize("kind", [pytest.param("alias", marks=pytest.mark.slow), "base"])
def test_a_chain_of_references_that_is_too_long_is_refused(cli: Cli, kind: str) -> None:
    Path("s.json").write_text(chain(2_000, kind), "utf-8")
    done = cli("generate", "2099-01-01", "--schema", "s.json", expect=2)
    assert done.err.startswith("error: s.json: its definitions form too long a chain of references")
    assert not Path("generated").exists()


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ("absent.json", "error: absent.json: no such file\n"),
        (".", "error: .: this is a folder; give a file in it\n"),
        ("/dev/zero", "error: /dev/zero: no such file\n"),
        ("http://127.0.0.1:9/schema.json", "error: http://127.0.0.1:9/schema.json: cannot be downloaded"),
        ("http://[", "error: http://[: cannot be downloaded"),
        ("a\nb\x1b", r"error: a\nb\x1b: no such file"),
    ],
)
def test_a_place_without_a_schema_is_refused(cli: Cli, place: str, expected: str) -> None:
    done = cli("generate", "2099-01-01", "--schema", place, expect=2)
    assert done.err.startswith(expected)
    assert len(done.err.splitlines()) == 1


def test_two_files_of_the_same_kind_are_refused(cli: Cli) -> None:
    for name in ("a.json", "b.json"):
        Path(name).write_text(schema(), "utf-8")
    assert (
        "b.json: one schema.json is enough"
        in cli("generate", "2099", "--schema", "a.json", "--schema", "b.json", expect=2).err
    )


def test_many_errors_are_cut_short(cli: Cli) -> None:
    Path("s.json").write_text(schema(**{f"A{n}": {"$ref": "#/$defs/B"} for n in range(100)}), "utf-8")
    lines = cli("generate", "2099", "--schema", "s.json", expect=2).err.splitlines()
    assert len(lines) == 21
    assert lines[-1] == "and 80 more errors"


def test_an_unknown_revision_is_refused(cli: Cli) -> None:
    done = cli("generate", "2024-11-06", expect=2)
    assert done.err.startswith("error: 2024-11-06: no such revision; the released ones are 2024-11-05, ")


def test_hostile_text_stays_text(cli: Cli) -> None:
    """Names and descriptions that a careless generator would turn into code or paths."""
    evil = '"""\nraise SystemExit("code ran")\n\\'
    text = schema(
        A={
            "type": "object",
            "description": evil,
            "properties": {'x"""\nraise SystemExit': {**STRING, "description": evil}},
        },
        EvilRequest={"type": "object", "properties": {"method": {"const": f"../../{evil}"}}, "required": ["method"]},
        EvilResult={"type": "object", "properties": {}},
        B={"enum": [evil, "\x00", "{{ 1 }}", "{% raw %}"]},
    )
    Path("s.json").write_text(text, "utf-8")
    cli("generate", "2099-01-01", "--schema", "s.json")
    (folder,) = Path("generated/mcp_bindings").glob("v*")
    for path in folder.iterdir():
        nodes = ast.walk(ast.parse(path.read_bytes()))
        assert not [node for node in nodes if isinstance(node, ast.Name) and node.id == "SystemExit"]
    assert {path.name for path in Path().iterdir()} == {"generated", "s.json"}
