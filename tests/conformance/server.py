"""The servers that the official conformance suite talks to, in every revision that has Streamable HTTP.

python -m conformance.server        # in tests/; one server per revision; prints its URL
python -m conformance.server app    # one App, bridged to every revision
"""

import sys

from conformance.deferring import app
from conformance.everything import Everything
from conformance.modern import Everything20260728
from mcp_bindings import v2025_03_26, v2025_06_18, v2025_11_25
from mcp_runtime.web_server import serve_http


class Everything20250326(Everything, v2025_03_26.Server):
    models = v2025_03_26


class Everything20250618(Everything, v2025_06_18.Server):
    models = v2025_06_18


class Everything20251125(Everything, v2025_11_25.Server):
    models = v2025_11_25


def main() -> None:
    """Serve until the process is ended."""
    servers = (
        Everything20250326(),
        Everything20250618(),
        Everything20251125(),
        Everything20260728(),
    )
    chosen = (app,) if sys.argv[1:] == ["app"] else servers
    serve_http(*chosen, port=0, started=lambda url: print(f"{url}/mcp", flush=True))


if __name__ == "__main__":
    main()
