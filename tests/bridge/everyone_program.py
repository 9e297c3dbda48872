"""A server of a revision over stdio: ``everyone_program.py REVISION BRIDGED``, the bridged side."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from bridge.everyone import make_server
from mcp_runtime.core.transports.stdio import serve_stdio
from support.own import own

if __name__ == "__main__":
    server = make_server(sys.argv[1])
    serve_stdio(server if sys.argv[2] == "server" else own(server))
