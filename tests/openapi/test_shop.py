"""A server that is generated for a real application runs as a program, and its tools call that application."""

import ast
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from mcp_bindgen.emit.python.render import format_source
from mcp_bindgen.ir.diagnostics import Location
from mcp_bindings import asgi_app, connect_http, connect_stdio, testing
from mcp_bindings.v2025_11_25 import Client
from openapi.apis import connected, document, generate, load, text_of
from openapi.hostile import PAYLOADS
from openapi.hostile import document as hostile
from openapi.shop import KEY, shop
from support.checkers import mypy, pyright
from support.documents import ROOT
from support.http import served

MASKED = "server_key-123"


@pytest.fixture
def server(tmp_path: Path) -> Path:
    return generate(document("shop"), tmp_path)


async def test_its_tools_call_the_application(tmp_path: Path) -> None:
    async with served(shop()) as url:
        path = generate(document("shop"), tmp_path, "--url", f"{url}/base", "--auth", "key=apikey:SHOP_KEY")
        environment = {**os.environ, "SHOP_KEY": KEY}
        async with connect_stdio(sys.executable, "-m", "mcp_runtime", str(path), env=environment) as peer:
            client = await Client.open(peer)
            lines = [{"sku": "AB", "count": 2}]
            placed = await client.call_tool("orders_create", {"lines": lines, "note": None})
            assert placed.structured_content == {
                "id": "n0",
                "lines": lines,
                "size": "small",
                "note": None,
                "gift": False,  # which the document does not have
            }
            listed = await client.call_tool("orders_list", {"size": "small"})
            assert json.loads(text_of(listed)) == [placed.structured_content]
            await client.call_tool("orders_replace", {"id": "n0", "body": [{"sku": "ZZ", "count": 1}]})
            got = await client.call_tool("orders_get", {"id": "n0"})
            assert got.structured_content is not None
            assert got.structured_content["lines"] == [{"sku": "ZZ", "count": 1}]
            assert text_of(await client.call_tool("orders_cancel", {"id": "n0"})) == "204 No Content"
            gone = await client.call_tool("orders_get", {"id": "n0"})
            assert gone.is_error
            assert text_of(gone) == 'GET /base/orders/n0: 404 Not Found\n{"detail":"there is no order n0"}'
            assert text_of(await client.call_tool("status", {})) == "open"


async def test_tools_have_names_schemas_and_annotations(server: Path) -> None:
    async with testing.connect(load(server).app) as client:
        tools = {tool.name: tool async for tool in client.iter_tools()}
    assert [*tools] == ["orders_list", "orders_create", "orders_get", "orders_replace", "orders_cancel", "status"]
    hints = {name: tool.annotations.model_dump(exclude_none=True) for name, tool in tools.items()}
    assert hints["orders_list"] == hints["status"] == {"readOnlyHint": True}
    assert hints["orders_create"] == {"readOnlyHint": False}
    assert hints["orders_replace"] == hints["orders_cancel"] == {"readOnlyHint": False, "idempotentHint": True}
    limit: Any = tools["orders_list"].input_schema.model_dump(mode="json")["properties"]["limit"]
    assert limit == {"type": "integer", "minimum": 1, "maximum": 100, "description": "How many (default 10)"}
    create: Any = tools["orders_create"].input_schema.model_dump(mode="json")
    assert create["required"] == ["lines"] and "id" not in create["properties"]
    assert tools["orders_get"].output_schema is not None and tools["status"].output_schema is None


async def test_schemas_of_results_are_short(tmp_path: Path) -> None:
    api = document("shop")
    properties = {
        "title": {"type": "string", "nullable": True},
        "size": {"enum": ["small", None]},
        "additionalProperties": {"type": "integer"},
        "any": {"type": ["string", "integer", "null"]},
        "codes": {"type": "object", "additionalProperties": {"type": "string"}},
    }
    schema = {"type": "object", "title": "A title", "properties": properties}
    responses = {"200": {"description": "It.", "content": {"application/json": {"schema": schema}}}}
    api["paths"]["/status"]["get"]["responses"] = responses
    async with testing.connect(load(generate(api, tmp_path)).app) as client:
        tools = {tool.name: tool async for tool in client.iter_tools()}
    found = tools["status"].output_schema
    assert found is not None
    assert found.model_dump(mode="json", exclude_none=True) == {
        "type": "object",
        "properties": {
            "title": {"type": ["string", "null"]},
            "size": {"type": ["string", "null"]},
            "additionalProperties": {"type": "integer"},
            "any": {"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}]},
            "codes": {"type": "object", "additionalProperties": {"type": "string"}},
        },
    }


async def test_a_missing_variable_is_named(server: Path) -> None:
    async with testing.connect(load(server).app) as client:
        result = await client.call_tool("orders_list", {})
    assert result.is_error
    assert text_of(result).endswith("has to set MCP_API_SERVER_KEY")


async def test_a_secret_is_in_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MCP_API_SERVER_KEY", MASKED)
    async with served(shop()) as url:
        path = generate(document("shop"), tmp_path, "--url", f"{url}/base")
        async with testing.connect(load(path).app) as client:
            result = await client.call_tool("orders_list", {})
    assert text_of(result) == 'GET /base/orders: 401 Unauthorized\n{"detail":"*** is not a key"}'
    assert all(MASKED not in each.read_text("utf-8") for each in tmp_path.iterdir() if each.is_file())


def test_twice_the_same_bytes(server: Path, tmp_path: Path) -> None:
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    generate(document("shop"), tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()} == before
    text = server.read_text("utf-8")
    assert format_source(text, Location(source="server.py")) == text


def test_no_variable_is_a_parameter_too(tmp_path: Path) -> None:
    api = document("shop")
    anything: Any = {"200": {"description": "Any", "content": {"application/json": {"schema": {}}}}}
    for number, names in enumerate([("result",), ("result", "result_"), ("ctx", "api", "http"), ("Result", "RESULT_")]):
        parameters = [{"name": name, "in": "query", "schema": {"type": "string"}} for name in names]
        api["paths"][f"/any/{number}"] = {"get": {"parameters": parameters, "responses": anything}}
    tree = ast.parse(generate(api, tmp_path).read_text("utf-8"))
    found = 0
    for each in ast.walk(tree):
        if isinstance(each, ast.AsyncFunctionDef):
            taken = {one.arg for one in (*each.args.args, *each.args.kwonlyargs)}
            variables = {
                one.target.id
                for one in each.body
                if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name)
            }
            assert not taken & variables, each.name
            found += len(variables)
    assert found >= 4


@pytest.mark.slow
def test_type_checkers_accept_it(tmp_path: Path) -> None:
    for name in ("shop", "styles"):
        generate(document(name), tmp_path, "--url", "https://shop.example", name=f"{name}_server.py")
    generate(shop().openapi(), tmp_path, "--url", "https://shop.example", name="fastapi_server.py")
    generate(hostile(*PAYLOADS), tmp_path, "--max-tools", "99", name="hostile_server.py")
    paths = [str(ROOT / name) for name in ("runtime", "generated")]
    settings = {"typeCheckingMode": "strict", "extraPaths": paths}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings), "utf-8")
    done = pyright(tmp_path)
    assert done.returncode == 0, done.stdout
    done = mypy(tmp_path, ".", path=os.pathsep.join(paths))
    assert done.returncode == 0, done.stdout


async def test_gets_can_be_resources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MCP_API_SERVER_KEY", KEY)
    async with served(shop()) as url:
        path = generate(document("shop"), tmp_path, "--url", f"{url}/base", "--resources")
        async with testing.connect(load(path).app) as client:
            assert [tool.name async for tool in client.iter_tools()] == [
                "orders_create",
                "orders_replace",
                "orders_cancel",
            ]
            templates = [each.uri_template async for each in client.iter_resource_templates()]
            assert templates == ["server://orders{?tag,size,limit}", "server://orders/{id}"]
            await client.call_tool("orders_create", {"lines": [{"sku": "AB", "count": 1}]})
            found = [
                (await client.read_resource(uri=uri)).contents[0].text
                for uri in ("server://orders?size=small&limit=1", "server://orders/n0", "server://status")
            ]
    assert json.loads(found[0]) == [json.loads(found[1])] and json.loads(found[1])["id"] == "n0"
    assert found[2] == "open"


async def test_descriptions_have_what_types_do_not_say(tmp_path: Path) -> None:
    api = document("shop")
    parameters = api["paths"]["/orders"]["get"]["parameters"]
    parameters[0].update(description="Which tag", schema={"type": "string", "format": "uuid"})
    parameters[1].update(schema={"type": "string", "format": "date", "default": "2026-01-01", "description": "When"})
    async with testing.connect(load(generate(api, tmp_path)).app) as client:
        tools = {tool.name: tool async for tool in client.iter_tools()}
    found: Any = tools["orders_list"].input_schema.model_dump(mode="json")["properties"]
    described = {name: schema.get("description") for name, schema in found.items()}
    assert described == {
        "tag": "Which tag (uuid)",
        "size": "When (date, default 2026-01-01)",
        "limit": "How many (default 10)",
    }


async def test_what_documents_often_forget_is_sent(tmp_path: Path) -> None:
    api = document("shop")
    body = api["paths"]["/orders"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    body["required"].append("undeclared")
    line = {"$ref": "#/components/schemas/Address", "required": ["city"]}  # in 3.0, strictly, nothing is beside $ref
    api["paths"]["/orders/{id}"]["put"]["requestBody"] = {"content": {"application/json": {"schema": line}}}
    api["paths"]["/orders/{id}"]["put"]["responses"]["204"] = {"description": "Nothing changed."}
    async with connected(api, tmp_path, "--auth", "key=bearer:PATH") as (client, recorder):
        arguments = {"lines": [{"sku": "AB", "count": 1}]}
        assert "undeclared" in text_of(await client.call_tool("orders_create", arguments))
        recorder.answer({"id": "n0", "note": None, "lines": None, "customer": {"name": 5}})
        wrong = await client.call_tool("orders_create", {**arguments, "undeclared": 1})
        assert json.loads(recorder.sent[-1].body) == {**arguments, "undeclared": 1}
        assert recorder.sent[-1].headers["accept"] == "application/json"
        assert wrong.is_error and "succeeded with 200 OK, do not repeat it" in text_of(wrong)
        assert "/customer/name: " in text_of(wrong)
        assert "city" in text_of(await client.call_tool("orders_replace", {"id": "n0"}))
        recorder.answer({"id": "n0", "lines": None, "note": None})
        found = await client.call_tool("orders_replace", {"id": "n0", "city": "Oslo"})
        assert found.structured_content == {"id": "n0", "note": None}  # A null that is not allowed is absent.
        recorder.answer(b"", 204)
        assert text_of(await client.call_tool("orders_replace", {"id": "n0", "city": "Oslo"})) == "null"
        assert (await client.call_tool("orders_get", {"id": "n0"})).structured_content == {}
        assert (await client.call_tool("orders_list", {})).is_error  # Nothing is not a list.
        recorder.answer(b"<html>", 200)
        assert "not as the API documents it: Invalid JSON" in text_of(
            await client.call_tool("orders_get", {"id": "n0"})
        )
        assert recorder.sent[-1].method == "GET"


async def test_callers_can_send_their_own_secret(tmp_path: Path) -> None:
    async with served(shop()) as url:
        path = generate(document("shop"), tmp_path, "--url", f"{url}/base", "--forward", "X-Shop-Key")
        app = asgi_app(load(path).app)
        async with served(app) as endpoint:
            for headers, is_error in (({"X-Shop-Key": KEY}, False), ({}, True), ({"Authorization": KEY}, True)):
                async with connect_http(f"{endpoint}/mcp", headers=headers) as peer:
                    client = await Client.open(peer)
                    result = await client.call_tool("orders_list", {})
                    assert bool(result.is_error) is is_error
                    if is_error:
                        assert "needs the header X-Shop-Key" in text_of(result)


async def test_properties_can_be_dropped(tmp_path: Path) -> None:
    async with connected(document("shop"), tmp_path, "--auth", "key=bearer:PATH", "--drop", "*_url") as (client, api):
        api.answer([{"id": "n0", "self_url": "https://x.example", "customer": {"home_url": 1, "name": "A"}}])
        result = await client.call_tool("orders_list", {})
        assert json.loads(text_of(result)) == [{"id": "n0", "customer": {"name": "A"}}]
        tools = {tool.name: tool async for tool in client.iter_tools()}
    assert "self_url" not in str(tools["orders_list"].output_schema)
