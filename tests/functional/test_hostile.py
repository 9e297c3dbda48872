"""Hostile schemas: their text stays text, and their names become distinct Python names."""

import ast
import builtins
import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import black
import pytest
from pydantic import TypeAdapter, ValidationError

from functional.bindings import public
from functional.double import Double
from functional.generated import REVISION, emitted, generate, generate_definitions, golden_sources, structure
from mcp_bindgen.ingest.json_keywords import is_pattern
from mcp_bindgen.ir.diagnostics import Diagnostics, InputError
from mcp_bindgen.load.protocol import load_sources
from support.samples import HANDSHAKE, HANDSHAKE_TS, json_source, typescript_source

STRING: Mapping[str, Any] = {"type": "string"}

HOSTILE = {
    "quotes": 'a"""b',
    "quotes at the end": 'ends with """',
    "quotes alone": '"""',
    "a quote at the end": 'ends with "',
    "single quotes": "a'''b'",
    "backslash": "ends with \\",
    "backslash and quote": '\\"',
    "template": "{{ 7*7 }}{% for x in y %}{# z #}",
    "carriage return": "a\rimport os\r\nimport os",
    "separators": "a\u2028import os\u2029\x85\x0b\x0cimport os",
    "comment": "a */ b # c // d /* e",
    "control": "\x00\x1b[31m\x7f",
    "right to left": "\u202e\u2066evil\u2069",
    "code": '""";import builtins;builtins.hacked = True#"""',
    "code in a literal": "'];import builtins;builtins.hacked = True#",
    "code in brackets": "], _builtins.hacked := 1 #",
    "newline and code": '"\n"""\nimport builtins\nbuiltins.hacked = True\n"""',
    "long": "word " * 20_000,
    "long word": "-" + "x" * 100_000,
}
HARMLESS = "harm-less"
"""Harmless text that, like the hostile texts, needs another name in Python."""


@pytest.fixture(autouse=True)
def _nothing_runs() -> Iterator[None]:
    yield
    assert not hasattr(builtins, "hacked"), "text from a schema was executed"


class TestHostileText:
    """Wherever text from a schema is inserted, the surrounding code is the same as for harmless text."""

    @pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
    def test_in_descriptions(self, text: str, unique: Callable[[Mapping[str, str]], Any]) -> None:
        files = generate_definitions(_described(text))
        assert _kinds(files) == _harmless(_described)
        module = unique(files)
        assert module.Thing.__doc__

    @pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
    def test_in_wire_names(self, text: str, unique: Callable[[Mapping[str, str]], Any]) -> None:
        files = generate_definitions(_with_property(text))
        assert _kinds(files) == _harmless(_with_property)
        module = unique(files)
        data = json.dumps({text: "x"})
        assert json.loads(module.Thing.model_validate_json(data).model_dump_json()) == {text: "x"}
        with pytest.raises(ValidationError):
            module.Thing.model_validate_json("{}")

    @pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
    def test_in_values(self, text: str, unique: Callable[[Mapping[str, str]], Any]) -> None:
        files = generate_definitions(_valued(text))
        assert _kinds(files) == _harmless(_valued)
        module = unique(files)
        adapter: TypeAdapter[Any] = TypeAdapter(module.Choice)
        assert adapter.validate_json(json.dumps(text)) == text
        assert json.loads(module.Thing().model_dump_json()) == {"kind": text}

    @pytest.mark.parametrize("text", [t[:80] for t in HOSTILE.values()], ids=HOSTILE)
    def test_in_method_names(self, text: str, unique: Callable[[Mapping[str, str]], Any]) -> None:
        files = generate_definitions(_callable(text))
        assert all(Path(name).name == name for name in files)
        assert _kinds(files) == _harmless(_callable)
        module = unique(files)
        assert set(module.METHODS) == {"initialize", text, f"{text}/call", f"things/{text}"}
        assert module.Server.__handlers__[f"{text}/call"] == "call_"  # clients have a method of that name

    @pytest.mark.parametrize("text", [t[:80] for t in HOSTILE.values()], ids=HOSTILE)
    def test_in_patterns(self, text: str) -> None:
        found = _kinds(generate_definitions(_matching(text)))
        # A pattern that Python does not support only appears in a warning.
        assert found == (_harmless(_matching) if is_pattern(text) else _harmless(_unmatched))

    @pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
    def test_in_a_schema_ts(self, text: str, unique: Callable[[Mapping[str, str]], Any]) -> None:
        files = generate(typescript_source(_typescript(text)))
        assert _kinds(files) == _kinds(generate(typescript_source(_typescript(HARMLESS))))
        assert text == unique(files).GREETING

    @pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
    def test_in_the_header(self, text: str) -> None:
        protocol = load_sources([json_source(HANDSHAKE, name=text)], REVISION, Diagnostics())
        files = emitted(protocol, command=text)
        assert _kinds(files) == _harmless(_nothing)
        assert all(text.startswith("# Generated by mcp-bindgen; do not edit.\n") for text in files.values())

    @pytest.mark.parametrize("text", [t for t in HOSTILE.values() if len(t) < 1000])
    def test_as_the_name_of_a_definition(self, text: str) -> None:
        assert _kinds(generate_definitions({text: STRING})) == _kinds(generate_definitions({"Harmless": STRING}))

    @pytest.mark.slow
    @pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
    def test_formatting_changes_no_code(self, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
        format_str, known = black.format_str, dict[str, str]()

        def format_once(text: str, *, mode: black.Mode) -> str:
            """Format a file; the packages of a text have many that differ only in the header."""
            header, body = halves(text)
            if body not in known:
                header, known[body] = halves(format_str(text, mode=mode))
            return header + known[body]

        monkeypatch.setattr(black, "format_str", format_once)
        made = [make(text) for make in (_described, _with_property, _valued)]
        made += [make(text[:80]) for make in (_callable, _matching)]
        sources = [json_source({**HANDSHAKE, **definitions}) for definitions in made]
        for source in [*sources, typescript_source(_typescript(text))]:
            protocol = load_sources([source], REVISION, Diagnostics())
            formatted, plain = (
                emitted(protocol, command=text, is_formatted=is_formatted) for is_formatted in (True, False)
            )
            assert formatted != plain
            assert _kinds(formatted) == _kinds(plain)

    def test_a_lone_surrogate_is_refused(self) -> None:
        with pytest.raises(InputError, match="lone surrogate"):
            generate_definitions(_described("\ud800"))

    def test_docstrings_are_escaped(self, unique: Callable[[Mapping[str, str]], Any]) -> None:
        module = unique(generate_definitions(_described('\u202ea\r"""\\n""')))
        assert module.Thing.__doc__.splitlines()[0] == r'\u202ea\r"""\n""'


def halves(text: str) -> tuple[str, str]:
    """Split a generated file behind its header."""
    body = re.sub(r"\A(?:#.*\n)*", "", text)
    return text.removesuffix(body), body


def _described(text: str) -> dict[str, Any]:
    described: dict[str, Any] = {
        "Thing": structure({"a": {**STRING, "description": text}}, description=text),
        "Choice": {"enum": ["a", "b"], "description": text},
        **_callable("it"),
    }
    described["CallRequest"]["description"] = text
    return described


def _valued(text: str) -> dict[str, Any]:
    return {
        "Choice": {"enum": [text, "other"]},
        "Thing": structure({"kind": {"const": text}, "other": {"enum": ["x", text]}}, "kind"),
    }


def _callable(text: str) -> dict[str, Any]:
    return _methods({"Do": text, "Call": f"{text}/call", "Thing": f"things/{text}"})


def _nothing(text: str) -> dict[str, Any]:
    return {}


def _with_property(text: str) -> dict[str, Any]:
    return {"Thing": structure({text: STRING}, text)}


def _matching(text: str) -> dict[str, Any]:
    return {"Thing": {"type": "string", "pattern": text}}


def _unmatched(text: str) -> dict[str, Any]:
    del text
    return {"Thing": {"type": "string"}}


def _typescript(text: str) -> str:
    comment = text.replace("*/", "* /").replace("\x00", "")
    literal = json.dumps(text)
    return (
        f"{HANDSHAKE_TS}\n/** {comment} */\nexport interface Thing {{\n/** {comment} */\n"
        f"  {literal}: string;\n  kind: {literal};\n}}\n/** {comment} */\nexport const GREETING = {literal};\n"
    )


@cache
def _harmless(make: Callable[[str], Mapping[str, Any]]) -> Counter[str]:
    return _kinds(generate_definitions(make(HARMLESS)))


def _kinds(files: Mapping[str, str]) -> Counter[str]:
    """Count the kinds of nodes in the code; their positions and lengths do not matter."""
    return Counter(type(node).__name__ for text in files.values() for node in ast.walk(ast.parse(text)))


class TestNames:
    def test_properties_with_names_that_python_uses(self, unique: Callable[[Mapping[str, str]], Any]) -> None:
        names = "list type from model_config model_dump copy self cls options meta _meta class __init__ json".split()
        names += ["__constants__", "_m", "None", "é", "", "a b", "a_b", "aB", "1st", "x/y", "_", "model_fields"]
        module = unique(generate_definitions({"Thing": structure(dict.fromkeys(names, STRING), *names)}))
        data = dict.fromkeys(names, "x")
        thing = module.Thing.model_validate_json(json.dumps(data))
        assert json.loads(thing.model_dump_json()) == data
        assert len(module.Thing.model_fields) == len(names)
        assert {"list", "type", "from_", "copy_", "self", "class_", "model_config_"} <= set(module.Thing.model_fields)
        assert module.Thing(**thing.model_dump()) == thing
        assert module.Thing(**{name: getattr(thing, name) for name in module.Thing.model_fields}) == thing

    def test_definitions_with_names_that_python_or_the_bindings_use(
        self, unique: Callable[[Mapping[str, str]], Any]
    ) -> None:
        names = [
            "Annotated",
            "Literal",
            "Any",
            "Field",
            "BaseModel",
            "WireModel",
            "Client",
            "Server",
            "METHODS",
            "None",
        ]
        definitions: dict[str, Any] = {name: structure({"a": STRING}, "a") for name in names}
        definitions["User"] = structure({name.lower(): {"$ref": f"#/$defs/{name}"} for name in names})
        module = unique(generate_definitions(definitions))
        renamed = {"Client", "Server", "METHODS", "None"}
        data = {name.lower(): {"a": "x"} for name in names}
        user = module.User.model_validate_json(json.dumps(data))
        assert json.loads(user.model_dump_json()) == data
        for name in names:
            spelled = f"{name}_" if name in renamed else name
            assert type(getattr(user, "none" if name == "None" else name.lower())) is getattr(module, spelled)

    @pytest.mark.parametrize(
        ("definitions", "message"),
        [
            ({"a-b": STRING, "AB": STRING}, "AB and a-b would both be called AB"),
            ({"a.b": STRING, "a_b": STRING}, "a_b and a.b would both be called AB"),
        ],
    )
    def test_definitions_with_one_python_name_are_refused(self, definitions: dict[str, Any], message: str) -> None:
        with pytest.raises(InputError, match=message):
            generate_definitions(definitions)

    @pytest.mark.parametrize(
        ("methods", "message"),
        [
            ({"Do": "a/b", "Be": "a_b"}, "a_b and a/b would both be called A_B"),
            ({"Do": "A/b", "Be": "a/B"}, "would both be called A_B"),
            ({"DoIt": "a/b", "DOIt": "a/c"}, "a/c and a/b would both be called do_it in Python"),
            ({"Do": "x" * 201}, "has a name too long"),
        ],
    )
    def test_methods_with_one_python_name_are_refused(self, methods: dict[str, str], message: str) -> None:
        with pytest.raises(InputError, match=message):
            generate_definitions(_methods(methods))

    def test_methods_with_names_that_the_bindings_use(self, unique: Callable[[Mapping[str, str]], Any]) -> None:
        names = {"Implemented": "methods", "Do": "client/requests", "Class": "class", "Self": "server/notifications"}
        module = unique(generate_definitions(_methods(names)))
        assert set(module.METHODS) == {"initialize", *names.values()}
        tables = sys.modules[f"{module.__name__}.methods"]
        assert set(tables.CLIENT_REQUESTS) == set(module.METHODS)
        assert dict(module.Server.__handlers__)["methods"] == "implemented_"
        assert module.Server.__implemented__() == frozenset()
        assert module.Server.__handlers__["class"] == "class_"

    def test_colliding_constants_get_distinct_names(self, unique: Callable[[Mapping[str, str]], Any]) -> None:
        text = "const $x = 4; const print = 5; const METHODS = 6; const A = -1; const A_ERROR = -2; const _Final = 'f';"
        module = unique(generate(typescript_source(HANDSHAKE_TS + text.replace("const", "export const"))))
        assert (module.x, module.print, module.METHODS_, module.Final) == (4, 5, 6, "f")
        assert {code: error.__name__ for code, error in module.BINDING.errors.items()} == {-1: "AError", -2: "AError2"}
        with pytest.raises(InputError, match="Foo and Foo would both be called Foo"):
            generate(typescript_source(f"{HANDSHAKE_TS} export const Foo = 1; export interface Foo {{ a: string }}"))

    def test_iterators_with_one_name_get_distinct_names(self, unique: Callable[[Mapping[str, str]], Any]) -> None:
        page = structure({"items": {"type": "array", "items": STRING}, "nextCursor": STRING}, "items")
        definitions = _methods({"ListA": "a/list", "ListB": "b/list"})
        for name in ("ListA", "ListB"):
            definitions[f"{name}Result"] = page
            definitions[f"{name}Request"]["properties"]["params"] = structure({"cursor": STRING, "page": STRING})
        module = unique(generate_definitions(definitions))
        iterators = [name for name in public(module.Client) if name.startswith("iter_")]
        assert iterators == ["iter_list_a_pages", "iter_list_b_pages"]


def _methods(methods: Mapping[str, str]) -> dict[str, Any]:
    definitions: dict[str, Any] = {}
    for name, method in methods.items():
        definitions[f"{name}Request"] = structure({"method": {"const": method}}, "method")
        definitions[f"{name}Result"] = structure({})
    members = ["InitializeRequest", *(f"{name}Request" for name in methods)]
    definitions["ClientRequest"] = {"anyOf": [{"$ref": f"#/$defs/{name}"} for name in members]}
    return definitions


class TestArguments:
    async def test_params_with_the_names_of_generated_arguments(
        self, unique: Callable[[Mapping[str, str]], Any]
    ) -> None:
        names = ["options", "meta", "self", "params", "page", "result_type", "arguments", "cls"]
        definitions = _methods({"Do": "do"})
        params = structure({**dict.fromkeys(names, STRING), "_meta": structure({})}, *names)
        definitions["DoRequest"] = structure({"method": {"const": "do"}, "params": params}, "method", "params")
        module = unique(generate_definitions(definitions))
        seen: list[Any] = []

        class Server(module.Server):  # type: ignore[misc, name-defined]
            async def do(self, params: Any, ctx: Any) -> Any:
                seen.append(json.loads(params.model_dump_json()))
                return module.DoResult()

        own = {"options", "meta", "self", "result_type"}
        given = {f"{name}_" if name in own else name: name for name in names}
        meta = {"m": 1}
        await Double(module, Server()).client.do(**given, meta=meta)
        assert seen == [{**{name: name for name in names}, "_meta": {"m": 1}}]

    async def test_a_union_of_params(self, unique: Callable[[Mapping[str, str]], Any]) -> None:
        files = generate(*golden_sources("modern_metadata"))
        module = unique(files)
        double = Double(module, module.Server(), meta={"protocolVersion": "v"})
        not_found = module.BINDING.errors.get(-32601, Exception)
        for arguments in (
            {"by": "text", "text": "t", "options_": ["o"]},
            {"by": "number", "number": 1, "hint": None},
            {"by": "number", "number": 1},
            {"by": "text", "text": "t", "meta": module.RequestMetaObject(protocol_version="w")},
        ):
            with pytest.raises(not_found, match="not implemented"):
                await double.client.ask(**arguments)
        assert [frame["params"] for frame in double.client_end.sent] == [
            {"by": "text", "text": "t", "options": ["o"], "_meta": {"protocolVersion": "v"}},
            {"by": "number", "number": 1, "hint": None, "_meta": {"protocolVersion": "v"}},
            {"by": "number", "number": 1, "_meta": {"protocolVersion": "v"}},
            {"by": "text", "text": "t", "_meta": {"protocolVersion": "w"}},
        ]
