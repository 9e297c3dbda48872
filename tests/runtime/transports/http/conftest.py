"""Setup of the tests over HTTP."""

from typing import Any

import pytest

from mcp_runtime.core.transports.http import HttpLimits


@pytest.fixture(autouse=True)
def answers_are_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a server that stands still for a second answer with JSON, unless a test chooses its own `stream_after`."""
    constructor: Any = HttpLimits.__init__
    monkeypatch.setitem(constructor.__kwdefaults__, "stream_after", 60.0)
