"""A server that is generated for a real application runs as a program, and its tools call that application."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from mcp_bindgen.emit.python.render import format_source
from mcp_bindgen.ir.diagnostics import Location
from mcp_bindings import connect_stdio, testing
from mcp_bindings.v2025_11_25 import Client
from openapi.apis import document, generate, load, text_of
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
    assert all(MASKED not in each.read_text("utf-8") for each in tmp_path.iterdir())


def test_twice_the_same_bytes(server: Path, tmp_path: Path) -> None:
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    generate(document("shop"), tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    text = server.read_text("utf-8")
    assert format_source(text, Location(source="server.py")) == text


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
