"""The texts of errors are safe to show: a peer cannot send control characters to a terminal."""

import copy
import pickle
from datetime import UTC, datetime
from typing import Any

import pytest

from mcp_bindings.v2025_11_25.errors import InternalError
from mcp_runtime.app.errors import DefinitionError, NotFound
from mcp_runtime.bridge.policy import MissingInRevision, NotExpressible
from mcp_runtime.core.errors import (
    BindingFormatError,
    ConnectionClosed,
    LocalProtocolError,
    McpError,
    MethodNotImplemented,
    MissingCapability,
    PeerError,
    RemoteProtocolError,
    RequestTimeout,
    UnsupportedRevision,
)
from mcp_runtime.extensions.tasks.caller import TaskFailed
from mcp_runtime.extensions.tasks.states import TaskRecord
from mcp_runtime.tools.errors import ToolArgumentError, ToolRefused
from support.roles import make_server
from support.talk import talk

EVIL = "\x1b]0;owned\x07\r\n\x00 \u202e\u2066\u200b\x85 ok \\n"
SHOWN = r"\x1b]0;owned\x07\r\n\x00 \u202e\u2066\u200b\x85 ok \n"
NOW = datetime(2026, 1, 1, tzinfo=UTC)
PLACE: dict[str, Any] = {"revision": "2025-11-25", "method": EVIL, "pointer": f"/{EVIL}", "reason": EVIL}


ERRORS: list[McpError] = [
    PeerError(1, EVIL),
    InternalError(-32603, EVIL, EVIL),
    RemoteProtocolError(**PLACE),
    LocalProtocolError(**PLACE),
    MethodNotImplemented(EVIL),
    MissingCapability(EVIL, EVIL),
    UnsupportedRevision(("2025-11-25",), (EVIL,)),
    ToolArgumentError(EVIL, EVIL, EVIL),
    ToolRefused(EVIL),
    McpError(EVIL),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_no_error_has_control_characters(error: McpError) -> None:
    assert str(error).isprintable() and SHOWN in str(error)


@pytest.mark.parametrize(
    "error",
    [
        *ERRORS,
        BindingFormatError("package", "2025-11-25", found=1, expected=2),
        DefinitionError("app.py:1", "tool add", "no type"),
        MissingInRevision("tasks/get", "2025-06-18", "tasks"),
        NotExpressible(kind="audio", revision="2024-11-05", method="tools/call", pointer="/content/0"),
        NotFound("no such file", "file:///x"),
        RequestTimeout("tools/call", 1.5),
        TaskFailed(TaskRecord(id="1", created_at=NOW, updated_at=NOW, ttl=None)),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_survive_pickling_and_copying(error: McpError) -> None:
    for again in (pickle.loads(pickle.dumps(error)), copy.deepcopy(error)):
        assert (type(again), str(again), vars(again)) == (type(error), str(error), vars(error))


def test_the_peers_own_words_are_kept() -> None:
    error = pickle.loads(pickle.dumps(PeerError(1, EVIL, EVIL)))
    assert (error.message, error.data) == (EVIL, EVIL)


def test_texts_are_bounded() -> None:
    assert len(str(PeerError(1, "x" * 10_000_000))) < 5000
    assert len(str(PeerError(1, "\x1b" * 10_000_000))) < 20_000


def test_the_end_of_a_connection_keeps_its_lines() -> None:
    assert str(ConnectionClosed("it crashed:\n    \x1b[31m\r")) == "it crashed:\n    \\x1b[31m\\r"


async def test_a_peers_error_is_safe_to_show() -> None:
    async def call_tool(self: Any, params: Any, ctx: Any) -> Any:
        raise PeerError(5, EVIL, {"more": EVIL})

    async with talk(make_server("2025-11-25", call_tool=call_tool)) as both:
        with pytest.raises(PeerError) as caught:
            await both.client.call_tool(name="t")
    assert str(caught.value) == f"{SHOWN} (5)" and caught.value.message == EVIL
