"""No way to start or to continue an author's code is without a row of `support.ways`."""

import ast
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import mcp_runtime
from mcp_bindgen.ingest.revisions import released
from mcp_bindings.extensions import tasks
from mcp_runtime.core.connection.transport import Channel
from mcp_runtime.core.method import Direction, RequestMethod
from support.ways import CHANNELS, METHODS, UNSCOPED, WAYS

RUNTIME = Path(mcp_runtime.__path__[0])


def functions(tree: ast.AST, prefix: str = "") -> Iterator[tuple[str, ast.AST]]:
    """Return the functions of a tree with their qualified names; those inside of others belong to these."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield prefix + node.name, node
        elif isinstance(node, ast.ClassDef):
            yield from functions(node, f"{prefix}{node.name}.")


def gives_a_sender(function: ast.AST) -> bool:
    """Whether a function makes an exchange that runs code for a sender, or changes the sender of one."""
    for node in ast.walk(function):
        if isinstance(node, ast.keyword) and node.arg == "on_behalf_of":
            return True
        if isinstance(node, ast.Attribute) and node.attr == "principal" and isinstance(node.ctx, ast.Store):
            return True
    return False


def test_each_place_that_gives_an_exchange_its_sender_has_a_row() -> None:
    found = {
        f"{path.relative_to(RUNTIME).as_posix()}:{name}"
        for path in sorted(RUNTIME.rglob("*.py"))
        for name, function in functions(ast.parse(path.read_text("utf-8")))
        if gives_a_sender(function)
    }
    assert found == {place for way in WAYS for place in way.places}


def test_each_request_of_clients_has_a_row() -> None:
    names = [f"mcp_bindings.v{revision.replace('-', '_')}.methods" for revision in released()]
    tables = [*(import_module(name).METHODS for name in names), tasks.EXTENSION.methods]
    known = {
        method.name
        for table in tables
        for method in table.values()
        if isinstance(method, RequestMethod) and method.direction in (Direction.CLIENT_TO_SERVER, Direction.BOTH)
    }
    assert known == METHODS.keys() | UNSCOPED.keys()
    assert {way.name for way in WAYS} >= set(METHODS.values())


def every(kind: Any) -> Iterator[Any]:
    yield kind
    for inner in type.__subclasses__(kind):
        yield from every(inner)


def test_only_transports_that_say_so_have_no_authorization() -> None:
    for module in ("core.transports.stdio", "memory", "core.transports.http"):
        import_module(f"mcp_runtime.{module}")
    without = {
        kind.__name__
        for kind in every(Channel)
        if kind.__module__.startswith("mcp_runtime.") and kind.__dict__.get("has_authorization") is False
    }
    assert without == CHANNELS.keys() and Channel.has_authorization
