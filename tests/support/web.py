"""A web server for the files of a folder."""

import threading
from collections.abc import Generator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


class FileHandler(SimpleHTTPRequestHandler):
    """Serves files, and prints nothing."""

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""


@contextmanager
def serving(folder: Path) -> Generator[str]:
    """Serve the files of a folder on this machine, and yield the URL."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(FileHandler, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
