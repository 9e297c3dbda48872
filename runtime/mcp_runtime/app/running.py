"""Serves a program over HTTP, and ends it with one line where that is not possible."""

import sys
from typing import Any

from mcp_runtime.app.errors import for_author
from mcp_runtime.core.handlers import ServerHandlers
from mcp_runtime.web_server import serve_http


def run_http(server: ServerHandlers, options: dict[str, Any]) -> None:
    """Serve clients until a signal, and print the URL to standard error.

    Args:
        server: the server.
        options: those of `mcp_runtime.serve_http`.

    Raises:
        TypeError, ValueError: as for `serve_http`.
        OSError: it cannot listen.
        ModuleNotFoundError: the extra is not installed.
    """
    urls: list[str] = []

    def started(url: str) -> None:
        urls.append(url)
        if told := options.get("started"):
            told(url)
        else:
            print(f"serving at {url}{options.get('path', '/mcp')}", file=sys.stderr, flush=True)

    given: dict[str, Any] = {**options, "started": started}
    try:
        serve_http(server, **given)
    except (TypeError, ValueError, OSError, ModuleNotFoundError) as error:
        if urls:
            raise
        raise for_author(error) from error
