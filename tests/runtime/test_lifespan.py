"""What a server opens before its first request and closes after its last, and how its handlers reach it."""

import asyncio
import logging
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import pytest
from fastapi import FastAPI
from starlette.applications import Starlette
from starlette.routing import Mount

from mcp_bindings import v2025_11_25, v2026_07_28
from mcp_runtime import testing
from mcp_runtime.app import Depends
from mcp_runtime.core.errors import LifespanError
from mcp_runtime.core.settings import ServerOptions
from mcp_runtime.core.transports.http import asgi_app, connect_http
from mcp_runtime.core.transports.stdio import connect_stdio
from support.http import served
from support.programs import quick_python

SERVER = '''
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from mcp_bindings import App, Context

@asynccontextmanager
async def database() -> AsyncGenerator[list[str]]:
    if "broken" in sys.argv:
        raise OSError("the disk is full")
    print("opened", file=sys.stderr)
    yield ["tea"]
    print("closed", file=sys.stderr)

app = App("shop", lifespan=database)

@app.tool()
def stock(ctx: Context[list[str]]) -> list[str]:
    """What there is."""
    return ctx.state

if __name__ == "__main__":
    if "http" in sys.argv:
        app.run("http", port=0)
    else:
        app.run()
'''


class Shop:
    """An App whose lifespan writes down what happens."""

    def __init__(self, kind: type[v2026_07_28.App] | type[v2025_11_25.App] = v2026_07_28.App) -> None:
        self.events: list[str] = []
        self.app = app = kind("shop", lifespan=self.database)

        async def customer(ctx: v2026_07_28.Context[list[str]]) -> str:
            """Return who asks: a dependency may take the context."""
            return f"{ctx.requester.info['name']} sees {ctx.state[0]}"

        @app.tool()
        async def stock(who: Annotated[str, Depends(customer)], ctx: v2026_07_28.Context[list[str]]) -> str:
            """What there is."""
            self.events.append("called")
            return f"{who} of {len(ctx.state)}"

    @asynccontextmanager
    async def database(self) -> AsyncGenerator[list[str]]:
        await asyncio.sleep(0)
        self.events.append("opened")
        yield ["tea"]
        await asyncio.sleep(0)
        self.events.append("closed")


async def text_of(client: Any) -> str:
    return str((await client.call_tool(name="stock")).content[0].text)


@pytest.mark.parametrize("kind", [v2025_11_25.App, v2026_07_28.App])
async def test_it_is_entered_once_for_all_clients_and_left_after_the_last(kind: Any) -> None:
    shop = Shop(kind)
    async with testing.connect(shop.app) as one:
        async with testing.connect(shop.app) as other:
            assert await text_of(other) == "mcp-bindgen sees tea of 1"
        assert await text_of(one) == "mcp-bindgen sees tea of 1"
    assert shop.events == ["opened", "called", "called", "closed"]
    async with testing.connect(shop.app) as again:
        await text_of(again)
    assert shop.events[4:] == ["opened", "called", "closed"]


def alone(endpoint: Any) -> Any:
    return endpoint


def starlette(endpoint: Any) -> Any:
    return Starlette(routes=[Mount("/", endpoint)], lifespan=endpoint.lifespan)


def fastapi(endpoint: Any) -> Any:
    api = FastAPI(lifespan=endpoint.lifespan)
    api.mount("/", endpoint)
    return api


@pytest.mark.parametrize(
    ("mounted", "client"),
    [(alone, v2025_11_25.Client), (starlette, v2026_07_28.Client), (fastapi, v2026_07_28.Client)],
)
async def test_it_lasts_as_long_as_the_application_over_http(mounted: Callable[[Any], Any], client: Any) -> None:
    shop = Shop()
    async with served(mounted(asgi_app(shop.app))) as url:
        assert shop.events == ["opened"]
        for _ in range(2):
            async with connect_http(f"{url}/") as peer:
                assert await text_of(await client.open(peer)) == "mcp-bindgen sees tea of 1"
    assert shop.events == ["opened", "called", "called", "closed"]


async def test_an_endpoint_that_is_mounted_without_its_lifespan_enters_it_before_the_first_request() -> None:
    shop = Shop()
    endpoint = asgi_app(shop.app)
    async with served(Starlette(routes=[Mount("/", endpoint)])) as url:
        assert shop.events == []
        async with connect_http(f"{url}/") as one, connect_http(f"{url}/") as other:
            clients = [await v2026_07_28.Client.open(peer) for peer in (one, other)]
            await asyncio.gather(*map(text_of, clients))
        assert shop.events == ["opened", "called", "called"]
        await endpoint.aclose()
    assert shop.events[3:] == ["closed"]


async def test_a_server_without_decorators_has_one_too() -> None:
    shop = Shop()

    class Counter(v2025_11_25.Server):
        options = ServerOptions(lifespan=shop.database)

        async def list_tools(
            self, params: v2025_11_25.PaginatedRequestParams | None, ctx: v2025_11_25.Context[list[str]]
        ) -> v2025_11_25.ListToolsResult:
            return v2025_11_25.ListToolsResult(tools=[], next_cursor=ctx.state[0])

    async with testing.connect(Counter()) as client:
        assert (await client.list_tools()).next_cursor == "tea"
    assert shop.events == ["opened", "closed"]


@asynccontextmanager
async def named(app: v2026_07_28.App[str], after: str = "!") -> AsyncGenerator[str]:
    yield f"{app.effective_options().name}{after}"


@asynccontextmanager
async def plain(after: str = "shop!") -> AsyncGenerator[str]:
    yield after


class Opening:
    @asynccontextmanager
    async def method(self, app: v2026_07_28.App[str]) -> AsyncGenerator[str]:
        yield f"{app.effective_options().name}!"

    @asynccontextmanager
    async def bare(self) -> AsyncGenerator[str]:
        yield "shop!"

    def __call__(self, app: v2026_07_28.App[str]) -> AbstractAsyncContextManager[str]:
        return named(app)


@pytest.mark.parametrize(
    "lifespan",
    [
        *(named, partial(named, after="!"), Opening().method, Opening()),
        *(plain, partial(plain, "shop!"), Opening().bare, partial(named, v2026_07_28.App[str]("shop"))),
    ],
)
async def test_it_may_take_the_app(lifespan: Callable[..., AbstractAsyncContextManager[str]]) -> None:
    app = v2026_07_28.App("shop", lifespan=lifespan)

    @app.tool()
    def state(ctx: v2026_07_28.Context[str]) -> str:
        """Return the state."""
        return ctx.state

    async with testing.connect(app) as client:
        assert await client.call("state") == "shop!"


async def test_without_a_lifespan_there_is_no_state() -> None:
    app = v2025_11_25.App("shop")

    @app.tool()
    async def stock(ctx: v2025_11_25.Context) -> str:
        """What there is."""
        with pytest.raises(RuntimeError, match=r"this server has none: App\(lifespan=\.\.\.\)"):
            print(ctx.state)
        return "nothing"

    async with testing.connect(app) as client:
        assert await text_of(client) == "nothing"


async def test_what_it_raises_in_the_end_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    @asynccontextmanager
    async def leaking() -> AsyncGenerator[None]:
        yield
        raise OSError("cannot flush")

    async with testing.connect(v2025_11_25.App("shop", lifespan=leaking)):
        pass
    assert [record.getMessage() for record in caplog.records if record.levelno == logging.ERROR] == [
        f"{__file__}:{leaking.__wrapped__.__code__.co_firstlineno + 3}: lifespan leaking failed after the last request"  # type: ignore[attr-defined]
    ]


async def test_a_start_that_fails_fails_for_every_client() -> None:
    @asynccontextmanager
    async def broken() -> AsyncGenerator[None]:
        if await asyncio.sleep(0, result=True):
            raise OSError("the disk is full")
        yield

    app = v2025_11_25.App("shop", lifespan=broken)
    for _ in range(2):
        with pytest.raises(LifespanError, match=r"test_lifespan\.py:\d+: lifespan broken: OSError: the disk is full$"):
            async with testing.connect(app):
                pass
    endpoint = asgi_app(app)
    with pytest.raises(LifespanError):
        async with endpoint.lifespan():
            pass


async def test_a_start_that_is_cancelled_is_undone() -> None:
    events: list[str] = []

    @asynccontextmanager
    async def slow() -> AsyncGenerator[None]:
        try:
            events.append("opening")
            await asyncio.Event().wait()
            yield
        finally:
            events.append("cancelled")

    async def open_one() -> None:
        async with testing.connect(v2025_11_25.App("shop", lifespan=slow)):
            pass

    task = asyncio.create_task(open_one())
    while not events:
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])
    assert (task.cancelled(), events) == (True, ["opening", "cancelled"])


@pytest.fixture(name="program")
def _program(tmp_path: Path) -> Path:
    path = tmp_path / "server.py"
    path.write_text(SERVER, "utf-8")
    return path


async def test_a_program_on_stdio_opens_and_closes(program: Path) -> None:
    said: list[str] = []
    async with connect_stdio(quick_python(), program, stderr=said.append) as peer:
        assert await text_of(await v2025_11_25.Client.open(peer)) == '["tea"]'
    assert said == ["opened", "closed"]


@pytest.mark.parametrize("way", [["server.py", "broken"], ["server.py", "http", "broken"]])
def test_a_program_whose_lifespan_fails_ends_with_one_line(program: Path, way: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, *way], cwd=program.parent, input="", capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"{program}:11: lifespan database: OSError: the disk is full\n"


@pytest.mark.parametrize("transport", [[], ["--http", "--port", "0"]])
def test_run_says_so_as_well(program: Path, transport: list[str]) -> None:
    program.write_text(SERVER.replace('"broken" in sys.argv', "True"), "utf-8")
    command = [quick_python(), "-m", "mcp_runtime", str(program), *transport]
    done = subprocess.run(command, input="", capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"python -m mcp_runtime: {program}:11: lifespan database: OSError: the disk is full\n"
