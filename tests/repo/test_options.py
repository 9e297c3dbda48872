"""Every public function refuses a misspelt option: one call of each that passes options on."""

import inspect
import json
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import pytest
from pydantic import BaseModel
from typing_extensions import is_protocol

from mcp_bindings import App, Client, connect_memory, v2025_11_25, v2026_07_28
from mcp_runtime import (
    Host,
    asgi_app,
    connect_http,
    connect_sse,
    connect_stdio,
    open_any,
    serve_http,
    serve_stdio,
    sse_app,
)
from mcp_runtime.extensions.tasks import MemoryTaskStore, RedisTaskStore, SqliteTaskStore
from mcp_runtime.host import allow_all
from mcp_runtime.transports import StdioClientTransport, StdioServerTransport
from support.public_api import binding_packages, public_objects

WRONG: Final[Any] = {"atuh": 1}
NO_REDIS: Final[Any] = None
NO_SERVERS: Final[Any] = {"mcpServers": {}}
OPEN: Final = {
    "Api.call": "called by generated tools, whose keywords are fixed",
    "Application.decorator": "called by the generated decorators only, whose parameters are fixed",
    "BaseConnection.learn": "the handshake passes on what it learned of the peer",
    "Issuer.count": "parameters of requests",
    "Issuer.token": "claims of a token",
}
"""Functions that take keyword arguments of any name, and why."""


def wrong(name: str) -> Any:
    return {name: 1}


def entered(context: AbstractAsyncContextManager[Any]) -> Awaitable[Any]:
    return context.__aenter__()


async def any_opened() -> None:
    async with connect_memory(App("x")) as peer:
        await open_any(peer, v2025_11_25.Client, v2026_07_28.Client, **wrong("option"))


async def asked(package: Any, **arguments: Any) -> None:
    async with connect_memory(App("x")) as peer:
        stub = package.ConnectedClient((await Client.open(peer)).__caller__)
        await stub.elicit(mode="url", message="m", url="https://x.example", mesage="x", **arguments)


CALLS: Final[Mapping[str, tuple[Callable[[], Any], str]]] = {
    "Host.from_file": (lambda: Host.from_file("mcp.json", Client, policy=allow_all, **WRONG), "did you mean auth?"),
    "Host.from_mapping": (
        lambda: Host.from_mapping(NO_SERVERS, Client, policy=allow_all, **wrong("lasy")),
        "did you mean lazy?",
    ),
    "asgi_app": (lambda: asgi_app(App("x"), **WRONG), "did you mean auth?"),
    "sse_app": (lambda: sse_app(v2025_11_25.App("x"), **WRONG), "did you mean auth?"),
    "serve_http": (lambda: serve_http(App("x"), **WRONG), "did you mean auth?"),
    "serve_stdio": (lambda: serve_stdio(App("x"), **wrong("stdinn")), "did you mean stdin?"),
    "Application.run": (lambda: App("x").run("http", **wrong("prot")), "did you mean port?"),
    "connect_http": (lambda: entered(connect_http("http://127.0.0.1:1", **WRONG)), "did you mean auth?"),
    "connect_sse": (lambda: entered(connect_sse("http://127.0.0.1:1", **WRONG)), "did you mean auth?"),
    "connect_stdio": (lambda: entered(connect_stdio("x", **wrong("envv"))), "did you mean env?"),
    "open_any": (any_opened, "did you mean options?"),
    "MemoryTaskStore": (lambda: MemoryTaskStore(**wrong("tll")), "did you mean ttl?"),
    "SqliteTaskStore": (lambda: SqliteTaskStore("x.db", **wrong("tll")), "did you mean ttl?"),
    "RedisTaskStore": (lambda: RedisTaskStore(NO_REDIS, **wrong("tll")), "did you mean ttl?"),
    "StdioClientTransport": (lambda: StdioClientTransport("x", **wrong("stdrr")), "did you mean stderr?"),
    "StdioServerTransport": (lambda: StdioServerTransport(**wrong("sdtin")), "did you mean stdin?"),
    "v2025_11_25.ConnectedClient.elicit": (lambda: asked(v2025_11_25, elicitation_id="1"), "did you mean message?"),
    "v2026_07_28.ConnectedClient.elicit": (lambda: asked(v2026_07_28), "did you mean message?"),
}
"""A call with a misspelt option, and the hint."""


def takes_any(function: Any) -> bool:
    """Whether Python itself accepts a keyword argument of any name."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    return any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)


def named(owner: str, value: object) -> dict[str, object]:
    """Return the functions of a public object that are written in this project, by name."""
    if inspect.isfunction(value):
        return {owner: value}
    if not inspect.isclass(value) or issubclass(value, BaseModel | BaseException) or is_protocol(value):
        return {}
    found: dict[str, object] = {}
    for base in value.__mro__:
        for name, each in vars(base).items():
            function = getattr(each, "__func__", each)
            is_ours = base.__module__.startswith("mcp_") and inspect.isfunction(function)
            if is_ours and (name == "__init__" or not name.startswith("_")):
                short = base.__name__ if name == "__init__" else f"{base.__name__}.{name}"
                package = base.__module__.split(".")[1]
                found[f"{package}.{short}" if package.startswith("v2") else short] = function
    return found


def public_functions() -> dict[str, object]:
    """Return all public functions and methods by their names."""
    found: dict[str, object] = {}
    for name, value in public_objects().items():
        found |= named(name.rpartition(".")[2], value)
    for package, names in binding_packages().items():
        for name in names:
            found |= named(name, getattr(import_module(package), name))
    return found


def test_every_function_with_options_has_a_call() -> None:
    found = {name for name, each in public_functions().items() if takes_any(each)}
    assert found - {"LeasedStore"} == CALLS.keys() | OPEN.keys()  # the base class of two that are called


@pytest.mark.parametrize("name", CALLS)
async def test_a_misspelt_option_is_an_error_that_names_the_right_one(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mcp.json").write_text(json.dumps(NO_SERVERS))
    monkeypatch.chdir(tmp_path)
    call, hint = CALLS[name]
    with pytest.raises(TypeError) as raised:
        found: Any = call()
        if inspect.isawaitable(found):
            await found
    assert hint in str(raised.value) and "\n" not in str(raised.value)


def test_an_option_that_resembles_none_lists_all() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'zzz': there are auth, events, hosts"):
        asgi_app(App("x"), **wrong("zzz"))
