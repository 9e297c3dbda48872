"""A standalone HTTP server: prints its URL, and ends on SIGTERM.

python -m support.http_program [GRACE [MAX_UNREAD_TOTAL]]        # in tests/
"""

import sys

from mcp_runtime.core.transports.http import HttpLimits
from mcp_runtime.web_server import serve_http
from support.http_server import chatty


def main() -> None:
    """Serve until SIGTERM."""
    grace = float(sys.argv[1]) if len(sys.argv) > 1 else 10
    serve_http(
        chatty("2025-11-25"),
        port=0,
        sse="/sse",
        grace=grace,
        limits=HttpLimits(max_unread_total=int(sys.argv[2])) if len(sys.argv) > 2 else HttpLimits(),
        shows_sessions=True,
        started=lambda url: print(url, flush=True),
    )


if __name__ == "__main__":
    main()
