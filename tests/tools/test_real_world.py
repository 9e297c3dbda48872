"""Tools of servers in the wild, and their generated code: constants, defaults, tuples, maps, alternatives, tasks."""

from pathlib import Path
from typing import Any

import pytest

from mcp_bindgen.ir.diagnostics import Diagnostics
from mcp_runtime.tools import ToolArgumentError
from tools.talking import check_types, load, objects, text_of, tool

DOG = objects({"kind": {"const": "dog", "default": "dog"}, "name": {"type": "string", "default": "Rex"}})
CAT = objects({"kind": {"const": "cat"}, "lives": {"type": "integer", "maximum": 9, "default": 10}}, "kind")
TREE: dict[str, Any] = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"$ref": "#/$defs/Tree"}}]}
JSON: dict[str, Any] = {
    "anyOf": [
        {"type": ["string", "number", "boolean", "null"]},
        {"type": "object", "additionalProperties": {"$ref": "#/$defs/Json"}},
        {"type": "array", "items": {"$ref": "#/$defs/Json"}},
    ]
}
PAIR: dict[str, Any] = {
    "type": "array",
    "prefixItems": [{"type": "string"}, {"type": "integer"}],
    "minItems": 2,
    "maxItems": 2,
}
WRAPPED = {**objects({"result": {"type": "integer"}}, "result"), "x-fastmcp-wrap-result": True}
TOOLS = [
    tool("adopt", objects({"dog": DOG, "cat": CAT})),
    tool("grow", {**objects({"tree": {"$ref": "#/$defs/Tree"}}, "tree"), "$defs": {"Tree": TREE}}),
    tool("store", {**objects({"value": {"$ref": "#/$defs/Json"}}, "value"), "$defs": {"Json": JSON}}),
    tool("pair", objects({"of": PAIR}, "of"), objects({"of": PAIR}, "of")),
    tool("add", {"type": "object"}, WRAPPED),
    tool("count", {"type": "object"}, {"type": "object", "additionalProperties": {"type": "integer"}}),
    tool("either", {"oneOf": [{**DOG, "required": ["kind"]}, CAT]}),
    tool("scores", {"type": "object", "additionalProperties": {"type": "integer"}}),
]


@pytest.fixture(scope="module")
def text() -> str:
    diagnostics = Diagnostics()
    found = text_of(TOOLS, diagnostics=diagnostics)
    assert [str(d) for d in diagnostics if d.level.value == "warning"] == []
    return found


@pytest.fixture(scope="module")
def module(text: str, tmp_path_factory: pytest.TempPathFactory) -> Any:
    return load(text, tmp_path_factory.mktemp("real"))


class TestConstants:
    def test_nested_constructors_fill_them_in(self, module: Any) -> None:
        known = module.TestTools.__tools__["adopt"]
        sent = known.build({"dog": module.AdoptInputDog(), "cat": module.AdoptInputCat()})
        assert sent == {"dog": {"kind": "dog", "name": "Rex"}, "cat": {"kind": "cat"}}

    def test_a_default_that_the_schema_refuses_is_left_to_the_server(self, text: str) -> None:
        assert "= 10" not in text

    def test_none_leaves_a_default_out(self, module: Any) -> None:
        known = module.TestTools.__tools__["adopt"]
        assert known.build({"dog": module.AdoptInputDog(kind=None, name=None), "cat": None}) == {"dog": {}}


class TestAlternatives:
    def test_recursive_ones_are_typed(self, text: str, module: Any) -> None:
        assert "async def grow(self, *, tree: GrowInputTree" in text
        known = module.TestTools.__tools__["grow"]
        assert known.build({"tree": ["a", ["b", []]]}) == {"tree": ["a", ["b", []]]}
        with pytest.raises(ToolArgumentError):
            known.build({"tree": ["a", [1]]})

    def test_any_json_value(self, module: Any) -> None:
        known = module.TestTools.__tools__["store"]
        values: list[Any] = ["x", 1.5, True, None, [1, {"a": [None]}], {"a": {"b": []}}]
        for value in values:
            assert known.build({"value": value}) == {"value": value}

    def test_a_root_is_one_argument(self, text: str, module: Any) -> None:
        assert "async def either(self, arguments: EitherInput, *" in text
        known = module.TestTools.__tools__["either"]
        assert known.check({"kind": "dog"}) == {"kind": "dog"}
        with pytest.raises(ToolArgumentError):
            known.check({"kind": "fish"})

    def test_a_type_without_values_is_not_generated(self) -> None:
        endless = {"anyOf": [{"$ref": "#/$defs/E"}, {"type": "string"}]}
        diagnostics = Diagnostics()
        text = text_of(
            [tool("it", {**objects({"e": {"$ref": "#/$defs/E"}}), "$defs": {"E": endless}})], diagnostics=diagnostics
        )
        assert "it(self, arguments: dict[str, Any]" in text.replace("\n        ", "")
        assert "is recursive in a way that has no type" in "".join(map(str, diagnostics))


NAMED: dict[str, tuple[list[Any], list[str]]] = {
    "titles": ([objects({"a": {}}, title="A circle"), objects({"a": {}}, title="Box")], ["ACircle", "Box"]),
    "the same title twice": ([objects({"a": {}}, title="X"), objects({"b": {}}, title="X")], ["WithA", "WithB"]),
    "constants": (
        [objects({"kind": {"const": "user-click"}}, "kind"), objects({"kind": {"enum": ["key"]}}, "kind")],
        ["UserClick", "Key"],
    ),
    "required properties": (
        [objects({"at": {}, "id": {}}, "id"), objects({"at": {}, "limit": {}, "query": {}}, "query")],
        ["WithId", "WithQuery"],
    ),
    "nothing": ([objects({"a": {"type": "string"}}), objects({"a": {"type": "integer"}})], ["Option1", "Option2"]),
}


class TestNames:
    @pytest.mark.parametrize("what", NAMED)
    def test_alternatives_are_named_after_what_distinguishes_them(self, what: str) -> None:
        members, words = NAMED[what]
        text = text_of([tool("whole", {"anyOf": members}), tool("part", objects({"of": {"anyOf": members}}))])
        for word in words:
            assert f"class WholeInput{word}(" in text
            assert f"class PartInputOf{word}(" in text

    def test_definitions_keep_their_names(self) -> None:
        schema = {**objects({"unit": {"$ref": "#/$defs/Unit"}}, "unit"), "$defs": {"Unit": {"enum": ["m", "ft"]}}}
        assert 'ItInputUnit: TypeAlias = Literal["m", "ft"]' in text_of([tool("it", schema)], is_formatted=True)


class TestShapes:
    def test_tuples_keep_the_types_of_their_items(self, text: str, module: Any) -> None:
        assert "of: tuple[str, int]" in text
        known = module.TestTools.__tools__["pair"]
        assert known.build({"of": ("a", 1)}) == {"of": ["a", 1]}
        assert known.read({"of": ["a", 1]}).of == ("a", 1)
        with pytest.raises(ToolArgumentError):
            known.check({"of": ["a", "b"]})

    def test_a_wrapped_scalar_is_unwrapped(self, text: str, module: Any) -> None:
        assert "async def add(self, *, options: stub.CallOptions | None = None) -> ToolResult[int]" in text
        assert module.TestTools.__tools__["add"].read({"result": 5}) == 5

    def test_maps_at_the_root(self, text: str, module: Any) -> None:
        assert "CountOutput: TypeAlias = dict[str, Integer]" in text
        tools = module.TestTools.__tools__
        assert tools["count"].read({"a": 1}) == {"a": 1}
        assert tools["scores"].check({"a": 1}) == {"a": 1}
        with pytest.raises(ToolArgumentError):
            tools["scores"].check({"a": "x"})


@pytest.mark.slow
def test_type_checkers_accept_all_of_it(text: str, tmp_path: Path) -> None:
    (tmp_path / "made.py").write_text(text)
    use = """from typing import assert_type

from made import AdoptInputDog, EitherInputDog, TestTools


async def use(tools: TestTools) -> None:
    await tools.adopt(dog=AdoptInputDog(name="Max"))
    await tools.grow(tree=["a", ["b"]])
    await tools.pair(of=("a", 1))
    await tools.either(EitherInputDog())
    assert_type((await tools.add()).data, int)
    assert_type((await tools.count()).data, dict[str, int])
"""
    (tmp_path / "use.py").write_text(use)
    assert check_types(tmp_path, "made.py", "use.py") == ""
