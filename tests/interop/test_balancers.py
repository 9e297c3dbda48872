"""The balancers of docs/processes.md in front of two workers: sessions of the legacy era stay where they began."""

import asyncio
import os
import secrets
import shutil
import signal
import subprocess
import sys
from asyncio.subprocess import DEVNULL, Process
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from interop.processes import TESTS
from support.documents import ROOT
from support.http import RawClient, call
from support.ports import free_port
from support.redis_server import redis_server

pytestmark = [pytest.mark.interop, pytest.mark.xdist_group("processes")]

REVISION = "2025-11-25"
PAGE = (ROOT / "docs" / "processes.md").read_text("utf-8")
TEMPORARY = "".join(f"{kind}_temp_path temporary;" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))


def block(language: str) -> str:
    """Return the page's code block in a language."""
    return PAGE.partition(f"```{language}\n")[2].partition("```")[0]


def program(name: str) -> str:
    found = shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin")
    assert found is not None, f"{name} is not installed; `make interop` installs it, or: apt-get install {name}"
    return found


class Site:
    """Two workers, and ports for a balancer in front of them."""

    def __init__(self, folder: Path, workers: list[Process], ports: list[int]) -> None:
        self.folder = folder
        self.workers = workers
        self.ports = ports
        self.url = f"http://127.0.0.1:{ports[0]}"

    def configuration(self, language: str) -> Path:
        """Write the configuration from the page, with the ports of this test."""
        text = block(language)
        for number, port in enumerate(self.ports):
            assert f":{8000 + number}" in text
            text = text.replace(f":{8000 + number}", f":{port}")
        if language == "nginx":
            (self.folder / "temporary").mkdir()
            text = text.replace("http {", f"http {{ access_log off; {TEMPORARY}", 1)
        path = self.folder / f"{language}.conf"
        path.write_text(text)
        return path

    @asynccontextmanager
    async def behind(self, *command: str) -> AsyncGenerator[None]:
        """Run a balancer."""
        process = await asyncio.create_subprocess_exec(*command, stdout=DEVNULL, stderr=DEVNULL)
        try:
            await answering(self.ports[0])
            yield
        finally:
            process.terminate()
            await process.wait()

    @asynccontextmanager
    async def session(self, **headers: str) -> AsyncGenerator[tuple[RawClient, int]]:
        """Start a session that opens a new connection for each request; yields it with the id of its worker."""
        limits = httpx2.Limits(max_keepalive_connections=0)
        async with httpx2.AsyncClient(base_url=self.url, timeout=40, headers=headers, limits=limits) as http:
            client = RawClient(http)
            await client.shake_hands(REVISION)
            yield client, await worker_of(client)


async def worker_of(client: RawClient, tool: str = "who") -> int:
    """Call a tool; returns the id of the process that answered."""
    answer = await client.post(call(tool))
    assert answer.status_code == 200, answer.text
    return int(answer.json()["result"]["content"][0]["text"])


async def answering(port: int) -> None:
    async with asyncio.timeout(60):
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                await asyncio.sleep(0.05)
            else:
                writer.close()
                return


@pytest.fixture
async def site(tmp_path: Path) -> AsyncGenerator[Site]:
    ports = [free_port() for _ in range(3)]
    async with redis_server() as redis:
        environment = {
            **os.environ,
            "MCP_TEST_REDIS": str(redis.port),
            "MCP_TEST_KEY": secrets.token_hex(32),
            "MCP_TEST_PAYMENTS": str(tmp_path / "payments"),
        }
        command = (sys.executable, "-m", "uvicorn", "support.worker_app:app", "--log-level", "error", "--port")
        workers = [
            await asyncio.create_subprocess_exec(*command, str(port), cwd=TESTS, env=environment) for port in ports[1:]
        ]
        try:
            for port in ports[1:]:
                await answering(port)
            yield Site(tmp_path, workers, ports)
        finally:
            for worker in workers:
                if worker.returncode is None:
                    worker.kill()
                await worker.wait()


async def status_of(client: RawClient) -> int:
    """Call a tool and return the status: 502 too where the balancer closes the connection with a killed worker's."""
    try:
        return (await client.post(call("who"))).status_code
    except httpx2.RemoteProtocolError:
        return 502


async def test_haproxy_learns_where_a_session_began(site: Site) -> None:
    path = str(site.configuration("text"))
    subprocess.run([program("haproxy"), "-c", "-f", path], check=True, capture_output=True)
    async with site.behind(program("haproxy"), "-f", path), AsyncExitStack() as stack:
        sessions = [await stack.enter_async_context(site.session()) for _ in range(6)]
        assert {pid for _, pid in sessions} == {worker.pid for worker in site.workers}
        for client, pid in sessions * 5:
            assert await worker_of(client) == pid
        # A change at one worker reaches the streams of sessions at both.
        streams = [await stack.enter_async_context(client.stream()) for client, _ in sessions]
        for stream in streams:
            assert await stream.event() is not None
        await worker_of(sessions[0][0], "touch")
        for stream in streams:
            assert (await stream.message())["method"] == "notifications/tools/list_changed"
        # The sessions of a worker end with it, and their clients are informed.
        lost = sessions[0][1]
        os.kill(lost, signal.SIGKILL)
        for client, pid in sessions:
            async with asyncio.timeout(40):
                while (status := await status_of(client)) in (502, 503):
                    await asyncio.sleep(0.2)
            assert status == (404 if pid == lost else 200)
        async with site.session() as (_, pid):
            assert pid != lost


async def test_nginx_sends_each_client_to_the_same_worker(site: Site) -> None:
    path = str(site.configuration("nginx"))
    common = (program("nginx"), "-p", str(site.folder), "-e", "stderr", "-c", path, "-g", "pid nginx.pid; daemon off;")
    subprocess.run([*common, "-t"], check=True, capture_output=True)
    async with site.behind(*common):
        found: dict[str, set[int]] = {}
        for number in range(20):
            name = f"Bearer {number % 10}"
            async with site.session(authorization=name) as (client, pid):
                found.setdefault(name, set()).update([pid, await worker_of(client), await worker_of(client)])
        assert all(len(pids) == 1 for pids in found.values())
        assert set[int]().union(*found.values()) == {worker.pid for worker in site.workers}


def test_the_server_of_the_page_starts(tmp_path: Path) -> None:
    (tmp_path / "server.py").write_text(block("python"))
    environment: dict[str, Any] = {**os.environ, "MCP_KEY": secrets.token_hex(32), "REDIS_URL": "redis://localhost"}
    subprocess.run([sys.executable, "server.py"], cwd=tmp_path, env=environment, check=True)
