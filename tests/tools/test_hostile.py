"""Untrusted servers: their text stays text, nothing external is read, and time and memory are bounded.

Work that grows too fast exceeds the timeout of the test.
"""

import ast
import builtins
import json
import os
import resource
import socket
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from functional.test_hostile import HOSTILE
from mcp_bindgen.ir.diagnostics import Diagnostics
from mcp_bindgen.tool_clients.calling.module import MAX_FORMATTED
from mcp_bindgen.tool_clients.comparing.narrowing import gaps
from support.command import Cli
from tools.talking import load, objects, saved, text_of, tool

HARMLESS = "harm-less"
STRING = {"type": "string"}


@pytest.mark.parametrize(
    ("names", "is_compared"),
    [(["a" * 60_000], False), (["a" * 20_000, "b" * 20_000, "c" * 20_000], False), (["a" * 60, "b" * 60], True)],
    ids=["one long name", "nested long names", "ordinary names"],
)
def test_places_with_long_pointers_are_not_compared(names: list[str], is_compared: bool) -> None:
    """Each of the places within a name repeats it."""
    inner = {f"p{number}": STRING for number in range(400)}
    schemas = [objects({**inner, "p0": changed}) for changed in (STRING, {"type": "integer"})]
    for name in names:
        schemas = [objects({name: schema}) for schema in schemas]
    whys = {gap.why for gap in gaps(*schemas)}
    assert whys and ("there is too much to compare" in whys) is not is_compared


@pytest.fixture(autouse=True)
def _nothing_runs() -> Iterator[None]:
    yield
    assert not hasattr(builtins, "hacked"), "text from a server was executed"


def described(text: str) -> list[Any]:
    inner = {**STRING, "description": text, "title": text, "examples": [text], "$comment": text, "format": text}
    schema = objects({"a": inner}, title=text, description=text, **{"x-python": text, "$id": "urn:x"})
    return [tool("it", schema, schema, description=text, title=text)]


def named(text: str) -> list[Any]:
    return [tool(text[:200], objects({"a": STRING}), objects({"a": STRING}))]


def members(text: str) -> list[Any]:
    nested = objects({text: STRING, "b": objects({text: STRING}, text)}, text)
    return [tool("it", nested, nested)]


def valued(text: str) -> list[Any]:
    return [tool("it", objects({"a": {"enum": [text, "x"]}, "b": {"const": text}}, "a"))]


def defaulted(text: str) -> list[Any]:
    return [tool("it", objects({"a": {**STRING, "default": text}, "b": {"enum": ["x", text], "default": text}}))]


def matched(text: str) -> list[Any]:
    return [
        tool(
            "it", objects({"a": {**STRING, "pattern": text}, "b": {"type": "object", "patternProperties": {text: {}}}})
        )
    ]


def defined(text: str) -> list[Any]:
    pointer = "#/$defs/" + text.replace("~", "~0").replace("/", "~1")
    return [tool("it", {**objects({"a": {"$ref": pointer}}), "$defs": {text: objects({"x": STRING}, "x")}})]


def referring(text: str) -> list[Any]:
    return [tool("it", objects({"a": {"$ref": text}, "b": {"$dynamicRef": text}}))]


def hinted(text: str) -> list[Any]:
    return [tool("it", objects({"a": {"type": text}}), annotations={"title": text, "readOnlyHint": text})]


MAKERS: list[Callable[[str], list[Any]]] = [
    described,
    named,
    members,
    valued,
    defaulted,
    matched,
    defined,
    referring,
    hinted,
]


def everywhere(text: str) -> list[Any]:
    """Make a tool of each maker, named after it unless the text is the name."""
    return [
        {**found, "name": found["name"] if make is named else make.__name__} for make in MAKERS for found in make(text)
    ]


class TestText:
    @pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
    def test_it_never_becomes_code(self, text: str, tmp_path: Path) -> None:
        found = text_of(everywhere(text))
        kinds, known = _kinds(found), _kinds(text_of(everywhere(HARMLESS)))
        if len(text) < 1000:
            assert kinds == known
        else:  # Too long to be a name or a value of a type, so there are fewer things, but no others.
            assert kinds.keys() <= known.keys() | _kinds(text_of([tool("it", True)])).keys()
        tools = load(found, tmp_path).TestTools.__tools__
        assert len(tools) == len(MAKERS)
        if len(text) < 1000:
            assert tools["members"].check({text: "x", "b": {text: "y"}}) == {text: "x", "b": {text: "y"}}
            assert tools["valued"].check({"a": text, "b": text})

    @pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
    def test_as_the_name_of_the_server(self, text: str, tmp_path: Path, cli: Cli) -> None:
        path = tmp_path / "list.json"
        server = {"name": text, "version": text}
        path.write_text(json.dumps({"server": server, "tools": [tool("it", objects({"a": STRING}))]}))
        cli("tools", "generate", "--from", path, "--out", tmp_path / "made.py", "--quiet")
        load((tmp_path / "made.py").read_text("utf-8"), tmp_path)

    def test_surrogates_and_entries_that_are_not_tools_are_skipped(self) -> None:
        diagnostics = Diagnostics()
        listed = [
            tool("good", objects({"a": STRING})),
            tool("\ud800", {}),
            3,
            {"name": 1},
            tool("", {}),
            tool("good", {}),
        ]
        text = text_of(listed, diagnostics=diagnostics)
        assert "async def good" in text
        assert len([d for d in diagnostics if d.level.value == "warning"]) == 5


class TestReferences:
    @pytest.mark.parametrize(
        "reference",
        [
            "file:///etc/passwd",
            "/etc/passwd",
            "../secret.json",
            "http://127.0.0.1:1/x",
            "https://example.com/s.json#/a",
        ],
    )
    def test_no_reference_leads_outside(self, reference: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "secret.json").write_text('{"type": "string", "const": "hunter2"}')
        monkeypatch.setattr(socket, "create_connection", _refuse)
        monkeypatch.setattr(socket.socket, "connect", _refuse)
        folder = tmp_path / "inner"
        folder.mkdir()
        monkeypatch.chdir(folder)
        diagnostics = Diagnostics()
        schema = objects({"a": {"$ref": reference}, "b": STRING}, **{"$id": "file:///etc/"})
        text = text_of([tool("it", schema)], diagnostics=diagnostics)
        assert "hunter2" not in text and "root:" not in text
        assert any("has no target in the schema" in d.message for d in diagnostics)
        known = load(text, tmp_path).TestTools.__tools__["it"]
        assert known.check({"a": 1, "b": "x"}) == {"a": 1, "b": "x"}
        assert [gap.is_proven for gap in gaps(schema, objects({"a": STRING}))] == [False]

    @pytest.mark.parametrize("keyword", ["anyOf", "allOf"])
    def test_cycles_and_explosions_end(self, keyword: str) -> None:
        explosion = {f"d{n}": {keyword: [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(60)}
        circle = {"d60": {"$ref": "#/$defs/d61"}, "d61": {"$ref": "#/$defs/d60"}}
        schema = {**objects({"a": {"$ref": "#/$defs/d0"}}), "$defs": {**explosion, **circle}}
        diagnostics = Diagnostics()
        text = text_of([tool("bad", schema), tool("good", objects({"a": STRING}, "a"))], diagnostics=diagnostics)
        assert "async def good(self, *, a: str" in text
        gaps(schema, objects({"a": STRING}))

    @pytest.mark.parametrize(
        "keyword", ["anyOf", *(pytest.param(one, marks=pytest.mark.slow) for one in ("oneOf", "allOf")), "properties"]
    )
    def test_exponentially_many_paths_end(self, keyword: str) -> None:
        defs: dict[str, Any] = {"d60": STRING, "e60": {**STRING, "minLength": 1}}
        for n in range(60):
            refs = [{"$ref": f"#/$defs/d{n + 1}"}, {"$ref": f"#/$defs/e{n + 1}"}]
            both = objects({"a": refs[0], "b": refs[1]}, "a", "b") if keyword == "properties" else {keyword: refs}
            defs |= {f"d{n}": both, f"e{n}": both}
        schema = {**objects({"a": {"$ref": "#/$defs/d0"}}, "a"), "$defs": defs}
        text_of([tool("it", schema)])
        gaps(schema, objects({"a": {"type": "integer"}}))
        gaps(objects({"a": STRING}), schema)

    @pytest.mark.slow
    def test_a_dense_graph_of_objects_ends(self) -> None:
        def net(types: dict[str, Any]) -> dict[str, Any]:
            nodes = {f"d{n}": {f"p{m}": {"$ref": f"#/$defs/d{(n * m + 1) % 60}"} for m in range(60)} for n in range(60)}
            defs = {name: objects({**properties, **types}) for name, properties in nodes.items()}
            return {**objects({"a": {"$ref": "#/$defs/d0"}}), "$defs": defs}

        assert [gap.is_proven for gap in gaps(net({}), net({"p3": STRING}))] == [False]


class TestSize:
    def test_a_pattern_that_could_backtrack_forever_ends(self, tmp_path: Path) -> None:
        schema = objects({"a": {**STRING, "pattern": "^(a+)+$"}})
        known = load(text_of([tool("it", schema)]), tmp_path).TestTools.__tools__["it"]
        with pytest.raises(ValueError, match="does not match"):
            known.check({"a": "a" * 5000 + "!"})
        gaps(objects({"a": STRING}), schema)

    def test_a_deep_schema_in_a_file(self, tmp_path: Path, cli: Cli) -> None:
        path = tmp_path / "deep.json"
        path.write_text('{"tools": [{"name": "it", "inputSchema": ' + '{"items": ' * 10_000 + "1" + "}" * 10_001 + "]}")
        outcome = cli("tools", "generate", "--from", path, "--out", tmp_path / "x.py", expect=2)
        assert "nested too deep" in outcome.err
        assert not (tmp_path / "x.py").exists()

    @pytest.mark.parametrize("depth", [60, 130, 300])
    def test_a_schema_that_is_less_deep_falls_back(self, depth: int, tmp_path: Path, cli: Cli) -> None:
        deep: Any = STRING
        for _ in range(depth):
            deep = {"type": "array", "items": deep}
        path = saved([tool("deep", objects({"a": deep})), tool("good", objects({"a": STRING}, "a"))], tmp_path)
        outcome = cli("tools", "generate", "--from", path, "--out", tmp_path / "x.py", "--verbose")
        assert "warning:" in outcome.err
        text = (tmp_path / "x.py").read_text("utf-8")
        assert "async def good(self, *, a: str" in text
        assert (
            "async def deep(\n        self, arguments: dict[str, Any]" in text
            or "def deep(self, arguments: dict[str, Any]" in text
        )
        cli("tools", "check", "--from", path, "--lock", tmp_path / "tools.lock.json")

    @pytest.mark.slow
    def test_a_schema_of_ten_megabytes_is_left_untyped(self, tmp_path: Path, cli: Cli) -> None:
        wide = objects({f"p{n}": {**STRING, "description": "x" * 80} for n in range(100_000)})
        path = saved([tool("wide", wide), tool("good", objects({"a": STRING}, "a"))], tmp_path)
        assert path.stat().st_size > 10_000_000
        outcome = cli("tools", "generate", "--from", path, "--out", tmp_path / "x.py", "--verbose")
        assert "too large" in outcome.err
        assert (tmp_path / "x.py").stat().st_size < 10_000

    @pytest.mark.slow
    def test_thousands_of_tools_are_generated(self, tmp_path: Path, cli: Cli) -> None:
        """With LONG=1, as many as docs/tools.md names; otherwise more than are formatted."""
        number = 5000 if os.environ.get("LONG") else MAX_FORMATTED + 200
        listed = [
            tool(f"tool_{n}", objects({"a": STRING, "b": objects({"c": {"type": "integer"}})}, "a"))
            for n in range(number)
        ]
        path = saved(listed, tmp_path)
        cli("tools", "generate", "--from", path, "--out", tmp_path / "x.py")
        assert len(load((tmp_path / "x.py").read_text("utf-8"), tmp_path).Tools.__tools__) == number
        cli("tools", "check", "--from", path, "--lock", tmp_path / "tools.lock.json")
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 3_000_000


def _kinds(text: str) -> Counter[str]:
    """Count the kinds of nodes that the code is made of."""
    return Counter(type(node).__name__ for node in ast.walk(ast.parse(text)))


def _refuse(*_: object, **__: object) -> None:
    raise AssertionError("the network was used")
