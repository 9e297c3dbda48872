"""Generates servers from OpenAPI documents for tests, and records what they send."""

import importlib
import importlib.util
import json
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from types import ModuleType
from typing import Any

from mcp_bindgen.cli.run import run
from mcp_bindings import testing
from support.http import served

FOLDER = Path(__file__).parent
_numbers = count()


@dataclass(slots=True)
class Sent:
    """A request that an API received."""

    method: str
    path: str
    query: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Recorder:
    """An API that keeps each request, and answers all of them alike.

    Attributes:
        sent: the requests.
        answers: what it answers next: status, headers and body; the last one stays.
    """

    sent: list[Sent] = field(default_factory=list[Sent])
    answers: list[tuple[int, dict[str, str], bytes]] = field(default_factory=lambda: [(204, {}, b"")])

    def answer(self, value: Any, status: int = 200, **headers: str) -> None:
        """Answer everything with JSON, or with bytes, from now on."""
        body = value if isinstance(value, bytes) else json.dumps(value).encode()
        named = {name.replace("_", "-"): text for name, text in headers.items()}
        self.answers = [(status, {"content-type": "application/json", **named}, body)]

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            return
        body, more = b"", True
        while more:
            event = await receive()
            body, more = body + event.get("body", b""), event.get("more_body", False)
        headers = {name.decode(): value.decode("latin-1") for name, value in scope["headers"]}
        path = scope["raw_path"].decode().partition("?")[0]
        self.sent.append(Sent(scope["method"], path, scope["query_string"].decode(), headers, body))
        status, answered, content = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        pairs = [(name.encode(), value.encode()) for name, value in answered.items()]
        await send({"type": "http.response.start", "status": status, "headers": pairs})
        await send({"type": "http.response.body", "body": content})


def document(name: str) -> Any:
    """Return one of the documents of these tests."""
    yaml: Any = importlib.import_module("yaml")
    return yaml.safe_load((FOLDER / f"{name}.yaml").read_text("utf-8"))


def generate(value: Any, folder: Path, *words: object, name: str = "server.py") -> Path:
    """Write the server of a document, and return its path."""
    source = folder / "api.json"
    source.write_text(json.dumps(value), "utf-8")
    path = folder / name
    assert run(["openapi", str(source), "--out", str(path), *map(str, words), "--quiet"]) == 0
    return path


def load(path: Path) -> ModuleType:
    """Import a generated module under a new name."""
    spec = importlib.util.spec_from_file_location(f"generated_{next(_numbers)}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@asynccontextmanager
async def connected(value: Any, folder: Path, *words: object) -> AsyncGenerator[tuple[Any, Recorder]]:
    """Yield a client of a document's server, and the API that it calls."""
    api = Recorder()
    async with served(api, lifespan="off") as url:
        module = load(generate(value, folder, "--url", f"{url}/base", *words))
        async with testing.connect(module.app) as client:
            yield client, api


def text_of(result: Any) -> str:
    """Return the text of a result."""
    return "\n".join(getattr(block, "text", "") for block in result.content)
