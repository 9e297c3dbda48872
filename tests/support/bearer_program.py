"""A protected HTTP server in a process of its own: prints its URL, and ends on SIGTERM.

python -m support.bearer_program PORT ISSUER        # in tests/
"""

import sys

from mcp_bindings import v2026_07_28 as mcp
from mcp_runtime.auth import Bearer
from mcp_runtime.decorators import requires_scopes
from mcp_runtime.web_server import serve_http

app = mcp.App("files")


@app.tool()
def read(path: str, ctx: mcp.Context) -> str:
    """Read a file."""
    return f"read by {ctx.principal}"


@app.tool()
@requires_scopes("files:write")
def save(path: str, ctx: mcp.Context) -> str:
    """Save a file."""
    return f"saved by {ctx.principal}"


def main() -> None:
    """Serve until SIGTERM."""
    port, issuer = int(sys.argv[1]), sys.argv[2]
    auth = Bearer(f"http://127.0.0.1:{port}/mcp", issuer=issuer, scopes=["files:read"])
    serve_http(app, port=port, sse="/sse", auth=auth, started=lambda url: print(url, flush=True))


if __name__ == "__main__":
    main()
