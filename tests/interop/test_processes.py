"""Four workers of uvicorn behind one address, and Redis between them: real processes, one of which is killed."""

import asyncio
import json
import os
import secrets
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE
from collections import Counter
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest

from interop.processes import TESTS
from mcp_bindings import v2026_07_28 as modern
from mcp_runtime.core.errors import McpError
from mcp_runtime.core.options import CallOptions
from mcp_runtime.core.transports.http import connect_http
from support.asking import asked, meta, text
from support.http import BOTH, Events
from support.ports import free_port
from support.redis_server import redis_server

pytestmark = [pytest.mark.interop, pytest.mark.xdist_group("processes")]

WORKERS = 4
KEPT = 600
"""Seconds for which a connection without a request stays open."""
ANSWERS = {"What?": "teas", "How many teas?": "3", "Where to?": "the garden"}


def post(name: str, id_: int = 1, method: str = "tools/call", **params: Any) -> dict[str, Any]:
    """Return the parts of a POST of 2026-07-28."""
    params = {"_meta": meta(), **({"name": name} if name else {}), **params}
    headers = {
        **BOTH,
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": method,
        **({"mcp-name": name} if name else {}),
    }
    return {"json": {"jsonrpc": "2.0", "id": id_, "method": method, "params": params}, "headers": headers}


@dataclass
class Site:
    """The address of the workers.

    Attributes:
        url: the address.
        payments: the file of payments.
        workers: a connection to each of the workers, by the id of its process.
    """

    url: str
    payments: Path
    workers: dict[int, httpx2.AsyncClient] = field(default_factory=dict[int, httpx2.AsyncClient])

    async def find(self, stack: AsyncExitStack) -> None:
        """Open connections until there is one to each worker; an open connection stays with its worker."""
        async with asyncio.timeout(60):
            while len(self.workers) < WORKERS:
                http = await stack.enter_async_context(self.connection())
                answers = await asyncio.gather(*(self.pid(http) for _ in range(2)), return_exceptions=True)
                if isinstance(pid := answers[0], int) and pid == answers[1]:
                    self.workers.setdefault(pid, http)
                else:
                    await asyncio.sleep(0.1)

    def connection(self) -> httpx2.AsyncClient:
        """Return a client that uses a single connection."""
        limits = httpx2.Limits(max_connections=1, keepalive_expiry=KEPT)
        return httpx2.AsyncClient(base_url=self.url, limits=limits, timeout=40, verify=False)

    async def pid(self, http: httpx2.AsyncClient) -> int:
        return int(text((await http.post("/mcp", **post("who"))).json()))


@pytest.fixture
async def site(tmp_path: Path) -> AsyncGenerator[Site]:
    port = free_port()
    async with redis_server() as redis, AsyncExitStack() as stack:
        found = Site(f"http://127.0.0.1:{port}", tmp_path / "payments")
        environment = {
            **os.environ,
            "MCP_TEST_REDIS": str(redis.port),
            "MCP_TEST_KEY": secrets.token_hex(32),
            "MCP_TEST_PAYMENTS": str(found.payments),
        }
        command = ["-m", "uvicorn", "support.worker_app:app", "--port", str(port), "--workers", str(WORKERS)]
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *command,
            "--log-level",
            "error",
            "--timeout-keep-alive",
            str(KEPT),
            # By default a worker is replaced if it is stalled for 5 seconds. While uvicorn waits, it ignores signals.
            "--timeout-worker-healthcheck",
            "15",
            cwd=TESTS,
            env=environment,
            stderr=PIPE,
            stdout=DEVNULL,
        )
        try:
            await found.find(stack)
            yield found
        finally:
            process.send_signal(signal.SIGTERM)
            _, said = await asyncio.wait_for(process.communicate(), 60)
        assert said == b"", said.decode()[-2000:]


async def test_three_rounds_of_input_each_at_another_worker(site: Site) -> None:
    pids, states = list(site.workers), list[str]()
    more: Mapping[str, Any] = {}
    message: Any = None
    for pid in pids:
        message = (await site.workers[pid].post("/mcp", **post("order", **more))).json()
        if pid == pids[-1]:
            break
        questions, state = asked(message)
        states.append(state)
        answers = {key: {"action": "accept", "content": {"said": ANSWERS[said]}} for said, key in questions.items()}
        more = {"requestState": state, "inputResponses": answers}
    assert text(message) == "3 teas to the garden"
    assert len(set(states)) == 3 and len(site.payments.read_text().splitlines()) == 1
    for pid in pids:
        refused = (await site.workers[pid].post("/mcp", **post("order", **more))).json()
        assert refused["error"]["data"] == {"pointer": "/requestState"}, "it was used at another worker"
    assert len(site.payments.read_text().splitlines()) == 1


async def test_an_update_at_one_worker_reaches_the_listeners_of_all_workers_once(site: Site) -> None:
    wanted = {"toolsListChanged": True, "resourceSubscriptions": ["file:///a"]}
    listen = post("", 7, "subscriptions/listen", notifications=wanted)
    async with AsyncExitStack() as stack:
        streams: dict[int, Events] = {}
        for pid, http in site.workers.items():
            response = await stack.enter_async_context(http.stream("POST", "/mcp", **listen))
            streams[pid] = Events(response)
            assert (await streams[pid].message())["method"] == "notifications/subscriptions/acknowledged"
        other = await stack.enter_async_context(site.connection())
        for number in range(3):
            touched = (await other.post("/mcp", **post("touch", arguments={"uri": f"file:///a/{number}"}))).json()
            assert text(touched) == "2", "one listener in the worker that was asked, notified of both changes"
        uris = [f"file:///a/{number}" for number in range(3)]
        heard = await asyncio.gather(*(changes(events, {"tools", *uris}) for events in streams.values()))
        # Repeated changes before the other workers are notified are merged.
        assert all(1 <= found.pop("tools") <= 3 for found in heard)
        assert heard == [Counter(uris)] * WORKERS


async def changes(events: Events, expected: set[str]) -> Counter[str]:
    """Read changes until all expected ones have come, and then until no more come."""
    found: Counter[str] = Counter()
    try:
        while True:
            async with asyncio.timeout(1 if found.keys() >= expected else 40):
                event = await events.event()
            assert event is not None
            found[json.loads(event.data)["params"].get("uri", "tools")] += 1
    except TimeoutError:
        return found


async def test_when_a_worker_is_killed_every_call_ends_and_later_ones_are_answered(site: Site) -> None:
    began = asyncio.Event()

    def begin(progress: float, total: float | None, message: str | None) -> None:
        began.set()

    async def one(seconds: float, http: httpx2.AsyncClient | None = None, options: CallOptions | None = None) -> str:
        async with connect_http(f"{site.url}/mcp", http=http) as peer:
            try:
                client = await modern.Client.open(peer)
                result = await client.call_tool(name="who", arguments={"seconds": seconds}, options=options)
            except McpError as error:
                return f"{type(error).__name__}: {error}"
            assert isinstance(result.content[0], modern.TextContent)
            return result.content[0].text

    victim, *others = site.workers
    killed = asyncio.create_task(one(60, site.workers[victim], CallOptions(progress=begin)))
    known = [asyncio.create_task(one(2, site.workers[pid])) for pid in others]
    calls = [asyncio.create_task(one(0.5 + number % 10 / 5)) for number in range(36)]
    async with asyncio.timeout(80):
        await began.wait()
        os.kill(victim, signal.SIGKILL)
        outcomes = await asyncio.gather(killed, *known, *calls)
    assert [task.result() for task in known] == [str(pid) for pid in others]
    failed = [outcome for outcome in outcomes if not outcome.isdecimal()]
    assert killed.result() in failed
    assert all(outcome.startswith("ConnectionClosed: http") for outcome in failed), failed
    # uvicorn starts a new worker to replace it.
    async with asyncio.timeout(40):
        assert all(outcome.isdecimal() for outcome in [await one(0) for _ in range(4)])
