"""Hostile documents: nothing runs, no request leaves for another origin, and no foreign variable is read."""

import ast
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mcp_bindings import testing
from openapi.apis import Recorder, connected, document, generate, load, text_of
from openapi.hostile import BODIES, MARK, NAMES, PAYLOADS
from openapi.hostile import document as hostile
from support.http import served

ENVIRONMENT = {"AWS_SECRET_ACCESS_KEY": "a-cloud", "GITHUB_TOKEN": "a-token", "KEY": "a-key", "PATH_KEY": "a-path"}
CALLS: list[tuple[str, dict[str, Any]]] = [
    *(
        ("files", {"path": value})
        for value in (
            "http://evil.example/x",
            "//evil.example",
            "@evil.example",
            "\\\\evil.example\\x",
            "x@evil.example",
        )
    ),
    *(
        ("paths", {"id": value, "labels": [value], "m": {value: value}})
        for value in ("https://evil.example", "{m}", "%2e%2e")
    ),
    ("queries", {"raw": "#@evil.example"}),
    ("queries", {"multi": ["\r\nHost: evil.example"]}),
    ("headers", {"sid": "a; admin=1"}),
]


class Watched(dict[str, str]):
    """Variables of the environment that remember which of them are read."""

    def __init__(self) -> None:
        super().__init__(os.environ | ENVIRONMENT)
        self.read: set[str] = set()

    def get(self, key: str, default: Any = None) -> Any:
        self.read.add(key)
        return super().get(key, default)

    def __getitem__(self, key: str) -> str:
        self.read.add(key)
        return super().__getitem__(key)


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Iterator[Watched]:
    found = Watched()
    with monkeypatch.context() as patch:
        patch.setattr(os, "environ", found)
        yield found


@pytest.mark.parametrize(
    "payloads", [PAYLOADS[::14], *(pytest.param(PAYLOADS[n::4], marks=pytest.mark.slow) for n in range(4))], ids=len
)
async def test_nothing_of_a_document_runs(
    payloads: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, watched: Watched
) -> None:
    monkeypatch.chdir(tmp_path)
    path = generate(hostile(*payloads), tmp_path, "--max-tools", "99")
    async with testing.connect(load(path).app) as client:
        watched.read.clear()
        tools = [tool.name async for tool in client.iter_tools()]
        assert len(tools) == len(payloads) and all(re.fullmatch(r"[a-z][a-z0-9_]{0,63}", name) for name in tools)
        for name in tools:
            result = await client.call_tool(name, {})
            assert result.is_error
    assert not Path(MARK).exists()
    text = path.read_text("utf-8")
    assert {name for name in watched.read if not name.startswith(("MCP_API_SERVER", "PYDANTIC_"))} == set()
    assert all(re.fullmatch(r"MCP_API_SERVER\w*", name) for name in re.findall(r'env="([^"]*)"', text))
    assert "https://evil.example" not in text
    names = {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}
    assert not names & {"os", "__import__"}
    assert all(letter.isprintable() or letter == "\n" for letter in text)


@pytest.mark.slow
@pytest.mark.parametrize("payload", (*BODIES[::2], *NAMES[::8]), ids=ascii)
def test_each_payload_alone_is_harmless(payload: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    load(generate(hostile(payload), tmp_path))
    assert not Path(MARK).exists()


async def test_no_argument_leads_to_another_origin(tmp_path: Path) -> None:
    async with connected(document("styles"), tmp_path) as (client, api):
        for tool, arguments in CALLS:
            await client.call_tool(tool, arguments)
        assert {sent.headers["host"].partition(":")[0] for sent in api.sent} == {"127.0.0.1"}
        assert all(sent.path.startswith("/base/") for sent in api.sent)
        assert all(
            "evil" not in sent.headers["host"] and "admin=1" not in sent.headers.get("cookie", "") for sent in api.sent
        )


@pytest.mark.parametrize("status", [301, 303, 307])
async def test_a_redirect_is_followed_within_the_origin_only(status: int, tmp_path: Path) -> None:
    other = Recorder()
    async with served(other, lifespan="off") as elsewhere, connected(document("styles"), tmp_path) as (client, api):
        for target in (elsewhere, "//evil.example", "https://127.0.0.1/x", "http://user:secret@127.0.0.1/"):
            api.answer(b"", status, location=f"{target}/x?token=secret")
            result = await client.call_tool("queries", {"flag": True})
            assert result.is_error and "not followed" in text_of(result) and "secret" not in text_of(result)
        api.answers = [(status, {"location": "/base/other"}, b""), (204, {}, b"")]
        api.sent.clear()
        assert text_of(await client.call_tool("queries", {"flag": True})) == "204 No Content"
        assert [sent.path for sent in api.sent] == ["/base/q", "/base/other"]
        api.answers = [(status, {"location": "/base/other"}, b"")]
        api.sent.clear()
        assert (await client.call_tool("form", {"a": "1"})).is_error  # It changes something.
        assert len(api.sent) == 1
        assert (await client.call_tool("queries", {})).is_error  # It never ends.
    assert other.sent == []


async def test_no_cookie_is_kept(tmp_path: Path) -> None:
    async with connected(document("styles"), tmp_path) as (client, api):
        api.answer(b"", 204, set_cookie="session=of-another-caller; Path=/")
        for _ in range(2):
            await client.call_tool("queries", {})
        assert [sent.headers.get("cookie") for sent in api.sent] == [None, None]


async def test_a_response_is_bounded(tmp_path: Path) -> None:
    async with connected(document("shop"), tmp_path, "--auth", "key=bearer:PATH") as (client, api):
        api.answer([{"note": "x" * (4 << 20)}])
        assert "more than 4,194,304 bytes" in text_of(await client.call_tool("orders_list", {}))
        api.answer(b"x" * 100, content_encoding="gzip")
        assert "compressed" in text_of(await client.call_tool("orders_list", {}))
        api.answer(b"<style>x</style><b>No</b> " * 1000, 500, content_type="text/html")
        text = text_of(await client.call_tool("orders_list", {}))
        assert "500" in text and "<b>" not in text and "style" not in text and len(text) < 2_200
        api.answer(b"\x1b[31m\xff\xe2\x80\xae", 400)
        assert text_of(await client.call_tool("orders_list", {})).replace("\n", "").isprintable()
