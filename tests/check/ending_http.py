"""Servers over HTTP whose processes end: ``python -m check.ending_http STYLE PORT`` runs one."""

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from check.odd_http import Core, Handler, Quiet
from support.programs import quick_python


class Dies(Handler):
    """Not correct: its process ends when it is pinged."""

    def post(self, body: bytes) -> None:
        if b'"ping"' in body:
            os._exit(1)
        super().post(body)


class DiesLater(Handler):
    """Not correct: its process ends after it has taken a cancellation."""

    def post(self, body: bytes) -> None:
        super().post(body)
        if b"notifications/cancelled" in body:
            os._exit(1)


class DiesOnce(Handler):
    """Is started again in the middle, once."""

    def post(self, body: bytes) -> None:
        if self.server.posts == 20 and not Path("was-here").exists():
            Path("was-here").touch()
            os._exit(1)
        super().post(body)


@contextmanager
def running(style: str, folder: Path, *, starts: int) -> Generator[str]:
    """Serve a style in a process that is started again when it ends, up to a number of times; yields its URL."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        port = found.getsockname()[1]
    words = [quick_python(), "-m", "check.ending_http", style, str(port)]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    ended = threading.Event()
    processes: list[subprocess.Popen[bytes]] = []

    def supervise() -> None:
        for _ in range(starts):
            processes.append(subprocess.Popen(words, cwd=folder, env=env))
            processes[-1].wait()
            if ended.is_set():
                return

    thread = threading.Thread(target=supervise, daemon=True)
    thread.start()
    for _ in range(500):
        with suppress(ConnectionRefusedError), socket.create_connection(("127.0.0.1", port)):
            break
        time.sleep(0.02)
    try:
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        ended.set()
        processes[-1].kill()
        thread.join()


if __name__ == "__main__":
    server: Any = Quiet(("127.0.0.1", int(sys.argv[2])), globals()[sys.argv[1]])
    server.core, server.posts = Core(), 0
    server.serve_forever()
