"""The server's end of stdio: a real process, with every kind of standard input and output."""

import os
import pty
import signal
import socket
import subprocess
import sys
import time
import tty
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from support.stdio_peers import PEERS, is_running

SERVER = (sys.executable, str(PEERS / "server.py"))


class Driven:
    """A running server: its input, and the lines that it sends."""

    def __init__(
        self,
        stdin: int = subprocess.PIPE,
        stdout: int = subprocess.PIPE,
        *,
        argv: tuple[str, ...] = SERVER,
        env: Mapping[str, str] | None = None,
    ) -> None:
        environment = {**os.environ, **(env or {})}
        environment.pop("PYTHONUNBUFFERED", None)  # text printed before the start is then still in a buffer
        self.process = subprocess.Popen(
            argv, stdin=stdin, stdout=stdout, stderr=subprocess.PIPE, env=environment, close_fds=False
        )

    def write(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def line(self) -> bytes:
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def end(self) -> tuple[bytes, str]:
        """Close its input; return the rest of its output, and its standard error after the first text printed."""
        out, err = self.process.communicate(timeout=60)
        assert self.process.returncode == 0, err
        text = err.decode()
        assert text.startswith("stray before the start\n")
        return out, text.removeprefix("stray before the start\n")


@pytest.fixture
def server() -> Iterator[Driven]:
    driven = Driven()
    yield driven
    driven.process.kill()
    with driven.process:
        pass


def test_it_echoes_and_ends_with_its_input(server: Driven) -> None:
    server.write(b'{"a":1}\r\n\n{"b":2}\n')
    assert (server.line(), server.line()) == (b'{"a":1}\n', b'{"b":2}\n')
    assert server.end() == (b"", "lost: None\n")


def test_nothing_stray_gets_into_the_protocol(server: Driven) -> None:
    server.write(b":stray\n")
    assert server.line() == b"done\n"
    rest, err = server.end()
    assert rest == b""
    assert err.splitlines() == [
        "stray from Python: \\udce9",
        "stray from a descriptor",
        "stray from C",
        "stray from a child",
        "WARNING:root:stray from logging",
        "lost: None",
    ]


def test_nothing_else_reads_the_protocol(server: Driven) -> None:
    server.write(b":steal\nnext\n")
    assert (server.line(), server.line()) == (b"a child read 0 bytes\n", b"next\n")


def test_children_inherit_none_of_its_descriptors(server: Driven) -> None:
    before = sum(
        os.get_inheritable(int(fd)) for fd in os.listdir("/proc/self/fd") if Path(f"/proc/self/fd/{fd}").exists()
    )
    server.write(b":descriptors\n")
    assert int(server.line()) <= max(0, before - 3)


@pytest.mark.parametrize("locale", ["C", *(pytest.param(x, marks=pytest.mark.slow) for x in ("en_US.ISO-8859-1",))])
def test_the_locale_changes_nothing(locale: str) -> None:
    driven = Driven(
        env={"LC_ALL": locale, "PYTHONIOENCODING": "latin-1", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    )
    driven.write("blåbær \u2028 \U0001f980\n".encode())
    assert driven.line() == "blåbær \u2028 \U0001f980\n".encode()
    driven.end()


def test_a_message_over_the_limit_is_refused() -> None:
    driven = Driven(argv=(*SERVER, "0", "1", "1000"))
    driven.write(b"x" * 100_000 + b"\nnext\n")
    assert b"more than 1000 bytes" in driven.line()
    assert driven.line() == b"next\n"
    driven.end()


def test_an_unfinished_last_message_is_reported(server: Driven) -> None:
    server.write(b'{"jsonrpc":')
    assert server.end() == (b"", "lost: the client closed its end in the middle of a message\n")


def test_a_client_that_closed_only_its_sending_end_still_gets_answers(server: Driven) -> None:
    server.write(b":slow\n")
    assert server.end()[0] == b"late\n"


def test_a_client_that_no_longer_reads_is_lost() -> None:
    r, w = os.pipe()
    driven = Driven(stdout=w)
    os.close(w)
    driven.write(b"1\n")
    assert os.read(r, 10) == b"1\n"
    os.close(r)
    driven.write(b"2\n")
    assert driven.process.stderr is not None
    lines = [driven.process.stderr.readline() for _ in range(2)]
    assert lines[1] == b"lost: cannot write to the client: Broken pipe\n"
    driven.process.communicate()


def test_a_client_that_never_reads_blocks_the_flood_but_not_the_shutdown(server: Driven) -> None:
    server.write(b":flood 5000\n")
    time.sleep(0.5)
    assert server.process.stdin is not None
    server.process.stdin.close()
    assert server.process.stderr is not None
    # Only then does it no longer wait for the client to read.
    assert server.process.stderr.read().splitlines() == [b"stray before the start", b"lost: None", b"flooded"]
    assert server.process.wait(60) == 0


def test_a_server_whose_client_was_killed_ends() -> None:
    client = subprocess.Popen(
        (
            sys.executable,
            "-c",
            "import subprocess,sys,time;"
            "p=subprocess.Popen(sys.argv[1:],stdin=-1,stdout=-1,stderr=-3);p.stdin.write(b'1\\n');p.stdin.flush();"
            "p.stdout.readline();print(p.pid,flush=True);time.sleep(600)",
            *SERVER,
        ),
        stdout=subprocess.PIPE,
    )
    assert client.stdout is not None
    pid = int(client.stdout.readline())
    assert is_running(pid)
    client.send_signal(signal.SIGKILL)
    client.communicate()
    deadline = time.monotonic() + 30
    while is_running(pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not is_running(pid)


def test_it_speaks_over_a_socket() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        driven = Driven(theirs.fileno(), theirs.fileno())
        big = b"x" * 900_000 + b"\n"
        ours.sendall(b"1\n")
        assert ours.recv(10) == b"1\n"
        ours.sendall(big)
        assert ours.makefile("rb").readline() == big
        assert os.get_blocking(theirs.fileno())
        ours.shutdown(socket.SHUT_WR)
        assert driven.end()[1] == "lost: None\n"


def test_it_speaks_over_a_terminal() -> None:
    ours, theirs = pty.openpty()
    tty.setraw(theirs)
    driven = Driven(theirs, theirs)
    with open(ours, "r+b", buffering=0) as terminal, open(theirs, "rb"):
        assert terminal.readline() == b"stray before the start\n"  # a terminal gets each line at once
        terminal.write(b"1\n")
        assert terminal.readline() == b"1\n"
        assert os.get_blocking(theirs)
    assert driven.process.communicate(timeout=60)[1] == b"lost: None\n"


def test_it_reads_and_writes_files(tmp_path: Path) -> None:
    requests, answers = tmp_path / "requests", tmp_path / "answers"
    lines = b"".join(b"%d\n" % i for i in range(100_000))
    requests.write_bytes(lines)
    answers.write_bytes(b"kept\n")
    with requests.open("rb") as source, answers.open("ab") as target:
        driven = Driven(source.fileno(), target.fileno())
        assert driven.end()[1] == "lost: None\n"
    assert answers.read_bytes() == b"kept\n" + lines


def test_without_input_it_ends_at_once() -> None:
    driven = Driven(subprocess.DEVNULL)
    assert driven.end() == (b"", "lost: None\n")


def test_pipes_that_others_share_stay_blocking() -> None:
    (r_in, w_in), (r_out, w_out) = os.pipe(), os.pipe()
    driven = Driven(r_in, w_out)
    os.write(w_in, b"1\n")
    assert os.read(r_out, 10) == b"1\n"
    assert os.get_blocking(r_in)
    assert os.get_blocking(w_out)
    os.close(w_in)
    driven.end()
    for fd in (r_in, r_out, w_out):
        os.close(fd)


def test_it_takes_other_descriptors() -> None:
    (r_in, w_in), (r_out, w_out) = os.pipe(), os.pipe()
    os.set_inheritable(r_in, True)
    os.set_inheritable(w_out, True)
    driven = Driven(argv=(*SERVER, str(r_in), str(w_out), "1000"))
    os.close(r_in)
    os.close(w_out)
    os.write(w_in, b"1\n")
    assert os.read(r_out, 10) == b"1\n"
    os.close(w_in)
    assert os.read(r_out, 10) == b""
    os.close(r_out)
    out, err = driven.process.communicate(timeout=60)
    assert out == b"stray before the start\nlost: None\n"
    assert err == b""


@pytest.mark.parametrize(("closed", "name"), [("<&-", "standard input"), (">&-", "standard output")])
def test_a_closed_standard_stream_is_reported(closed: str, name: str) -> None:
    done = subprocess.run(
        ("/bin/sh", "-c", f'exec "$0" "$@" {closed}', *SERVER), capture_output=True, check=False, timeout=60
    )
    assert done.returncode == 1
    assert f"not started: {name} is not open" in done.stderr.decode()
