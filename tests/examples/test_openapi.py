"""The example of a server from OpenAPI: it is what the generator writes, and calls the application, mounted or not."""

import shlex
import shutil
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from runpy import run_path

import pytest

from mcp_bindgen.cli.run import run
from mcp_bindings import connect_stdio
from mcp_bindings.v2025_11_25 import Client
from openapi.apis import text_of
from support.at_terminal import EXAMPLES
from support.http import served
from support.programs import quick_python, run_program

SERVER = EXAMPLES / "openapi_server.py"
PLACED = {"tea": "Assam", "grams": 100, "number": 0}


def test_the_server_is_generated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    document = run_program(EXAMPLES / "openapi_shop.py")
    assert document.returncode == 0, document.stderr
    (tmp_path / "openapi_shop.json").write_text(document.stdout, "utf-8")
    for path in (SERVER, SERVER.with_suffix(".lock.json")):
        shutil.copy(path, tmp_path)
    monkeypatch.chdir(tmp_path)
    (command,) = (line for line in SERVER.read_text("utf-8").splitlines() if line.startswith("#   command:"))
    words = shlex.split(command)[3:]
    assert run([*words, "--check", "--quiet"]) == 0
    assert run([*words, "--quiet"]) == 0
    assert body_of(tmp_path / SERVER.name) == body_of(SERVER)


def body_of(path: Path) -> str:
    """Return a generated module from its docstring on; its header names the document's digest."""
    return path.read_text("utf-8").partition('"""')[2]


async def test_its_tools_call_the_application(tmp_path: Path) -> None:
    async with shop_called_by(SERVER, tmp_path) as client:
        placed = await client.call_tool("orders_place", {"tea": "Assam", "grams": 100})
        assert placed.structured_content == PLACED
        missing = await client.call_tool("orders_get", {"number": 7})
        assert missing.is_error
        assert text_of(missing) == 'GET /orders/7: 404 Not Found\n{"detail":"there is no order 7"}'


async def test_it_can_be_mounted(tmp_path: Path) -> None:
    async with shop_called_by(EXAMPLES / "openapi_house.py", tmp_path) as client:
        names = [tool.name async for tool in client.iter_tools()]
        assert names == ["hours", "shop__orders_list", "shop__orders_place", "shop__orders_get"]
        await client.call_tool("shop__orders_place", {"tea": "Assam", "grams": 100})
        placed = await client.call_tool("shop__orders_get", {"number": 0})
        assert placed.structured_content == PLACED
        assert text_of(await client.call_tool("hours", {})) == "9 to 5"


@asynccontextmanager
async def shop_called_by(program: Path, folder: Path) -> AsyncGenerator[Client]:
    """Run the shop on a free port, and a program in a folder where the server has its URL; yields a client of it."""
    shutil.copy(program, folder)
    async with served(run_path(str(EXAMPLES / "openapi_shop.py"))["api"]) as url:
        text = SERVER.read_text("utf-8").replace("http://127.0.0.1:8000", url)
        (folder / SERVER.name).write_text(text, "utf-8")
        async with connect_stdio(quick_python(), str(folder / program.name)) as peer:
            yield await Client.open(peer)
