"""Judges the messages of a server that a command talks to."""

from collections.abc import Sequence
from typing import Any

from mcp_bindgen.ir.diagnostics import clip
from mcp_bindgen.ir.json_values import NOT_JSON, json_value
from mcp_bindgen.live.bindings import packages_of, revisions
from mcp_bindgen.live.output import ServerOutput
from mcp_bindgen.live.report import MAX_MESSAGE, line_about
from mcp_runtime.core.options import Trace, Tracing
from mcp_runtime.core.protocol.dispatch import Side
from mcp_runtime.observe.observer import Observer


class Judging(Tracing):
    """A trace hook for several connections, like `Tracer`, that judges a server's messages as `mcp-bindgen proxy` does.

    Args:
        output: receives what is wrong with them.
        packages: bindings whose revisions may be spoken, beside all released ones.
        trace: another hook, which receives every message too; None for none.
    """

    def __init__(self, output: ServerOutput, packages: Sequence[Any], trace: Any = None) -> None:
        self._output = output
        self._packages = (*packages_of(revisions()), *packages)
        self._trace = trace

    def conversation(self) -> Trace:
        """Return the hook of one connection."""
        observer = Observer(package.BINDING for package in self._packages)
        trace = None if self._trace is None else self._trace.conversation()

        def take(way: str, message: bytes) -> None:
            if trace is not None:
                trace(way, message)
            if way == "sent":
                observer.take(Side.CLIENT, message)
                return
            self._output.has_answered |= message.startswith(b"{")
            for finding in observer.take(Side.SERVER, message):
                self._output.complain(line_about(finding), _quoted(message))

        return take


def _quoted(message: bytes) -> str:
    """Return the beginning of a message that is not JSON; empty for any other one."""
    text = message[: 4 * MAX_MESSAGE].decode("utf-8", "replace").strip()
    return clip(text, MAX_MESSAGE) if json_value(message) is NOT_JSON else ""
