"""If several things are wrong with a request of 2026-07-28, the first failed check decides the response."""

import json
import re
from collections.abc import Callable, Mapping
from itertools import combinations
from pathlib import Path
from typing import Any, Final

import pytest

from mcp_bindings import v2026_07_28 as v
from mcp_runtime.server import requires
from mcp_runtime.transports.http import HttpLimits, asgi_app
from mcp_runtime.transports.http.server.checks import CHECKS, STATUSES
from support.http import BOTH
from support.http_modern import PREFIX, called, headers_for, meta, modern_client
from support.http_server import chatty
from support.own import own

PAGE: Final = Path(__file__).resolve().parents[4] / "docs" / "http.md"
MAX_BYTES: Final = 5_000
SUCCEEDS: Final = frozenset((-32603,))
"""Codes without a status of their own: the request was taken, and the answer to it says what went wrong then."""


class Choosy(v.Server):
    """A server with one tool, which needs a header and a capability."""

    async def list_tools(self, params: v.PaginatedRequestParams | None, ctx: v.Context) -> v.ListToolsResult:
        schema: Any = {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}
        return v.ListToolsResult(tools=[v.Tool(name="ask", input_schema=v.ToolInputSchema(**schema))])

    @requires("sampling")
    async def call_tool(self, params: v.CallToolRequestParams, ctx: v.Context) -> v.CallToolResult:
        return v.CallToolResult(content=[v.TextContent(text="asked")])


class Draft:
    """A valid request, to which faults are added."""

    def __init__(self) -> None:
        self.verb = "POST"
        self.message: dict[str, Any] = called("ask", said=meta(sampling={}), region="north")
        self.headers = {**headers_for(self.message), **BOTH, "content-type": "application/json"}
        self.headers["mcp-param-region"] = "north"
        self.cut = 0

    @property
    def said(self) -> dict[str, Any]:
        found: dict[str, Any] = self.message["params"]["_meta"]
        return found

    @property
    def body(self) -> bytes:
        text = json.dumps(self.message).encode()
        return text[: len(text) - self.cut]


def spoils(**headers: str) -> Callable[[Draft], None]:
    """Return a function that replaces headers of a request."""
    return lambda draft: draft.headers.update({name.replace("_", "-"): value for name, value in headers.items()})


def large(draft: Draft) -> None:
    draft.message["padding"] = "x" * MAX_BYTES


def other_verb(draft: Draft) -> None:
    draft.verb = "PUT"


def cut(draft: Draft) -> None:
    draft.cut = 1


def no_message(draft: Draft) -> None:
    draft.message["jsonrpc"] = "1.0"


def no_revision(draft: Draft) -> None:
    del draft.said[f"{PREFIX}protocolVersion"]


def no_version_header(draft: Draft) -> None:
    draft.headers.pop("mcp-protocol-version", None)


def other_revision(draft: Draft) -> None:
    draft.said[f"{PREFIX}protocolVersion"] = draft.headers["mcp-protocol-version"] = "2099-01-01"


def no_capabilities(draft: Draft) -> None:
    draft.said[f"{PREFIX}clientCapabilities"] = 5


def other_method(draft: Draft) -> None:
    draft.message["method"] = draft.headers["mcp-method"] = "no/such"


def other_params(draft: Draft) -> None:
    draft.message["params"]["name"] = 5


def lacks_capability(draft: Draft) -> None:
    draft.said[f"{PREFIX}clientCapabilities"] = {}


FAULTS: Final[Mapping[str, Callable[[Draft], None]]] = dict(
    zip(
        [check.fault for check in CHECKS],
        [
            spoils(x_large="x" * 40_000),
            spoils(host="example.com"),
            other_verb,
            spoils(content_type="text/plain"),
            spoils(accept="application/json"),
            large,
            cut,
            no_message,
            no_revision,
            no_version_header,
            other_revision,
            no_capabilities,
            spoils(mcp_method="other"),
            other_method,
            other_params,
            spoils(mcp_param_region="south"),
            lacks_capability,
        ],
        strict=True,
    )
)


NEITHER: Final = ({no_revision, no_version_header}, {no_revision, other_revision})
"""Pairs that leave no word of 2026-07-28 in body or headers: beside sessions, the request is not of that era."""


@pytest.mark.requirement("posts.bad-meta", "posts.version-unsupported", "posts.method-unknown")
@pytest.mark.parametrize("is_alone", [True, False], ids=["alone", "beside sessions"])
@pytest.mark.parametrize("is_stateless", [True, False], ids=["stateless", "with sessions"])
async def test_the_first_of_two_faults_is_answered(is_alone: bool, is_stateless: bool) -> None:
    wrong: list[str] = []
    servers = [own(Choosy())] if is_alone else [Choosy(), chatty("2025-11-25")]
    app = asgi_app(*servers, stateless=is_stateless, limits=HttpLimits(max_message_bytes=MAX_BYTES))
    async with modern_client(app, h11_max_incomplete_event_size=100_000) as client:

        async def answer(*faults: str) -> tuple[int, int]:
            draft = Draft()
            for fault in reversed(faults):
                FAULTS[fault](draft)
            found = await client.http.request(draft.verb, "/mcp", content=draft.body, headers=draft.headers)
            return found.status_code, found.json().get("error", {}).get("code", 0)

        assert await answer() == (200, 0)
        for check in CHECKS:
            if (found := await answer(check.fault)) != (check.status, check.code):
                wrong.append(f"{check.fault}: {found}")
        for first, second in combinations(CHECKS, 2):
            if not is_alone and {FAULTS[first.fault], FAULTS[second.fault]} in NEITHER:
                continue
            if (found := await answer(first.fault, second.fault)) != (first.status, first.code):
                wrong.append(f"{first.fault}, and {second.fault}: {found}")
    assert not wrong, "\n".join(wrong)


def test_every_error_of_the_revision_has_a_status() -> None:
    assert STATUSES.keys() | SUCCEEDS == v.BINDING.errors.keys()
    assert not STATUSES.keys() & SUCCEEDS


def test_the_page_has_the_same_table() -> None:
    rows = re.findall(r"^\| (.+) \| (\d{3}) \| (-\d+) \|$", PAGE.read_text("utf-8"), re.MULTILINE)
    assert [(fault, int(status), int(code)) for fault, status, code in rows] == [tuple(check) for check in CHECKS]
