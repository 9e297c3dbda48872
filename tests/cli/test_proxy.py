"""`mcp-bindgen proxy`: bytes pass unchanged, faults are reported, and either side may exit at any time."""

import json
import os
import random
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from mcp_bindgen.live.relaying.pump import MAX_AHEAD
from observe.faults import CLIENT, FAULTS, SERVER, Fault, call, result
from support.command import Cli
from support.programs import quick_python
from support.sampling import sampled

TESTS = Path(__file__).parents[1]
PROXY = ("-m", "mcp_bindgen", "proxy")
ECHO = (sys.executable, "-c", "import os\nwhile data := os.read(0, 1 << 16): os.write(1, data)")
PIDS = "import os, sys; print(os.getpid(), file=sys.stderr, flush=True)\n"
MIN_FAULTS = 25
MEGABYTE = 1 << 20


@contextmanager
def started(
    *options: object, server: Iterable[object] = ECHO, cwd: Path = TESTS, python: str = sys.executable
) -> Generator["subprocess.Popen[bytes]"]:
    """Start a server behind the proxy; the process is the proxy itself, unless it is a fork of `quick_python`."""
    words = [python, *PROXY, *map(str, options), "--", *map(str, server)]
    with subprocess.Popen(words, stdin=-1, stdout=-1, stderr=-1, cwd=cwd, bufsize=0) as process:
        try:
            yield process
        finally:
            process.kill()


@contextmanager
def served(token: str) -> Generator[str]:
    """Serve over HTTP, to clients with a token; yields the URL."""
    command = (quick_python(), "-m", "tools.http_served", token)
    with subprocess.Popen(command, cwd=TESTS, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def run(data: bytes, *options: object, server: Iterable[object] = ECHO) -> "subprocess.CompletedProcess[bytes]":
    """Send bytes through the proxy and close its input."""
    words = [quick_python(), *PROXY, *map(str, options), "--", *map(str, server)]
    return subprocess.run(words, input=data, capture_output=True, cwd=TESTS, check=False, timeout=60)


def memory(pid: int) -> int:
    """Return the peak memory of a process, in bytes."""
    status = Path(f"/proc/{pid}/status").read_text("utf-8")
    (peak,) = [line.split()[1] for line in status.splitlines() if line.startswith("VmHWM")]
    return int(peak) * 1024


def eventually(condition: Callable[[], bool], seconds: float = 40) -> None:
    """Wait until something is true."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def is_running(pid: int) -> bool:
    """Whether a process runs; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def converse(fault: Fault) -> tuple[list[dict[str, Any]], int]:
    """Run a conversation through the proxy; return its report and exit status."""
    said = json.dumps([(who, line.decode()) for who, line in fault.lines])
    server = (quick_python(), "-m", "observe.faults", said)
    with started("--fail", "--format", "json", server=server, python=quick_python()) as process:
        assert process.stdin is not None and process.stdout is not None and process.stderr is not None
        for who, line in fault.lines:
            if who == CLIENT:
                process.stdin.write(line + b"\n")
            else:
                assert process.stdout.readline() == line + b"\n"
        process.stdin.close()
        lines = process.stderr.read().splitlines()
        return [json.loads(line) for line in lines], process.wait()


def check(fault: Fault) -> None:
    """Check that the proxy reports a fault, and nothing else."""
    (report,), status = converse(fault)
    assert status == 1
    assert report["sender"] == {CLIENT: "client", SERVER: "server"}[fault.lines[-1][0]]
    (found,) = [finding for finding in report["findings"] if finding["pointer"] == fault.pointer]
    assert fault.reason in found["reason"]


@pytest.mark.parametrize("fault", FAULTS[:1], ids=lambda fault: fault.name)
def test_planted_faults_are_reported(fault: Fault) -> None:
    check(fault)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_every_planted_fault_is_reported() -> None:
    """The observer finds each of them in tests/observe; here a sample goes through processes."""
    assert len(FAULTS) >= MIN_FAULTS
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(check, sampled(FAULTS, 6)))


class TestBytes:
    @pytest.mark.slow
    def test_no_byte_is_changed(self) -> None:
        noise = random.Random(7).randbytes(3 * MEGABYTE) + b"\r\n\n\0" + b'{"jsonrpc":"2.0","id":1,"method":"ping"}\r\n'
        done = run(noise)
        assert done.stdout == noise
        assert done.returncode == 0

    @pytest.mark.slow
    def test_bytes_pass_as_they_arrive(self) -> None:
        """Half a message is not held back until the rest arrives."""
        with started() as process:
            assert process.stdin is not None and process.stdout is not None
            for part in (b'{"jsonrpc"', b':"2.0",', b'"id":1}', b"\n"):
                process.stdin.write(part)
                assert process.stdout.read(len(part)) == part

    @pytest.mark.slow
    def test_what_the_server_prints_to_standard_error_passes_too(self) -> None:
        done = run(b"", server=(sys.executable, "-c", "import sys; print('hello', file=sys.stderr)"))
        assert b"hello\n" in done.stderr
        assert done.stderr.endswith(b"proxy: 0 messages, 0 broken; the server exited with status 0\n")

    @pytest.mark.slow
    def test_the_server_has_the_environment_and_the_folder_of_the_proxy(self) -> None:
        code = "import os; print(os.environ['PWD_OF_TEST'], os.getcwd())"
        words = [quick_python(), *PROXY, "--", sys.executable, "-c", code]
        env = {**os.environ, "PWD_OF_TEST": "x y"}
        done = subprocess.run(words, capture_output=True, cwd=TESTS, env=env, check=False, stdin=subprocess.DEVNULL)
        assert done.stdout.decode() == f"x y {TESTS}\n"


class TestReport:
    BAD = call(1, "tools/call", {"name": 5, "password": "hunter2", "note": "\x1b[2J sk-abcdefghijklmnopqrst"})

    def test_it_names_place_and_reason_without_secrets(self) -> None:
        done = run(self.BAD + b"\n", server=("cat",))
        first, second, third = done.stderr.decode().splitlines()[:3]
        assert first.startswith("client to server, tools/call, id 1: /method: tools/call is not allowed in state")
        assert '"password": "***"' in second and "hunter2" not in second + first
        assert "sk-abcdef" not in second and "\x1b" not in second
        assert third.startswith("server to client, tools/call, id 1:")
        assert done.returncode == 0

    @pytest.mark.slow
    def test_it_is_written_to_a_file_and_decides_the_status(self, tmp_path: Path) -> None:
        log = tmp_path / "report.jsonl"
        done = run(self.BAD + b"\n", "--fail", "--log", log, "--format", "json", server=("cat",))
        assert (done.returncode, done.stderr) == (1, b"")
        reports = [json.loads(line) for line in log.read_text("utf-8").splitlines()]
        assert [line["sender"] for line in reports] == ["client", "server"]
        assert reports[0].keys() == {"at", "sender", "revision", "method", "id", "findings", "message"}
        assert run(b"", "--fail", "--log", log, server=("cat",)).returncode == 0

    @pytest.mark.slow
    def test_secrets_are_shown_on_demand(self) -> None:
        assert b"hunter2" in run(self.BAD + b"\n", "--no-mask", server=("cat",)).stderr

    @pytest.mark.slow
    def test_a_flood_of_faults_is_counted(self) -> None:
        done = run(b"noise\n" * 5_000, server=("cat",))
        lines = done.stderr.decode().splitlines()
        assert len(lines) < 2_010
        assert lines[-2:] == [
            "proxy: 9,000 more messages were not reported",
            "proxy: 10000 messages, 10,000 broken; the server exited with status 0",
        ]

    @pytest.mark.slow
    def test_a_message_that_is_cut_off_is_a_fault(self) -> None:
        assert b"the stream ends in the middle of a message" in run(b'{"jsonrpc"', server=("cat",)).stderr

    @pytest.mark.slow
    def test_an_unwritable_report_does_not_stop_the_proxy(self) -> None:
        with started(server=("cat",)) as process:
            assert process.stdin is not None and process.stdout is not None and process.stderr is not None
            process.stderr.close()
            for _ in range(100):
                process.stdin.write(b"noise\n")
                assert process.stdout.read(6) == b"noise\n"
            process.stdin.close()
            assert process.wait(60) == 0

    @pytest.mark.slow
    def test_a_client_may_close_standard_error(self) -> None:
        command = f"{shlex.quote(sys.executable)} -m mcp_bindgen proxy -- cat 2>&-"
        ended = subprocess.run(("sh", "-c", command), input=b"noise\n", stdout=subprocess.PIPE, timeout=60, check=False)
        assert (ended.returncode, ended.stdout) == (0, b"noise\n")


class TestBadInput:
    @pytest.mark.parametrize(
        ("arguments", "expected"),
        [
            ((), "error: proxy: give one server: a URL, or a command after --"),
            (("--", "no-such-program"), "error: no-such-program: cannot start no-such-program: no such command"),
            (("--http", "--port", "0", "--", "no-such-program"), "error: no-such-program: cannot be started"),
            (("--http", "--port", "0", "--", "/etc/passwd"), "error: /etc/passwd: cannot be started"),
            (("--log", "/no/such/folder/x", "--", "cat"), "error: /no/such/folder/x: cannot be written"),
            (("cat",), "error: cat: is not a URL"),
            (("--stdio", "--", "cat"), "error: --stdio: is for a server with a URL"),
            (("--http", "http://localhost/mcp"), "error: --http: is for a command"),
            (("--header", "a=env:b", "http://localhost/mcp"), "error: --header: is for --stdio"),
            (
                ("--", "http://localhost/mcp"),
                "error: http://localhost/mcp: is a URL; write it before --",
            ),
        ],
    )
    def test_wrong_arguments_are_explained(self, arguments: tuple[str, ...], expected: str, cli: Cli) -> None:
        assert expected in cli("proxy", *arguments, expect=2).err


class TestEnds:
    @pytest.mark.parametrize("number", [signal.SIGKILL, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
    def test_a_killed_server_ends_the_proxy(self, number: int) -> None:
        with started(server=(sys.executable, "-c", f"{PIDS}sys.stdin.read()")) as process:
            assert process.stderr is not None
            os.kill(int(process.stderr.readline()), number)
            assert process.wait(60) == 0
            assert signal.Signals(number).name in process.stderr.read().decode()

    @pytest.mark.slow
    def test_the_server_is_ended_when_the_client_is_gone(self) -> None:
        """Even one that ignores the end of its standard input."""
        with started(server=(sys.executable, "-c", f"{PIDS}import time; time.sleep(600)")) as process:
            assert process.stdin is not None and process.stdout is not None and process.stderr is not None
            pid = int(process.stderr.readline())
            process.stdin.close()
            time.sleep(0.5)
            assert is_running(pid), "the client may still be reading the answer"
            process.stdout.close()
            assert process.wait(60) == 0
            assert not is_running(pid)

    @pytest.mark.slow
    def test_a_server_whose_output_nobody_reads_is_ended(self) -> None:
        code = f"{PIDS}\nwhile True: print('x' * 1000)"
        with started(server=(sys.executable, "-c", code)) as process:
            assert process.stdout is not None and process.stderr is not None
            pid = int(process.stderr.readline())
            process.stdout.close()
            eventually(lambda: not is_running(pid))

    @pytest.mark.slow
    def test_a_terminated_proxy_ends_the_server(self) -> None:
        with started(server=(sys.executable, "-c", f"{PIDS}import time; time.sleep(600)")) as process:
            assert process.stderr is not None
            pid = int(process.stderr.readline())
            process.terminate()
            assert process.wait(60) == 0
            assert not is_running(pid)

    @pytest.mark.slow
    def test_a_killed_proxy_closes_the_input_of_the_server(self) -> None:
        with started(server=(sys.executable, "-c", f"{PIDS}sys.stdin.read()")) as process:
            assert process.stderr is not None
            pid = int(process.stderr.readline())
            process.kill()
            eventually(lambda: not is_running(pid))

    @pytest.mark.slow
    def test_a_report_that_nobody_reads_does_not_block_the_proxy(self) -> None:
        with started(server=("cat",)) as process, ThreadPoolExecutor(1) as pool:
            assert process.stdin is not None and process.stdout is not None
            noise = b'{"jsonrpc":"1.0","id":1,"method":"%s"}\n' % (b"x" * 200)
            written = pool.submit(_write, process, noise * 900)
            left = len(noise) * 900
            while left:
                left -= len(process.stdout.read(left))
            written.result()
            process.stdin.close()
            assert process.wait(60) == 0

    @pytest.mark.slow
    def test_answers_after_the_end_of_the_input_still_pass(self) -> None:
        code = "import sys, time; data = sys.stdin.read(); time.sleep(1); print(data, end='')"
        assert run(b"hello\n", server=(sys.executable, "-c", code)).stdout == b"hello\n"


class TestLoad:
    @pytest.mark.slow
    def test_a_message_of_64_mib_passes_in_bounded_memory(self) -> None:
        long = result(1, {"tools": [], "x": "y" * (64 * MEGABYTE)}) + b"\n"
        code = "import sys; n = int(sys.argv[1]); data = sys.stdin.buffer.read(n); sys.stdout.buffer.write(data)"
        code += "; sys.stdout.flush(); sys.stdin.read()"
        with started(server=(sys.executable, "-c", code, len(long))) as process, ThreadPoolExecutor(1) as pool:
            assert process.stdin is not None and process.stdout is not None
            before = memory(process.pid)
            written = pool.submit(_write, process, long)
            left = len(long)
            while left:
                left -= len(process.stdout.read(min(left, MEGABYTE)))
            written.result()
            assert memory(process.pid) - before < 200 * MEGABYTE
            process.stdin.close()
            assert process.stderr is not None
            assert b"2 messages, 0 broken, 2 not judged" in process.stderr.read()

    @pytest.mark.slow
    def test_a_client_that_reads_nothing_holds_the_server_back(self) -> None:
        code = f'{PIDS}\nn = 0\nline = \'{{"jsonrpc":"2.0","method":"x"}}\' * 1000\nwhile True: print(line)'
        with started(server=(sys.executable, "-c", code)) as process:
            assert process.stderr is not None
            pid = int(process.stderr.readline())
            assert 0 < _settled(lambda: _written(pid)) < MAX_AHEAD
            assert memory(process.pid) < 300 * MEGABYTE


def _write(process: "subprocess.Popen[bytes]", data: bytes) -> None:
    assert process.stdin is not None
    left = memoryview(data)
    while left:
        left = left[process.stdin.write(left) :]


def _settled(number: Callable[[], int]) -> int:
    """Return a growing number once it has not changed for a second."""
    last = -1
    deadline = time.monotonic() + 90
    while (latest := number()) != last or not latest:
        assert time.monotonic() < deadline, "it grows without end"
        last = latest
        time.sleep(1)
    return latest


def _written(pid: int) -> int:
    rows = Path(f"/proc/{pid}/io").read_text("utf-8").splitlines()
    return next(int(row.split()[1]) for row in rows if row.startswith("wchar"))


class TestUrls:
    @pytest.mark.slow
    def test_messages_between_http_clients_and_a_server_are_judged(self, cli: Cli) -> None:
        with (
            served("Bearer s3cret-value") as url,
            subprocess.Popen([quick_python(), *PROXY, url, "--port", "0"], cwd=TESTS, stderr=-1, text=True) as process,
        ):
            assert process.stderr is not None
            place = process.stderr.readline().strip().removeprefix("proxy: connect to ")
            seen = cli("inspect", "--revision", "2025-06-18", place).out
            answer = httpx2.post(place, json={"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}})
            process.send_signal(signal.SIGINT)
            report = process.stderr.read()
        assert "over-http 1.0" in seen
        assert answer.status_code == 200 or answer.json()["error"]["code"] == -32602
        assert "client to server, initialize, id 1: /params/protocolVersion: Field required" in report
        assert re.search(r"proxy: \d+ messages, 1 broken; the proxy was stopped", report)

    @pytest.mark.slow
    def test_a_client_on_stdio_reaches_a_server_with_a_url(self, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("TOKEN", "Bearer s3cret-value")
        with served("Bearer s3cret-value") as url:
            words = ("--stdio", "--header", "Authorization=env:TOKEN", "--log", "report.txt", url)
            command = (quick_python(), *PROXY, *words)
            for revision in ("2024-11-05", "2025-06-18", "2026-07-28"):
                inspect = ("inspect", "--revision", revision, "--env", "TOKEN=Bearer s3cret-value", "--")
                seen = cli(*inspect, *command).out
                assert "over-http 1.0" in seen and "say" in seen
                report = Path("report.txt").read_text("utf-8")
                assert re.search(r"proxy: \d+ messages, 0 broken; the client has left", report)
            noise = b'oops\n{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{}}\n'
            done = subprocess.run((*command, "--fail"), input=noise, capture_output=True, timeout=60, check=False)
        refused = json.loads(done.stdout)
        assert (done.returncode, refused["id"]) == (1, 7) and "initialize" in refused["error"]["message"]
        assert "client to server: /: not JSON" in Path("report.txt").read_text("utf-8")

    @pytest.mark.slow
    def test_a_server_that_cannot_be_reached_is_an_error_of_each_request(self) -> None:
        request = b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}\n'
        done = run(request, "--stdio", "http://127.0.0.1:1/mcp", server=())
        assert "cannot connect" in json.loads(done.stdout)["error"]["message"]
