"""The runtime's core stays small: what stdio and HTTP need in both eras, without the rooms beside it."""

import ast
import asyncio
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from types import FrameType
from typing import Any, Final

import pytest

from mcp_bindings import v2025_11_25, v2026_07_28
from mcp_runtime.core.transports.http import asgi_app
from mcp_runtime.memory import connect_memory
from support.code_lines import code_lines
from support.http import RawClient, call
from support.http_modern import called, modern_client
from support.imports import import_graph

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "runtime" / "mcp_runtime"
CORE = PACKAGE / "core"
MAX_FILES: Final = 66
MAX_CODE: Final = 10_899
MIN_LINES: Final = 60
MAX_MODULES: Final = {"legacy": 16, "modern": 17, "http": 17}
"""How many modules a call may visit in memory, client and server together, by era; and over HTTP, in the server."""
MAX_CHANGES: Final = 48
"""How often a POST may go from one module of the server to another."""
STARTS: Final = (
    "mcp_runtime.core.model",
    "mcp_runtime.core.server",
    "mcp_runtime.core.stub",
)
"""Modules that programs and generated bindings import, besides the transports."""


INTRODUCED: Final = (
    "json/text.py",
    "protocol/session.py",
    "connection/connection.py",
    "handshake/server.py",
    "changes/subscriptions.py",
    "asking/questions.py",
    "transports/stdio.py",
    "transports/http/__init__.py",
)
"""The main module of each room, whose docstring explains how the room works."""


def core() -> list[Path]:
    return [path for path in sorted(CORE.rglob("*.py")) if path.name != "__init__.py"]


def test_it_has_few_files() -> None:
    assert 60 < len(core()) <= MAX_FILES


def test_it_has_few_lines_of_code() -> None:
    assert 10_000 < sum(map(code_lines, core())) <= MAX_CODE


def functions() -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Iterate over the functions of the core, each with its place."""
    for path in core():
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield f"{shown(path)}:{node.name}", node


def test_its_functions_are_short() -> None:
    lengths: dict[str, int] = {}
    for place, node in functions():
        first = node.body[1] if ast.get_docstring(node) and len(node.body) > 1 else node.body[0]
        lengths[place] = (node.body[-1].end_lineno or 0) - first.lineno + 1
    assert len(lengths) > 500 and {place for place, length in lengths.items() if length > 40} == set()


def test_its_constructors_take_few_arguments() -> None:
    taken = {
        place: len([*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]) - 1
        for place, node in functions()
        if node.name == "__init__"
    }
    assert {place: number for place, number in taken.items() if number > 10} == {}


@pytest.mark.parametrize("package", ["runtime/mcp_runtime", "codegen/mcp_bindgen"])
def test_no_class_name_has_three_homes(package: str) -> None:
    homes: dict[str, set[str]] = {}
    for path in (ROOT / package).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef):
                homes.setdefault(node.name, set()).add(path.relative_to(ROOT).as_posix())
    assert {name: found for name, found in homes.items() if len(found) > 2} == {}


def test_its_files_are_full() -> None:
    short = {shown(path) for path in core() if len(path.read_text("utf-8").splitlines()) < MIN_LINES}
    assert short == set(), "join a short file to the one that uses it"


def test_the_main_module_of_each_room_explains_how_it_works() -> None:
    rooms = {path.relative_to(CORE).parts[0] for path in core() if path.parent != CORE}
    assert {Path(name).parts[0] for name in INTRODUCED} == rooms
    lengths = {
        name: len((ast.get_docstring(ast.parse((CORE / name).read_text("utf-8"))) or "").splitlines())
        for name in INTRODUCED
    }
    assert {name: length for name, length in lengths.items() if not 10 <= length <= 20} == {}


def test_it_imports_no_room_beside_it() -> None:
    found = {
        name: outside
        for name, imported in import_graph(ROOT / "runtime", "mcp_runtime").items()
        if f"{name}.".startswith("mcp_runtime.core.")
        and (outside := {other for other in imported if not f"{other}.".startswith("mcp_runtime.core.")})
    }
    assert found == {}


def test_stdio_and_http_need_all_of_it() -> None:
    graph = import_graph(ROOT / "runtime", "mcp_runtime")
    names = {f"mcp_runtime.{'.'.join(path.relative_to(PACKAGE).with_suffix('').parts)}" for path in core()}
    needed: set[str] = set()
    reached = {name for name in names if name.startswith("mcp_runtime.core.transports.")} | set(STARTS)
    while reached:
        needed |= reached
        reached = {other for name in reached for other in graph[name]} - needed
    assert names <= needed, "what only some programs import belongs in a room beside the core"


def test_no_room_assigns_what_another_declares() -> None:
    trees = {path: ast.parse(path.read_text("utf-8")) for path in core()}
    declared: dict[str, set[str]] = {}
    for path, tree in trees.items():
        for name in chain.from_iterable(map(_declared, ast.walk(tree))):
            declared.setdefault(name, set()).add(_folder(path))
    foreign = {
        f"{shown(path)}: {ast.unparse(node)}"
        for path, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and not _is_own(node)
        if (homes := declared.get(node.attr)) and not homes & {_folder(path), ""}
    }
    assert foreign == set(), "call a method of the object instead"


def _folder(path: Path) -> str:
    """Return the folder that a file of the core is in; the files beside the folders hold what all share."""
    parts = path.relative_to(CORE).parts
    return parts[0] if len(parts) > 1 else ""


def shown(path: Path) -> str:
    return path.relative_to(CORE).as_posix()


def _is_own(node: ast.Attribute) -> bool:
    return isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")


def _declared(node: ast.AST) -> Iterator[str]:
    """Yield the attributes of objects that a node declares."""
    if isinstance(node, ast.ClassDef):
        yield from (
            line.target.id
            for line in node.body
            if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name)
        )
    elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and _is_own(node):
        yield node.attr


class Legacy(v2025_11_25.Server):
    async def call_tool(
        self, params: v2025_11_25.CallToolRequestParams, ctx: v2025_11_25.Context
    ) -> v2025_11_25.CallToolResult:
        return v2025_11_25.CallToolResult(content=[])


class Modern(v2026_07_28.Server):
    async def call_tool(
        self, params: v2026_07_28.CallToolRequestParams, ctx: v2026_07_28.Context
    ) -> v2026_07_28.CallToolResult:
        return v2026_07_28.CallToolResult(content=[])


@contextmanager
def visits() -> Generator[list[str]]:
    """Collect the modules of the runtime whose functions are called, in order, each change of the module once."""
    visited: list[str] = []

    def note(frame: FrameType, event: str, argument: object) -> None:
        name: str = frame.f_globals.get("__name__", "")
        if event == "call" and name.startswith("mcp_runtime.") and visited[-1:] != [name]:
            visited.append(name)

    sys.setprofile(note)
    try:
        yield visited
    finally:
        sys.setprofile(None)


@pytest.mark.parametrize(
    ("era", "server", "client"), [("legacy", Legacy, v2025_11_25.Client), ("modern", Modern, v2026_07_28.Client)]
)
async def test_a_call_visits_few_modules(era: str, server: type[Any], client: type[Any]) -> None:
    async with connect_memory(server()) as peer:
        opened = await client.open(peer)
        await opened.call_tool(name="x")  # what is compiled at first is not counted
        await asyncio.sleep(0)
        with visits() as visited:
            await opened.call_tool(name="x")
    assert 5 < len(set(visited)) <= MAX_MODULES[era], sorted(set(visited))


async def test_a_call_over_http_visits_few_modules() -> None:
    async with modern_client(asgi_app(Modern(), Legacy())) as modern:
        legacy = RawClient(modern.http)
        await legacy.shake_hands(v2025_11_25.REVISION)
        for client, message in ((legacy, call("x")), (modern, called("x"))):
            assert (await client.post(message)).status_code == 200
            with visits() as visited:
                assert (await client.post(message)).status_code == 200
            assert 5 < len(set(visited)) <= MAX_MODULES["http"], sorted(set(visited))
            assert 20 < len(visited) <= MAX_CHANGES, visited
