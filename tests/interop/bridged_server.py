"""Our server, written for 2025-11-25 and bridged to older revisions.

python -m interop.bridged_server        # in tests/
"""

from interop.our_server import Everything20251125
from mcp_runtime.core.transports.stdio import serve_stdio

if __name__ == "__main__":
    serve_stdio(Everything20251125())
