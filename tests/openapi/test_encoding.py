"""Arguments are encoded by the styles of OpenAPI, and what cannot be sent is refused before anything is."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from openapi.apis import Sent, connected, document, text_of

SENT: list[tuple[str, dict[str, Any], Callable[[Sent], object]]] = [
    (
        "paths",
        {"id": "a/b?c", "labels": ["x", "y z"], "m": {"a": 1, "b": "u"}},
        lambda r: r.path == "/base/p/a%2Fb%3Fc/.x.y%20z/;a=1;b=u",
    ),
    ("files", {"path": "a/b c.txt"}, lambda r: r.path == "/base/files/a/b%20c.txt"),
    ("queries", {"multi": ["a", "b c"]}, lambda r: r.query == "multi=a&multi=b%20c"),
    ("queries", {"csv": ["a,1", "b"]}, lambda r: r.query == "csv=a%2C1,b"),
    ("queries", {"pipes": ["a", "b"]}, lambda r: r.query == "pipes=a%7Cb"),
    ("queries", {"spaces": [1, 2]}, lambda r: r.query == "spaces=1%202"),
    ("queries", {"obj": {"r": 1, "g": 2}}, lambda r: r.query == "r=1&g=2"),
    ("queries", {"objcsv": {"r": 1, "g": 2}}, lambda r: r.query == "objcsv=r,1,g,2"),
    ("queries", {"deep": {"gte": 3}}, lambda r: r.query == "deep[gte]=3"),
    ("queries", {"filter": {"a": [1]}}, lambda r: r.query == "filter=%7B%22a%22%3A%5B1%5D%7D"),
    ("queries", {"flag": True}, lambda r: r.query == "flag=true"),
    ("queries", {"raw": "a/b:c,d&e=f"}, lambda r: r.query == "raw=a/b:c,d%26e%3Df"),
    ("queries", {"exp": ["a", "b"]}, lambda r: r.query == "exp[]=a&exp[]=b"),
    ("queries", {"sort_by": None}, lambda r: r.query == "sort-by="),
    ("queries", {"multi": ["\u00e9\u202e"]}, lambda r: r.query == "multi=%C3%A9%E2%80%AE"),
    ("queries", {}, lambda r: r.query == ""),
    ("headers", {"x_list": [1, 2]}, lambda r: r.headers["x-list"] == "1,2"),
    ("headers", {"x_obj": {"a": 1, "b": 2}}, lambda r: r.headers["x-obj"] == "a=1,b=2"),
    ("headers", {"x_on": True}, lambda r: r.headers["x-on"] == "true"),
    ("headers", {"x_on": "\u00e9"}, lambda r: r.headers["x-on"].encode("latin-1").decode() == "\u00e9"),
    ("headers", {"sid": "a;b"}, lambda r: r.headers["cookie"] == "sid=a%3Bb"),
    ("form", {"a": "1", "list_": ["x", "y"]}, lambda r: r.body == b"a=1&list=x&list=y"),
    ("form", {"a": "1", "csv": ["x", "y"]}, lambda r: r.body == b"a=1&csv=x,y"),
    ("form", {"a": "1", "deep": {"x": [{"y": 2}]}}, lambda r: r.body == b"a=1&deep[x][0][y]=2"),
    ("form", {"a": "1", "obj": {"k": 2}}, lambda r: r.body == b"a=1&obj=%7B%22k%22%3A2%7D"),
    (
        "multi",
        {"file": "aGVsbG8=", "n": 3},
        lambda r: b'filename="file"' in r.body and b"\r\n\r\nhello\r\n" in r.body and b"\r\n\r\n3\r\n" in r.body,
    ),
    (
        "multi",
        {"meta": {"k": 1}},
        lambda r: b"application/json" in r.body and re.search(rb'\{"k":1\}', r.body),
    ),
    (
        "patch",
        {"id": "7", "title": None},
        lambda r: json.loads(r.body) == {"title": None} and r.headers["content-type"] == "application/merge-patch+json",
    ),
    ("patch", {"id": "7", "id_body": 5}, lambda r: json.loads(r.body) == {"id": 5} and r.path.endswith("/7")),
    (
        "bin",
        {"body": "aGVsbG8="},
        lambda r: r.body == b"hello" and r.headers["content-type"] == "application/octet-stream",
    ),
    ("text", {"body": "h\u00e9"}, lambda r: r.body.decode() == "h\u00e9" and r.headers["content-type"] == "text/plain"),
    ("list", {"body": [1, 2]}, lambda r: r.body == b"[1,2]"),
]
REFUSED = [
    *(("paths", {"id": value, "labels": ["x"], "m": {"a": 1}}) for value in ("..", ".", "")),
    *(("files", {"path": value}) for value in ("../x", "a/../b", "/etc/passwd", "a//b", "a/./b", "..")),
    *(("headers", {"x_on": value}) for value in ("a\r\nHost: evil", "a\nb", "\0", "a\x7f")),
    ("headers", {"sid": "a\r\nb"}),
    ("headers", {"host": "evil.example"}),
    *(("bin", {"body": value}) for value in ("not base64!", "aGVsbG8", "\u00e9")),
    ("multi", {"file": "no base64"}),
]


async def test_each_style_is_sent_as_the_document_says(tmp_path: Path) -> None:
    async with connected(document("styles"), tmp_path) as (client, api):
        for tool, arguments, is_right in SENT:
            api.sent.clear()
            result = await client.call_tool(tool, arguments)
            assert not result.is_error, (tool, arguments, text_of(result))
            (sent,) = api.sent
            assert is_right(sent), (tool, arguments, sent)


async def test_what_would_change_the_request_is_not_sent(tmp_path: Path) -> None:
    async with connected(document("styles"), tmp_path) as (client, api):
        for tool, arguments in REFUSED:
            result = await client.call_tool(tool, arguments)
            assert result.is_error, (tool, arguments)
            assert api.sent == [], (tool, arguments)
            assert len(text_of(result)) < 300


@pytest.mark.parametrize(
    "path", ["@evil.example", "//evil.example/x", "x", "/a b", "/a?b c", "/a#b", "\\evil", "/a\nb"]
)
def test_a_path_of_the_document_stays_below_the_url(
    tmp_path: Path, path: str, capsys: pytest.CaptureFixture[str]
) -> None:
    from mcp_bindgen.cli.run import run

    source = tmp_path / "api.json"
    source.write_text(
        json.dumps(
            {"openapi": "3.1.0", "info": {}, "servers": [{"url": "https://a.example"}], "paths": {path: {"get": {}}}}
        )
    )
    status = run(["openapi", str(source), "--out", str(tmp_path / "server.py")])
    assert (status == 2 and "not a path" in capsys.readouterr().err) or path.startswith("//")
