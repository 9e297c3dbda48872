"""A mock made from a lock file lists its tools, checks arguments, and makes results that fit the output schemas."""

import json
import time
from pathlib import Path
from random import Random
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from mcp_bindgen.ir.diagnostics import InputError
from mcp_bindgen.mock import server
from mcp_bindgen.values.schema import NoValue, value_of
from mcp_bindings import Client, v2024_11_05, v2025_06_18, v2025_11_25, v2026_07_28
from mcp_runtime.core.errors import PeerError
from mcp_runtime.testing import connect
from mock.locks import CITY, FORECAST, tool, write_lock
from support.command import Cli
from support.documents import ROOT
from support.programs import quick_python

PACKAGES = (v2024_11_05, v2025_06_18, v2025_11_25, v2026_07_28)
HOSTILE: dict[str, Any] = {
    "recursive": {"$ref": "#"},
    "recursive item": {"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]},
    "parts of itself": {"allOf": [{"$ref": "#"}, {"$ref": "#"}]},
    "alternatives of itself": {"anyOf": [{"$ref": "#"}, {"allOf": [{"$ref": "#"}]}]},
    "many items": {"type": "object", "properties": {"a": {"type": "array", "minItems": 10**9}}, "required": ["a"]},
    "large text": {"type": "object", "properties": {"a": {"type": "string", "minLength": 10**12}}, "required": ["a"]},
    "large pattern": {"type": "object", "properties": {"a": {"pattern": "(a{9999}){9999}" * 99}}, "required": ["a"]},
    "slow pattern": {"type": "object", "properties": {"a": {"pattern": "^(a+)+$"}}, "required": ["a"]},
    "lookahead": {"type": "object", "properties": {"a": {"pattern": "(?=(a+)+$)b"}}, "required": ["a"]},
    "wide": {"type": "object", "properties": {f"p{n}": {"$ref": "#"} for n in range(100)}},
    "zero step": {"type": "object", "properties": {"a": {"type": "integer", "multipleOf": 0}}, "required": ["a"]},
    "wrong types": {"type": 5, "properties": [], "required": {"a": 1}, "$ref": {}},
    "unknown type": {"type": "anything"},
    "nothing": {"type": "object", "properties": {"a": False}, "required": ["a"]},
    "elsewhere": {"$ref": "https://example.com/schema.json"},
}


def accepts(schema: Any, value: object) -> bool:
    validator: Any = Draft202012Validator(schema)
    return bool(validator.is_valid(value))


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.REVISION)
async def test_clients_of_every_revision_list_and_call_tools(tmp_path: Path, package: Any) -> None:
    lock = write_lock(tmp_path, tool("forecast", output=FORECAST), tool("remember"))
    async with connect(server(lock=lock), package.Client) as client:
        assert [each.name for each in (await client.list_tools()).tools] == ["forecast", "remember"]
        assert client.connection.peer_info["name"] == "weather" and client.connection.peer_info["version"] == "1.4"
        made = (await client.call_tool(name="forecast", arguments={"city": "Oslo"})).model_dump(mode="json")
        text = json.loads(made["content"][0]["text"])
        assert accepts(FORECAST, text)
        assert made.get("structuredContent", text) == text
        assert "isError" not in made
        plain = (await client.call_tool(name="remember", arguments={"city": "Oslo"})).model_dump(mode="json")
        assert plain["content"] == [{"type": "text", "text": 'remember({"city":"Oslo"})'}]


async def test_tools_are_listed_as_they_were_recorded(tmp_path: Path) -> None:
    strange = tool("a", annotations={"readOnlyHint": True}, title="A", execution={"taskSupport": "optional"})
    async with connect(server(lock=write_lock(tmp_path, strange)), Client) as client:
        (listed,) = (await client.list_tools()).tools
        assert listed.model_dump(mode="json") == strange


async def test_long_lists_have_pages(tmp_path: Path) -> None:
    lock = write_lock(tmp_path, *(tool(f"t{n:04}") for n in range(1001)))
    async with connect(server(lock=lock), Client) as client:
        assert len([each async for each in client.iter_tools()]) == 1001
        for cursor in ("1001", "-1", "x", "9" * 40):
            with pytest.raises(PeerError, match="no such page"):
                await client.list_tools(cursor=cursor)


async def test_only_clients_with_capabilities_see_tools_that_need_them(tmp_path: Path) -> None:
    made = server(lock=write_lock(tmp_path, tool("ask", **{"x-needs-capabilities": True}), tool("tell")))
    async with connect(made, Client) as client:
        assert [each.name for each in (await client.list_tools()).tools] == ["tell"]
    async with connect(made, Client, elicit=[]) as client:
        listed = (await client.list_tools()).tools
        assert [each.name for each in listed] == ["ask", "tell"]
        assert "x-needs-capabilities" not in listed[0].model_dump(mode="json")


async def test_equal_calls_have_equal_results_and_seeds_change_them(tmp_path: Path) -> None:
    lock = write_lock(tmp_path, tool("forecast", output=FORECAST))

    async def results(seed: int) -> list[str]:
        async with connect(server(lock=lock, seed=seed), Client) as client:
            return [
                (await client.call_tool(name="forecast", arguments={"city": city})).content[0].model_dump_json()
                for city in ("Oslo", "Rome", "Oslo")
            ]

    first = await results(1)
    assert first[0] == first[2] != first[1]
    assert await results(1) == first != await results(2)


async def test_invalid_arguments_and_unknown_tools_are_refused(tmp_path: Path) -> None:
    made = server(lock=write_lock(tmp_path, tool("forecast")))
    async with connect(made, Client) as client:
        result = await client.call_tool(name="forecast", arguments={"city": 5})
        assert result.is_error and "5 is not of type 'string'" in result.content[0].model_dump_json()
        with pytest.raises(PeerError, match="Unknown tool: forecasts"):
            await client.call_tool(name="forecasts", arguments={})
    async with connect(made, v2025_06_18.Client) as old:
        with pytest.raises(PeerError, match="'city' is a required property"):
            await old.call_tool(name="forecast", arguments={})


async def test_examples_replace_what_is_made_up(tmp_path: Path) -> None:
    lock = write_lock(tmp_path, tool("a"), tool("b", output=CITY), tool("c"))
    path = tmp_path / "examples.json"
    cases = [{"arguments": {"city": "Oslo"}, "result": {"city": "cold"}}, {"result": {"city": "warm"}}]
    failed = {"content": [{"type": "text", "text": "no"}], "isError": True}
    path.write_text(json.dumps({"a": "hello", "b": cases, "c": failed}), "utf-8")
    async with connect(server(lock=lock, examples=path), Client) as client:
        assert (await client.call_tool(name="a", arguments={"city": ""})).content[0].model_dump(mode="json") == {
            "type": "text",
            "text": "hello",
        }
        for city, expected in (("Oslo", "cold"), ("Rome", "warm")):
            found = await client.call_tool(name="b", arguments={"city": city})
            assert found.structured_content == {"city": expected}
        assert (await client.call_tool(name="c", arguments={"city": ""})).is_error


@pytest.mark.parametrize(
    ("examples", "reason"),
    [
        ([], "must be a JSON object"),
        ({"x": "hello"}, "the lock has no tool 'x'"),
        ({"b": {"town": 1}}, "does not accept this result: 'city' is a required property"),
        ({"b": [5]}, 'each case is {"arguments": {...}, "result": ...}'),
        ({"b": [{"arguments": 1, "result": 1}]}, "each case is"),
    ],
)
def test_examples_that_cannot_be_used_are_refused(tmp_path: Path, examples: Any, reason: str) -> None:
    path = tmp_path / "examples.json"
    path.write_text(json.dumps(examples), "utf-8")
    with pytest.raises(InputError) as caught:
        server(lock=write_lock(tmp_path, tool("b", output=CITY)), examples=path)
    assert reason in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("name", HOSTILE)
async def test_hostile_schemas_are_bounded(tmp_path: Path, name: str) -> None:
    schema = HOSTILE[name]
    lock = write_lock(tmp_path, tool("in", schema), tool("out", True, schema))
    async with connect(server(lock=lock), Client) as client:
        began = time.thread_time()
        for each, arguments in (("in", {"a": "a" * 3000 + "!"}), ("out", {})):
            answer = await client.call_tool(name=each, arguments=arguments)
            assert len(answer.model_dump_json()) < 1_000_000
        assert time.thread_time() - began < 10


def test_nested_alternatives_and_references_come_to_an_end() -> None:
    tree: Any = {"type": "object", "properties": {"next": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}}}
    tree["required"] = ["next"]
    for seed in range(50):
        assert accepts(tree, value_of(tree, Random(seed)))


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "format": "date-time"},
        {"type": "string", "pattern": "^[A-Z]{3}-\\d{4}$"},
        {"type": "string", "minLength": 20, "maxLength": 22},
        {"type": "integer", "minimum": 5, "exclusiveMaximum": 7},
        {"type": "integer", "multipleOf": 7, "minimum": 50},
        {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 0.001},
        {"type": "number", "multipleOf": 0.5},
        {"type": "number", "maximum": -5},
        {"type": ["string", "null"]},
        {"const": {"a": [1]}},
        {"type": "array", "prefixItems": [{"const": 1}, {"type": "boolean"}], "items": False, "minItems": 2},
        {"type": "array", "items": {"enum": [1, 2, 3]}, "uniqueItems": True},
        {"type": "object", "minProperties": 3, "additionalProperties": {"type": "integer"}},
        {"allOf": [{"properties": {"a": {"type": "integer"}}, "required": ["a"]}, {"required": ["b"]}]},
        {
            "oneOf": [
                {"type": "integer"},
                {"type": "object", "required": ["kind"], "properties": {"kind": {"const": 1}}},
            ]
        },
        True,
    ],
    ids=json.dumps,
)
def test_values_are_of_their_schemas(schema: Any) -> None:
    for seed in range(20):
        value = value_of(schema, Random(seed))
        assert accepts(schema, value), value


@pytest.mark.parametrize("schema", [False, {"$ref": "other.json"}, {"$ref": "#/none"}, {"type": 5}], ids=json.dumps)
def test_a_schema_without_values_is_refused(schema: Any) -> None:
    with pytest.raises(NoValue):
        value_of(schema, Random(0))


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ((), "give one source"),
        (("--lock", "a", "--session", "b"), "give one source"),
        (("--lock", "missing.json"), "missing.json: cannot be read: No such file or directory"),
        (("--lock", "."), "cannot be read: Is a directory"),
        (("--lock", "cut.json"), "cut.json:1:"),
        (("--lock", "other.json"), "contains no tools"),
        (("--lock", "good.json", "--port", 1), "--port: is for --http"),
        (("--lock", "good.json", "--fault", "lost-session"), "lost-session is for --http"),
        (("--lock", "good.json", "--fault", "explode"), "'explode' is not KIND"),
        (("--lock", "good.json", "--fault", "delay"), "'delay' is not KIND"),
        (("--lock", "good.json", "--fault", "delay=1.2.3"), "1.2.3 is not a number of seconds"),
        (("--lock", "good.json", "--fault", "delay=9999"), "9999 is not a number of seconds"),
        (("--lock", "good.json", "--fault", "error=1"), "'error=1' is not KIND"),
        (("--lock", "good.json", "--examples", "cut.json"), "cut.json:1:"),
        (("--session", "good.json", "--seed", 1), "--seed, --examples and --package are for a lock file"),
    ],
)
def test_bad_input_is_one_line(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[object, ...], reason: str
) -> None:
    monkeypatch.chdir(tmp_path)
    good = write_lock(tmp_path, tool("a")).rename("good.json")
    Path("cut.json").write_text(good.read_text("utf-8")[:100], "utf-8")
    Path("other.json").write_text('{"name": "x"}', "utf-8")
    (line,) = cli("mock", *words, expect=2).err.splitlines()
    assert reason in line


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tracker_server.py", "sum_server.py", "elicitation_server.py", "tasks_server.py"])
def test_a_mock_of_our_servers_keeps_their_contract_and_breaks_no_rule(cli: Cli, name: str, tmp_path: Path) -> None:
    lock, real = tmp_path / "tools.lock.json", (quick_python(), ROOT / "examples" / name)
    cli("tools", "generate", "--out", tmp_path / "client.py", "--cwd", tmp_path, "--", *real)
    words = ("--", quick_python(), "-m", "mcp_bindgen", "mock", "--lock", lock)
    assert "The contract is kept." in cli("tools", "check", "--lock", lock, *words).out
    found = cli("check", "--format", "json", *words).json
    broken = [finding for finding in found["findings"] if finding["severity"] != "note"]
    assert broken == [] and len(found["revisions"]) == 5
