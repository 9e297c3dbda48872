"""If several things are wrong with a request of 2026-07-28, the first failed check decides the response."""

import json
import os
import re
from collections.abc import Callable, Mapping
from itertools import combinations
from pathlib import Path
from typing import Any, Final

import pytest

from mcp_bindings import v2026_07_28 as v
from mcp_runtime.core.transports.http import HttpLimits, asgi_app
from mcp_runtime.core.transports.http.statuses import MODERN, STATUSES, Case
from mcp_runtime.decorators import requires
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


FAULTS: Final[Mapping[Case, Callable[[Draft], None]]] = {
    Case.HEADERS_TOO_LARGE: spoils(x_large="x" * 40_000),
    Case.HOST: spoils(host="example.com"),
    Case.ORIGIN: spoils(origin="https://example.com"),
    Case.METHOD: other_verb,
    Case.CONTENT_TYPE: spoils(content_type="text/plain"),
    Case.ACCEPT: spoils(accept="application/json"),
    Case.LONG_BODY: large,
    Case.NOT_JSON: cut,
    Case.NOT_A_MESSAGE: no_message,
    Case.NO_META: no_revision,
    Case.NO_HEADER: no_version_header,
    Case.UNSUPPORTED: other_revision,
    Case.BAD_META: no_capabilities,
    Case.MISMATCH: spoils(mcp_method="other"),
    Case.NO_METHOD: other_method,
    Case.PARAMS: other_params,
    Case.PARAMETER: spoils(mcp_param_region="south"),
    Case.CAPABILITY: lacks_capability,
}


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

        async def answer(*faults: Case) -> tuple[int, int]:
            draft = Draft()
            for fault in reversed(faults):
                FAULTS[fault](draft)
            found = await client.http.request(draft.verb, "/mcp", content=draft.body, headers=draft.headers)
            return found.status_code, found.json().get("error", {}).get("code", 0)

        assert await answer() == (200, 0)
        cases = [case for case in Case if case in FAULTS]  # in the order of the table
        for case in cases:
            if (found := await answer(case)) != (case.status, case.code):
                wrong.append(f"{case.when}: {found}")
        for first, second in combinations(cases, 2):
            if not is_alone and {FAULTS[first], FAULTS[second]} in NEITHER:
                continue
            if (found := await answer(first, second)) != (first.status, first.code):
                wrong.append(f"{first.when}, and {second.when}: {found}")
    assert not wrong, "\n".join(wrong)


def test_every_error_of_the_revision_has_a_status() -> None:
    assert STATUSES.keys() | SUCCEEDS == v.BINDING.errors.keys()
    assert not STATUSES.keys() & SUCCEEDS


def test_every_case_of_the_revision_is_tried() -> None:
    assert {case for case in Case if case.where == MODERN} <= FAULTS.keys()


def test_the_page_has_the_table() -> None:
    text = PAGE.read_text("utf-8")
    pattern = re.compile(r"(<!-- statuses: [^\n]*-->\n)(.*?)(<!-- end -->)", re.DOTALL)
    assert len(pattern.findall(text)) == 1
    expected = pattern.sub(lambda found: f"{found[1]}\n{table()}\n{found[3]}", text)
    if os.environ.get("UPDATE_GOLDEN"):
        PAGE.write_text(expected, "utf-8")
    assert PAGE.read_text("utf-8") == expected, f"UPDATE_GOLDEN=1 pytest {Path(__file__).name}"


def table() -> str:
    """Return the table of statuses as Markdown."""
    lines = ["| request | case | status | code |", "|---|---|---|---|"]
    lines += [f"| {case.where} | {case.when} | {case.status} | {case.code or '-'} |" for case in Case]
    return "\n".join(lines) + "\n"
