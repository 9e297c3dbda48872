"""Lists of tools in the forms in which programs save them, and what is refused with its name."""

import json
from pathlib import Path
from typing import Any

import pytest

from mcp_bindgen.ir.diagnostics import Diagnostics, InputError
from mcp_bindgen.tool_clients.contract import read_contract
from support.command import Cli

SCHEMA: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
MCP: dict[str, Any] = {"name": "f", "description": "d", "inputSchema": SCHEMA}
SNAKE: dict[str, Any] = {
    **{"name": "f", "title": None, "description": "d", "input_schema": SCHEMA, "output_schema": None},
    **{"annotations": {"read_only_hint": True, "title": None}, "execution": None},
}
FUNCTION: dict[str, Any] = {"name": "f", "description": "d", "parameters": SCHEMA, "strict": True}
LISTED = {"jsonrpc": "2.0", "id": 2, "result": {"tools": [MCP]}}
FORMS: dict[str, Any] = {
    "result": {"tools": [MCP]},
    "response": LISTED,
    "list": [MCP],
    "other spelling": [SNAKE],
    "result in the other spelling": {"tools": [SNAKE], "next_cursor": None},
    "OpenAI chat": [{"type": "function", "function": FUNCTION}],
    "OpenAI responses": [{"type": "function", **FUNCTION}],
    "OpenAI request": {"model": "m", "messages": [], "tools": [{"type": "function", "function": FUNCTION}]},
    "OpenAI functions": [FUNCTION],
    "mcp_list_tools": {"type": "mcp_list_tools", "server_label": "s", "tools": [{**SNAKE, "annotations": None}]},
    "OpenAI output": {"output": [{"type": "message"}, {"type": "mcp_list_tools", "tools": [SNAKE]}]},
    "Anthropic": [{"name": "f", "description": "d", "input_schema": SCHEMA}],
    "Inspector history": [
        {"request": json.dumps({"method": "initialize"}), "response": json.dumps({"serverInfo": {"name": "s"}})},
        {"request": json.dumps({"method": "tools/list", "params": {}}), "response": json.dumps({"tools": [MCP]})},
    ],
    "Inspector objects": [{"request": {"method": "tools/list"}, "response": {"tools": [MCP]}}],
    "lines": [{"id": 1, "method": "initialize"}, LISTED],
}
OTHERS: dict[str, tuple[Any, str]] = {
    "server.json": (
        {"$schema": "https://static.modelcontextprotocol.io/schemas/2025-10-17/server.schema.json", "name": "io.x/y"},
        "is a server.json of a registry",
    ),
    "server.json without a schema": ({"name": "io.x/y", "packages": [{}]}, "is a server.json of a registry"),
    "configuration": ({"mcpServers": {"x": {"command": "y"}}}, "is a configuration of servers"),
    "VS Code": ({"servers": {"x": {"command": "y"}}}, "is a configuration of servers"),
    "OpenAPI": ({"openapi": "3.1.0", "paths": {"/x": {}}}, "contains no tools in a known form"),
    "JSON Schema": (SCHEMA, "contains no tools in a known form"),
    "names": (["f", "g"], "contains no tools in a known form"),
    "prompts": ({"prompts": [{"name": "x"}]}, "contains no tools in a known form"),
    "text": ("hello", "contains no tools: give"),
    "nothing": ({}, "contains no tools"),
    "empty list": ([], "contains no tools"),
}


def save(value: Any, path: Path, form: str = "") -> Path:
    text = "\n".join(map(json.dumps, value)) if form == "lines" else json.dumps(value)
    path.write_text(text, "utf-8")
    return path


@pytest.mark.parametrize("form", FORMS)
def test_every_form_in_use_gives_the_tool_with_its_schema(form: str, tmp_path: Path) -> None:
    problems = Diagnostics()
    [tool] = read_contract(save(FORMS[form], tmp_path / "x.json", form), problems).tools
    assert (tool.name, tool.description, tool.input_schema, tool.output_schema) == ("f", "d", SCHEMA, None)
    assert tool.hint("readOnlyHint") in (None, True) and not problems.errors
    if form in ("other spelling", "OpenAI output"):
        assert tool.hint("readOnlyHint") is True


def test_pages_of_a_recording_are_one_list(tmp_path: Path) -> None:
    pages = [{"id": n, "result": {"tools": [{**MCP, "name": f"f{n}"}], "nextCursor": "x"}} for n in range(3)]
    contract = read_contract(save(pages, tmp_path / "x.jsonl", "lines"), Diagnostics())
    assert [tool.name for tool in contract.tools] == ["f0", "f1", "f2"]


@pytest.mark.parametrize(
    "wrong", ["{", "[1, 2", "nothing", '{"a": NaN}', "\ufffd", '{"id": 1, "result": {"tools": [{"na']
)
@pytest.mark.parametrize("place", [1, 2, 3])
def test_a_line_of_a_recording_that_is_not_json_is_left_out(wrong: str, place: int, tmp_path: Path) -> None:
    pages = [json.dumps({"id": n, "result": {"tools": [{**MCP, "name": f"f{n}"}]}}) for n in range(3)]
    pages.insert(place, wrong)
    (tmp_path / "x.jsonl").write_text("\n".join(pages), "utf-8")
    found = Diagnostics()
    assert [tool.name for tool in read_contract(tmp_path / "x.jsonl", found).tools] == ["f0", "f1", "f2"]
    [warning] = found
    assert warning.where.line == place + 1 and warning.message.endswith("; the line is left out")


@pytest.mark.parametrize("form", OTHERS)
def test_anything_else_is_an_error_that_says_what_to_give(form: str, tmp_path: Path) -> None:
    value, reason = OTHERS[form]
    with pytest.raises(InputError) as raised:
        read_contract(save(value, tmp_path / "x.json"), Diagnostics())
    text = str(raised.value.diagnostics.errors[0].message)
    assert reason in text and "give" in text


def test_the_command_writes_a_typed_client_or_nothing(tmp_path: Path, cli: Cli) -> None:
    for form in ("other spelling", "OpenAI chat", "Inspector history"):
        path = save(FORMS[form], tmp_path / "x.json")
        cli("tools", "generate", "--from", path, "--out", "m.py", "--lock", "l.json")
        assert "a: str" in (tmp_path / "m.py").read_text("utf-8")
        (tmp_path / "m.py").unlink()
    for value, reason in OTHERS.values():
        found = cli("tools", "generate", "--from", save(value, tmp_path / "x.json"), "--out", "m.py", expect=2)
        assert reason in found.err and not (tmp_path / "m.py").exists()
