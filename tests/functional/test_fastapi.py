"""Generated models as bodies of a FastAPI application: two revisions in one OpenAPI document, requests through both."""

from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI
from jsonschema import Draft202012Validator

from mcp_bindings import v2024_11_05 as old
from mcp_bindings import v2025_11_25 as new
from support.mutations import is_list, is_object

# FastAPI silences this while it builds a validator; ours is built on first use.
pytestmark = pytest.mark.filterwarnings("ignore:The 'alias' attribute with value 'result'")

app = FastAPI()


@app.post("/old")
async def take_old(result: old.ListToolsResult) -> old.ListToolsResult:
    assert type(result.tools[0]) is old.Tool
    return result


@app.post("/new")
async def take_new(result: new.ListToolsResult) -> new.ListToolsResult:
    assert type(result.tools[0]) is new.Tool
    return result


@app.post("/content")
async def take_content(result: new.CallToolResult) -> new.CallToolResult:
    assert isinstance(result.content[0], new.TextContent)
    return result


TOOL: Any = {"name": "x", "inputSchema": {"type": "object", "properties": {"a": {"default": None}}}, "acme": None}
SENT = [
    ("/old", {"tools": [TOOL], "nextCursor": "2"}),
    ("/new", {"tools": [{**TOOL, "title": "X", "annotations": {"readOnlyHint": False}}], "_meta": {"a/b": 1}}),
    ("/content", {"content": [{"type": "text", "text": "\u20ac"}], "structuredContent": {"a": [1, 1.5, None]}}),
]


@pytest.fixture
async def client() -> Any:
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url="http://test") as opened:
        yield opened


@pytest.mark.parametrize(("path", "body"), SENT)
async def test_a_body_comes_back_as_it_was_sent(client: httpx2.AsyncClient, path: str, body: Any) -> None:
    answer = await client.post(path, json=body)
    assert answer.status_code == 200, answer.text
    assert answer.json() == body


@pytest.mark.parametrize(("path", "body"), SENT)
async def test_a_body_of_another_type_is_refused(client: httpx2.AsyncClient, path: str, body: Any) -> None:
    answer = await client.post(path, json={**body, "tools": 1, "content": 1})
    assert answer.status_code == 422
    assert answer.json()["detail"][0]["loc"][:2] == ["body", "content" if path == "/content" else "tools"]


async def test_both_revisions_are_in_one_valid_document(client: httpx2.AsyncClient) -> None:
    document: Any = (await client.get("/openapi.json")).json()
    schemas = document["components"]["schemas"]
    tools = {_body(document, path)["properties"]["tools"]["items"]["$ref"] for path in ("/old", "/new")}
    assert len(tools) == 2, "both revisions share a schema"
    refs = set(_refs(document))
    assert refs and refs <= {f"#/components/schemas/{name}" for name in schemas}
    for schema in schemas.values():
        Draft202012Validator.check_schema(schema)


@pytest.mark.parametrize(("path", "body"), SENT)
async def test_the_document_describes_the_bodies(client: httpx2.AsyncClient, path: str, body: Any) -> None:
    document: Any = (await client.get("/openapi.json")).json()
    validator: Any = Draft202012Validator({**_body(document, path), "components": document["components"]})
    assert [error.message for error in validator.iter_errors(body)] == []
    assert not validator.is_valid({})


def _body(document: Any, path: str) -> Any:
    ref: str = document["paths"][path]["post"]["requestBody"]["content"]["application/json"]["schema"]["$ref"]
    return document["components"]["schemas"][ref.rpartition("/")[2]]


def _refs(value: Any) -> Iterator[str]:
    if is_object(value):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        for inner in value.values():
            yield from _refs(inner)
    elif is_list(value):
        for inner in value:
            yield from _refs(inner)
