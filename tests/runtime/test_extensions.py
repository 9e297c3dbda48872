"""An extension of your own works over every transport, and in each era as far as the protocol allows."""

import logging
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from mcp_bindings import v2025_11_25 as older
from mcp_bindings import v2026_07_28 as mcp
from mcp_bindings.extensions import tasks
from mcp_runtime.core.errors import PeerError
from mcp_runtime.core.settings import ClientOptions, ServerOptions
from mcp_runtime.core.transports.http import asgi_app, connect_http
from mcp_runtime.core.transports.stdio import connect_stdio
from mcp_runtime.extensions.binding import ExtensionBinding
from mcp_runtime.extensions.extension import Extension
from mcp_runtime.extensions.tasks import MemoryTaskStore, Tasks
from mcp_runtime.extensions.vendor import send_request, vendor_request
from mcp_runtime.memory import connect_memory
from support.bakery import ID, bakery, customer, shop, write_sources
from support.http import served
from support.http_modern import asked, modern_client
from support.programs import quick_python
from support.talk import raw

TESTS = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Generator[Path]:
    """Generate the package, and make it importable."""
    folder = tmp_path_factory.mktemp("bakery")
    write_sources(folder)
    words = ["generate", "--extension", ID, "--package", "acme.bakery", "--quiet"]
    subprocess.run([quick_python(), "-m", "mcp_bindgen", *words], cwd=folder, check=True)
    (folder / "acme" / "__init__.py").touch()
    sys.path.insert(0, str(folder))
    yield folder
    sys.path.remove(str(folder))
    for name in [name for name in sys.modules if name.split(".")[0] == "acme"]:
        del sys.modules[name]


@asynccontextmanager
async def in_memory(extension: Any, folder: Path) -> AsyncGenerator[Any]:
    async with connect_memory(shop(extension)) as peer:
        yield peer


@asynccontextmanager
async def over_stdio(extension: Any, folder: Path) -> AsyncGenerator[Any]:
    env = {"PYTHONPATH": f"{folder}:{TESTS}"}
    async with connect_stdio(quick_python(), TESTS / "support" / "bakery.py", env=env) as peer:
        yield peer


@asynccontextmanager
async def over_http(extension: Any, folder: Path) -> AsyncGenerator[Any]:
    async with served(asgi_app(shop(extension))) as url, connect_http(f"{url}/mcp") as peer:
        yield peer


Connect = Callable[[Any, Path], AbstractAsyncContextManager[Any]]


@pytest.mark.parametrize("era", ["modern", "legacy"])
@pytest.mark.parametrize("connect", [in_memory, pytest.param(over_stdio, marks=pytest.mark.slow), over_http])
async def test_a_request_notifications_and_a_result(connect: Connect, era: Any, package: Path) -> None:
    own = bakery(ovens=1)
    async with connect(bakery(), package) as peer:
        client = await customer().open(peer, extensions=[own], options=ClientOptions(era=era))
        assert own.peer_settings(client.connection) == {"ovens": 2}
        placed = await client.place_order(bread="rye", loaves=3)
        assert placed.number == "3 rye" and own.baked == ["rye 1"]
        result = await client.call_tool(name="order")
        # Results have no type in the legacy era, so the tool's own result is sent.
        assert result.content[0].text == ("order 7" if era == "modern" else "ordered the usual way")
        assert own.resumed == (["7"] if era == "modern" else [])
        if era == "legacy":  # notifications of the modern era name no sender, so servers ignore those of clients
            await client.notify_rate_order(stars=5)
            assert (await client.call_tool(name="stars")).content[0].text == "[5]"


async def test_clients_that_did_not_declare_it_get_the_usual_result(package: Path) -> None:
    own = bakery()
    async with connect_memory(shop(own)) as peer:
        client = await mcp.Client.open(peer)
        assert (await client.call_tool(name="order")).content[0].model_dump()["text"] == "ordered the usual way"
        await customer()(client.connection).place_order(bread="rye", loaves=1)
        assert own.seen == [None]


@pytest.mark.parametrize(
    ("settings", "reason"),
    [({"ovens": "two"}, "valid integer"), ({"ovens": 2.5}, "whole number")],
)
async def test_settings_that_do_not_fit_count_as_empty(
    settings: Any, reason: str, package: Path, caplog: pytest.LogCaptureFixture
) -> None:
    own = bakery()
    options = ClientOptions(capabilities={"extensions": {ID: settings}})
    async with connect_memory(shop(own)) as peer:
        client = await customer().open(peer, options=options)
        for _ in range(2):
            await client.place_order(bread="rye", loaves=1)
    assert own.seen == [{}, {}]
    lines = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert len(lines) == 1 and reason in lines[0]
    assert lines[0].startswith(f"the peer's settings of {ID} do not fit and count as empty: /ovens: Input should be")


async def test_settings_that_are_not_an_object_count_as_empty_too(
    package: Path, caplog: pytest.LogCaptureFixture
) -> None:
    own = bakery()
    async with raw(shop(own)) as line:
        hello = {"protocolVersion": "2025-11-25", "capabilities": {"extensions": {ID: 7}}}
        answer = await line.ask("initialize", {**hello, "clientInfo": {"name": "x", "version": "1"}})
        assert answer["result"]["capabilities"]["extensions"] == {ID: {"ovens": 2}}
    assert "do not fit and count as empty: /: Input should be a valid dictionary" in caplog.text


async def test_own_settings_that_do_not_fit_are_an_error(package: Path) -> None:
    async with connect_memory(shop(bakery())) as peer:
        with pytest.raises(ValidationError, match="ovens"):
            await mcp.Client.open(peer, extensions=[bakery(ovens="many")])


class TestHeader:
    async def test_a_method_names_what_it_is_about(self, package: Path) -> None:
        said: list[str | None] = []

        async def note(exchange: Any, proceed: Any) -> Any:
            if exchange.method.name == "orders/place":
                said.append(exchange.requester.headers.get("mcp-name"))
            return await proceed()

        app = mcp.App("shop", extensions=[bakery()], options=ServerOptions(middleware=(note,)))
        async with served(asgi_app(app)) as url, connect_http(f"{url}/mcp") as peer:
            client = await customer().open(peer)
            await client.place_order(bread="bl\u00e5", loaves=1)
        assert said == ["=?base64?YmzDpQ==?="]

    @pytest.mark.parametrize(("name", "status"), [("rye", 200), ("oat", 400), ("", 400)])
    async def test_a_server_compares_it_with_the_body(self, name: str, status: int, package: Path) -> None:
        async with modern_client(asgi_app(shop(bakery()))) as client:
            message = asked("orders/place", {"bread": "rye", "loaves": 1})
            answer = await client.post(message, mcp_name=name)
        assert answer.status_code == status, answer.text
        assert status == 200 or "the header Mcp-Name is" in answer.text


class TestConstruction:
    def test_two_extensions_with_one_method(self, package: Path) -> None:
        class Shop(mcp.Server):
            """A server."""

        both: list[Any] = [bakery(), bakery()]
        for make in (
            lambda: mcp.App("shop", extensions=both),
            lambda: Shop(extensions=both),
            lambda: ServerOptions(extensions=both),
            lambda: ClientOptions(extensions=both),
            lambda: mcp.App("shop", extensions=both[:1], options=ServerOptions(extensions=both[1:])),
        ):
            with pytest.raises(ValueError, match="Bakery and Bakery both have the method orders/place"):
                make()

    def test_a_shipped_extension_with_the_methods_of_another(self) -> None:
        class Newer(Extension):
            binding = tasks.EXTENSION

        with pytest.raises(ValueError, match=r"Tasks and Newer both have the method tasks/(get|cancel)"):
            mcp.App("shop", extensions=[Tasks(MemoryTaskStore()), Newer()])

    async def test_an_extension_of_another_revision(self, package: Path) -> None:
        with pytest.raises(ValueError, match="Bakery extends 2026-07-28, and this is written in 2025-11-25"):
            older.App("shop", extensions=[bakery()])
        async with connect_memory(shop(bakery())) as peer:
            with pytest.raises(ValueError, match="Bakery extends 2026-07-28"):
                await older.Client.open(peer, extensions=[bakery()])


class Order(BaseModel):
    """Params and result of a vendor."""

    loaves: int


ORDER = vendor_request("acme/order", Order, Order)


class Vendor(Extension):
    """Methods without a schema."""

    binding = ExtensionBinding.of("com.acme/shop", ORDER)

    def handlers(self) -> dict[str, Any]:
        return {"acme/order": self.order}

    def order(self, params: Order, ctx: Any) -> Order:
        return Order(loaves=min(params.loaves, 12))


@pytest.mark.parametrize(("package_", "other"), [(mcp, older), (older, mcp)])
async def test_methods_without_a_schema(package_: Any, other: Any) -> None:
    async with connect_memory(package_.App("shop", extensions=[Vendor()])) as peer:
        client = await other.Client.open(peer, extensions=[Vendor()])
        assert Vendor().peer_settings(client.connection) == {}
        assert await send_request(client.connection, ORDER, Order(loaves=20)) == Order(loaves=12)
        with pytest.raises(PeerError) as caught:
            await send_request(client.connection, ORDER, {"loaves": "x"})
        assert caught.value.code == -32602
