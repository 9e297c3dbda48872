"""Servers of the tests of the host: a program that does what its arguments say, and servers in memory."""

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcp_bindings import App
from mcp_runtime.core.handlers import ServerHandlers
from mcp_runtime.core.handshake.client import Peer
from mcp_runtime.host import ServerEntry
from mcp_runtime.memory import connect_memory
from support.programs import quick_python

PROGRAM = Path(__file__).with_name("program.py")


def program(*words: str, **more: Any) -> dict[str, Any]:
    """Return the entry of a server that runs the program."""
    return {"command": quick_python(), "args": [str(PROGRAM), *words], **more}


@dataclass(frozen=True, slots=True, kw_only=True)
class InMemory(ServerEntry):
    """A server in this process, a new one for each connection."""

    make: Callable[[], ServerHandlers]

    def connect(self, stderr: Callable[[str], None], auth: Any = None) -> AbstractAsyncContextManager[Peer]:
        return connect_memory(self.make())


def app_of(name: str, tools: Mapping[str, Callable[..., Any]]) -> App:
    """Return an app with these tools."""
    app: App = App(name)
    for tool, function in tools.items():
        app.tool(tool, description="Does it.")(function)
    return app
