"""Handlers that are plain functions: they run in threads and block nothing."""

import asyncio
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextvars import ContextVar
from functools import wraps
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import BaseModel

from mcp_bindings import v2025_11_25 as v
from mcp_bindings.v2025_11_25.errors import InternalError, InvalidParamsError
from mcp_runtime.core.connection.background import Threads
from mcp_runtime.core.connection.calls import CURRENT
from mcp_runtime.core.settings import ServerOptions
from mcp_runtime.extensions.vendor import vendor_request
from support.roles import TEXT, build, make_handlers, make_server
from support.stdio_peers import eventually
from support.talk import talk

DONE: v.CallToolResult = build("2025-11-25", "CallToolResult", content=[TEXT])
TENANT: ContextVar[str] = ContextVar("tenant", default="none")


def server(call_tool: Callable[..., Any], options: ServerOptions | None = None) -> Any:
    return make_server("2025-11-25", options, call_tool=call_tool)


async def test_a_blocking_handler_delays_no_other() -> None:
    release = threading.Event()
    threads: list[threading.Thread] = []

    def call_tool(self: Any, params: v.CallToolRequestParams, ctx: v.Context) -> v.CallToolResult:
        threads.append(threading.current_thread())
        assert release.wait(60)
        return DONE

    async with talk(server(call_tool)) as both:
        calls = [asyncio.create_task(both.client.call_tool(name="t")) for _ in range(3)]
        await both.client.ping()
        while len(threads) < 3:
            await asyncio.sleep(0.001)
        release.set()
        assert [(await call).content[0].text for call in calls] == ["done"] * 3
    assert threading.main_thread() not in threads and all(thread.daemon for thread in threads)


async def test_errors_and_wrong_results_are_as_those_of_coroutines(caplog: pytest.LogCaptureFixture) -> None:
    def call_tool(self: Any, params: v.CallToolRequestParams, ctx: v.Context) -> Any:
        match params.name:
            case "refuse":
                raise InvalidParamsError(-32602, "no such loaf")
            case "fail":
                raise StopIteration
            case _:
                return None

    async with talk(server(call_tool)) as both:
        with pytest.raises(InvalidParamsError, match="no such loaf"):
            await both.client.call_tool(name="refuse")
        with pytest.raises(InternalError):
            await both.client.call_tool(name="fail")
        with pytest.raises(InternalError):
            await both.client.call_tool(name="nothing")
    assert [record.getMessage() for record in caplog.records[-2:]] == [
        "the handler of tools/call failed",
        "the handler of tools/call returned None (NoneType), not CallToolResult or CreateTaskResult",
    ]


async def test_context_variables_are_kept() -> None:
    seen: list[tuple[str, bool]] = []

    async def tenant(exchange: Any, proceed: Any) -> Any:
        TENANT.set("acme")
        return await proceed()

    def call_tool(self: Any, params: v.CallToolRequestParams, ctx: v.Context) -> v.CallToolResult:
        seen.append((TENANT.get(), ctx.is_cancelled))
        TENANT.set("changed")
        return DONE

    async with talk(server(call_tool, options=ServerOptions(middleware=(tenant,)))) as both:
        await both.client.call_tool(name="t")
    assert seen == [("acme", False)] and TENANT.get() == "none"


async def test_a_cancelled_call_does_not_wait_for_its_thread() -> None:
    begun, release = threading.Event(), threading.Event()
    seen: list[bool] = []

    def call_tool(self: Any, params: v.CallToolRequestParams, ctx: v.Context) -> v.CallToolResult:
        begun.set()
        release.wait(60)
        seen.append(ctx.is_cancelled)
        return DONE

    async with talk(server(call_tool)) as both:
        call = asyncio.create_task(both.client.call_tool(name="t"))
        await eventually(begun.is_set)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await eventually(lambda: not both.server.open_requests)
        await both.client.ping()
    assert not seen, "neither the call nor the end of the connection waited for the thread"
    release.set()
    await eventually(lambda: bool(seen))
    assert seen == [True]


async def test_clients_and_notifications_have_plain_handlers_too() -> None:
    calls: list[tuple[str, bool]] = []

    def note(name: str, result: Any) -> Any:
        def handler(self: Any, params: Any, ctx: Any) -> Any:
            calls.append((name, threading.current_thread() is threading.main_thread()))
            return result

        return handler

    async def call_tool(self: Any, params: v.CallToolRequestParams, ctx: v.Context) -> v.CallToolResult:
        await ctx.log("info", "hello")
        assert (await ctx.client.list_roots()).roots == []
        return DONE

    host = make_handlers(
        "2025-11-25",
        list_roots=note("roots", v.ListRootsResult(roots=[])),
        on_logging_message=note("log", None),
    )
    async with talk(server(call_tool), handlers=host) as both:
        await both.client.call_tool(name="t")
        while len(calls) < 2:
            await asyncio.sleep(0.001)
    assert sorted(calls) == [("log", False), ("roots", False)]


async def test_a_wrapped_coroutine_runs_in_the_event_loop() -> None:
    threads: list[threading.Thread] = []

    def decorated(handler: Any) -> Any:
        @wraps(handler)
        def wrapper(*args: Any) -> Any:
            threads.append(threading.current_thread())
            return handler(*args)

        return wrapper

    async def coroutine(self: Any, params: Any, ctx: Any) -> Any:
        return DONE

    def unmarked(*args: Any) -> Any:
        return coroutine(*args)

    for handler in (decorated(coroutine), unmarked):
        async with talk(server(handler)) as both:
            assert (await both.client.call_tool(name="t")).content
    assert threads == [threading.main_thread()]


class Order(BaseModel):
    loaves: int


async def test_methods_of_a_vendor_have_plain_handlers_too() -> None:
    def order(params: Order, ctx: Any) -> dict[str, Any]:
        assert threading.current_thread() is not threading.main_thread()
        return {"ordered": params.loaves}

    async with talk(make_server("2025-11-25")) as both:
        both.server.handle(vendor_request("acme/order", Order, dict), order)
        answer = await both.client.connection.request(vendor_request("acme/order", Order, dict), Order(loaves=3), None)
    assert answer == {"ordered": 3}


class TestThreads:
    async def test_there_are_never_more_than_the_limit_and_the_others_wait(self) -> None:
        pool, running, most, lock = Threads(3), 0, 0, threading.Lock()
        all_threads = threading.Barrier(3)

        def work(number: int) -> int:
            nonlocal running, most
            with lock:
                running += 1
                most = max(most, running)
            if number < 3:
                all_threads.wait(60)
            time.sleep(0.002)
            with lock:
                running -= 1
            return number

        assert await asyncio.gather(*(pool.run(work, n) for n in range(50))) == list(range(50))
        assert most == 3 == len(pool)

    async def test_a_peer_gets_half_of_them(self) -> None:
        pool, release, ran = Threads(4), threading.Event(), list[str]()

        async def run(peer: str, *function: Any) -> None:
            call: Any = SimpleNamespace(requester=SimpleNamespace(peer=peer))
            CURRENT.set(call)
            await pool.run(*function)

        stuck = [asyncio.create_task(run("many", release.wait, 60)) for _ in range(5)]
        await asyncio.sleep(0)
        async with asyncio.timeout(30):
            await asyncio.gather(*(asyncio.create_task(run("other", ran.append, "other")) for _ in range(9)))
        assert (len(ran), len(pool)) == (9, 4)
        release.set()
        await asyncio.gather(*stuck)

    async def test_queued_functions_that_are_cancelled_never_run(self) -> None:
        pool, release = Threads(1), threading.Event()
        ran: list[int] = []
        first = asyncio.create_task(pool.run(release.wait, 60))
        waiting = [asyncio.create_task(pool.run(ran.append, n)) for n in range(100)]
        await asyncio.sleep(0.01)
        for task in waiting[1:]:
            task.cancel()
        await asyncio.gather(*waiting[1:], return_exceptions=True)
        release.set()
        await asyncio.gather(first, waiting[0])
        assert ran == [0]

    async def test_a_thread_without_work_ends(self) -> None:
        pool = Threads(2, idle=0.01)
        assert await pool.run(int, "5") == 5
        async with asyncio.timeout(30):
            while len(pool):
                await asyncio.sleep(0.01)
        assert await pool.run(int, "6") == 6

    def test_an_event_loop_may_end_before_the_thread(self) -> None:
        pool, release = Threads(1), threading.Event()

        async def leave() -> None:
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(pool.run(release.wait, 60), 0.01)

        asyncio.run(leave())
        release.set()

        async def come_again() -> int:
            return await pool.run(int, "7")

        assert asyncio.run(come_again()) == 7


def test_a_program_ends_though_a_handler_is_stuck() -> None:
    program = (
        "import asyncio, threading\n"
        "from mcp_runtime.core.connection.background import THREADS\n"
        "async def main():\n"
        "    task = asyncio.create_task(THREADS.run(threading.Event().wait))\n"
        "    await asyncio.sleep(0.05)\n"
        "asyncio.run(main())\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def test_a_class_of_handlers_imports_no_event_loop() -> None:
    program = (
        "import sys\n"
        "from mcp_bindings.v2025_11_25 import Server\n"
        "class Own(Server):\n"
        "    def list_tools(self, params, ctx): ...\n"
        "assert 'asyncio' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
