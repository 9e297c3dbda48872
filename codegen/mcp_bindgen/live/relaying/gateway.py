"""Serves all servers of a configuration as one."""

import json
import logging
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from mcp_bindgen.ir.diagnostics import printable
from mcp_bindings import App, Client
from mcp_runtime.core.json.values import is_object
from mcp_runtime.core.transports.stdio import serve_stdio
from mcp_runtime.gateway import mount_host
from mcp_runtime.host import Host, Policy, ServerEntry, allow_all, read_only

_POLICIES: Final[Mapping[str, Policy]] = {"allow-all": allow_all, "read-only": read_only}
_log: Final = logging.getLogger("mcp_bindgen.gateway")


def serve_gateway(file: Path, policy: str, approvals: Path | None, port: int | None) -> None:
    """Serve over stdio, or HTTP on a port, until the client leaves or a signal arrives.

    Args:
        file: the configuration.
        policy: ``allow-all`` or ``read-only``.
        approvals: a JSON object that maps the digests of servers that may be started to true; None for all.
        port: the port on 127.0.0.1; None for stdio.

    Raises:
        ValueError: the configuration or the approvals cannot be used.
        OSError: a file cannot be read, or the port not be listened on.
        ModuleNotFoundError: the extra for HTTP is not installed.
    """
    approve = None if approvals is None else _approving(approvals)
    app: App = App("gateway")
    mount_host(app, Host.from_file(file, Client, policy=_POLICIES[policy], approve=approve))
    if port is None:
        serve_stdio(app)
        return
    from mcp_runtime.web_server import serve_http

    serve_http(app, port=port, started=lambda url: print(f"serving at {url}/mcp", file=sys.stderr, flush=True))


def _approving(file: Path) -> Callable[[ServerEntry], bool]:
    """Return what decides whether a server may be started, from a file."""
    approved: Any = None
    with suppress(ValueError, RecursionError):
        approved = json.loads(file.read_bytes())
    if not is_object(approved):
        raise ValueError(f"{file}: is not a JSON object of digests and true")
    known: Mapping[str, Any] = approved

    def approve(entry: ServerEntry) -> bool:
        if known.get(entry.digest) is True:
            return True
        _log.warning("%s: not approved; to start %s, map %s to true", entry.name, printable(str(entry)), entry.digest)
        return False

    return approve
