"""Documents and options that cannot be used are refused with one line and status 2, and nothing is written."""

import json
from pathlib import Path
from typing import Any

import pytest

from openapi.apis import generate
from support.command import Cli

OPERATION: Any = {"operationId": "go", "responses": {"204": {"description": "Done."}}}


def api(**more: Any) -> Any:
    return {
        "openapi": "3.1.0",
        "info": {"title": "T", "version": "1"},
        "servers": [{"url": "https://api.example"}],
        "paths": {"/go": {"get": OPERATION}},
        **more,
    }


def with_operation(**more: Any) -> Any:
    return api(paths={"/go": {"post": {**OPERATION, **more}}})


def returning(schema: Any, **schemas: Any) -> Any:
    content = {"application/json": {"schema": schema}}
    found = with_operation(responses={"200": {"description": "It.", "content": content}})
    return {**found, "components": {"schemas": schemas}}


LOOP = {"$ref": "#/components/parameters/b"}
ALIASES = "\n".join(["a0: &a0 [x, x]", *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12))])
BAD: dict[str, tuple[Any, str]] = {
    "swagger 2": ({"swagger": "2.0", "paths": {}}, "Swagger 2.0; convert it"),
    "no version": ({"paths": {}}, "it states no version"),
    "version 4": (api(openapi="4.0.0"), "openapi is '4.0.0'"),
    "a number as version": (api(openapi=3.1), "openapi is 3.1"),
    "a list": ([], "it is not an object"),
    "null": (b"null", "it is not an object"),
    "no paths": ({"openapi": "3.1.0"}, "it has no paths"),
    "empty paths": (api(paths={}), "no operation is left of 0"),
    "nothing": (b"", "it is not an object"),
    "a web page": (b"<html><body>404</body></html>", "it is not an object"),
    "bad bytes": (b'{"openapi": "\xff"}', "not UTF-8"),
    "UTF-16": ('{"openapi": "3.1.0"}'.encode("utf-16"), "not UTF-8"),
    "half JSON": (b'{"openapi": ', "not valid JSON"),
    "a key twice": (b'{"openapi": "3.1.0", "openapi": "3.0.0"}', "occurs twice"),
    "bad YAML": (b"a: [1,\nb: 2", "neither JSON nor YAML in line 3"),
    "a tag of Python": (b"openapi: !!python/object/apply:os.system [x]", "neither JSON nor YAML in line 1"),
    "a date": (b"openapi: !!timestamp 2001-01-01", "a value is a YAML date"),
    "many aliases": (ALIASES.encode(), "values, aliases of YAML expanded"),
    "an endless alias": (b"a: &a [*a]", "nested deeper than"),
    "deep JSON": (b"[" * 400 + b"]" * 400, "nested deeper than"),
    "deeper JSON": (b"[" * 100_000, "nested too deeply"),
    "deep YAML": (b"- " * 5_000, "nested"),
    "an external reference": (returning({"$ref": "other.yaml#/A"}), "leads out of the document"),
    "a reference to a URL": (returning({"$ref": "https://evil.example/a.json"}), "leads out of the document"),
    "a reference to a file": (returning({"$ref": "file:///etc/passwd"}), "leads out of the document"),
    "a reference that is a number": (returning({"$ref": 5}), "leads out of the document"),
    "a dangling reference": (returning({"$ref": "#/components/schemas/None"}), "leads nowhere"),
    "a loop": (
        {**with_operation(parameters=[LOOP]), "components": {"parameters": {"b": LOOP}}},
        "leads to itself",
    ),
    "an operationId twice": (api(paths={"/a": {"get": OPERATION}, "/b": {"put": OPERATION}}), "the operationId 'go'"),
    "parameters as object": (with_operation(parameters={"name": "x"}), "an array is expected"),
    "a parameter without name": (with_operation(parameters=[{"in": "query"}]), "a parameter has a name"),
    "a parameter in the body": (with_operation(parameters=[{"name": "x", "in": "body"}]), "a parameter has a name"),
    "a parameter that is text": (with_operation(parameters=["x"]), "an object is expected"),
    "no server": (api(servers=[]), "give the URL of the API"),
    "a relative server": (api(servers=[{"url": "/v1"}]), "give the URL of the API"),
    "http": (api(servers=[{"url": "http://api.example"}]), "is not https"),
    "a server with a user": (api(servers=[{"url": "https://api.example@evil.example"}]), "give the URL of the API"),
    "a server of another scheme": (api(servers=[{"url": "file:///etc"}]), "give the URL of the API"),
    "a server with a query": (api(servers=[{"url": "https://api.example?x="}]), "give the URL of the API"),
    "a server with a line": (api(servers=[{"url": "https://api.example\nx"}]), "give the URL of the API"),
}
OPTIONS = {
    ("--include", "nothing/*"): "no operation matches 'nothing/*'",
    ("--include", "goo"): "did you mean go?",
    ("--exclude", "*"): "no operation is left of 1",
    ("--out", "x.txt"): "is not the name of a module",
    ("--out", "a-b.py"): "is not the name of a module",
    ("--url", "http://api.example"): "is not https",
    ("--url", "ftp://api.example"): "give the URL",
    ("--auth", "key"): "is not SCHEME=bearer:VARIABLE",
    ("--auth", "key=bearer:A B"): "is not SCHEME=bearer:VARIABLE",
    ("--auth", "key=magic:A"): "is not SCHEME=bearer:VARIABLE",
    ("--auth", "key=apikey:A"): "is not SCHEME=bearer:VARIABLE",  # the document does not say where it goes
    ("--auth", "key=header:A:B\r\nHost"): "is not SCHEME=bearer:VARIABLE",
    **{
        ("--forward", name): "belongs to the connection of the caller"
        for name in ("Authorization", "cookie", "HOST", "Proxy-Authorization", "Mcp-Session-Id")
    },
    ("--forward", "X Y"): "is not the name of a header",
}


def refused(cli: Cli, folder: Path, *words: str) -> str:
    outcome = cli("openapi", *words, expect=2)
    assert outcome.out == "" and len(outcome.err.splitlines()) == 1 and outcome.err.startswith("error: ")
    assert len(outcome.err) < 600 and outcome.err.rstrip("\n").isprintable()
    assert [path.name for path in folder.iterdir()] == ["api"]
    return outcome.err


@pytest.mark.parametrize("name", BAD)
def test_a_document_is_refused(name: str, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp_bindgen.openapi.document.MAX_VALUES", 50_000)
    value, reason = BAD[name]
    path = tmp_path / "api"
    path.write_bytes(value if isinstance(value, bytes) else json.dumps(value).encode())
    assert reason in refused(cli, tmp_path, str(path), "--out", str(tmp_path / "server.py"))


@pytest.mark.parametrize("words", OPTIONS, ids=" ".join)
def test_an_option_is_refused(words: tuple[str, str], cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "api"
    path.write_text(json.dumps(api()), "utf-8")
    out = () if words[0] == "--out" else ("--out", str(tmp_path / "server.py"))
    assert OPTIONS[words] in refused(cli, tmp_path, str(path), *out, *words)


def test_many_tools_are_asked_for(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "api"
    paths: dict[str, Any] = {f"/p{number}": {"get": {"responses": {}}} for number in range(4)}
    path.write_text(json.dumps(api(paths=paths)), "utf-8")
    words = (str(path), "--out", str(tmp_path / "server.py"))
    monkeypatch.setattr("mcp_bindgen.openapi.build.MAX_TOOLS", 3)
    assert "4 operations" in refused(cli, tmp_path, *words)
    cli("openapi", *words, "--max-tools", "4")


@pytest.mark.parametrize("change", ["edited", "foreign", "without digest", "folder"])
def test_a_file_that_is_not_as_generated_is_not_replaced(change: str, cli: Cli, tmp_path: Path) -> None:
    path = generate(api(), tmp_path)
    text = path.read_text("utf-8")
    match change:
        case "edited":
            path.write_text(text.replace('"GET"', '"PUT"'), "utf-8")
        case "foreign":
            path.write_text("print('mine')\n", "utf-8")
        case "without digest":
            path.write_text("\n".join(line for line in text.splitlines() if "digest:" not in line), "utf-8")
        case _:
            path.unlink()
            path.mkdir()
    before = path.read_bytes() if path.is_file() else b""
    outcome = cli("openapi", tmp_path / "api.json", "--out", path, expect=2)
    assert len(outcome.err.splitlines()) == 1 and str(path) in outcome.err
    assert (path.read_bytes() if path.is_file() else b"") == before


def test_a_missing_generator_of_models_is_named(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "api"
    path.write_text(json.dumps(api()), "utf-8")

    def absent(name: str) -> None: ...

    monkeypatch.setattr("mcp_bindgen.openapi.models.find_spec", absent)
    assert "pip install 'mcp-bindgen[openapi]'" in refused(cli, tmp_path, str(path), "--out", str(tmp_path / "s.py"))
