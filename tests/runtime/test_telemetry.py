"""Spans of requests, recorded by a provider like that of a program."""

import subprocess
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

from opentelemetry import context as context_api
from opentelemetry import trace
from opentelemetry.trace import SpanKind, StatusCode

from mcp_bindings import v2025_11_25 as v
from mcp_runtime.core.errors import PeerError
from mcp_runtime.core.settings import ClientOptions, ServerOptions
from mcp_runtime.middleware.opentelemetry import TARGETS, Telemetry
from support.together import together


class Recorded(trace.NonRecordingSpan):
    """A span that a test can inspect."""

    def __init__(self, name: str, kind: SpanKind, attributes: dict[str, Any], parent: trace.SpanContext) -> None:
        super().__init__(trace.SpanContext(1, 1, is_remote=False))
        self.name = name
        self.kind = kind
        self.attributes = attributes
        self.parent = parent
        self.failed = False

    def set_attribute(self, key: str, value: Any) -> None:
        self.attributes[key] = value

    def set_status(self, status: Any, description: str | None = None) -> None:
        self.failed = status is StatusCode.ERROR


class Recorder:
    """The part of an OpenTelemetry tracer that makes spans current."""

    def __init__(self) -> None:
        self.spans: list[Recorded] = []

    @contextmanager
    def start_as_current_span(
        self, name: str, *, context: Any, kind: SpanKind, attributes: dict[str, Any], **options: Any
    ) -> Generator[Recorded]:
        span = Recorded(name, kind, attributes, trace.get_current_span(context).get_span_context())
        self.spans.append(span)
        token = context_api.attach(trace.set_span_in_context(span))
        try:
            yield span
        finally:
            context_api.detach(token)


class Weather(v.Server):
    async def list_tools(self, params: v.PaginatedRequestParams | None, ctx: v.Context) -> v.ListToolsResult:
        return v.ListToolsResult(tools=[])

    async def call_tool(self, params: v.CallToolRequestParams, ctx: v.Context) -> v.CallToolResult:
        if params.name == "refuse":
            raise PeerError(-7, "no")
        return v.CallToolResult(content=[], is_error=params.name == "fail" or None)


async def spans(names: Sequence[str]) -> tuple[list[Recorded], list[Recorded]]:
    """Call tools and return the spans of the client and of the server."""
    ours, theirs = Recorder(), Recorder()

    class Watched(Weather):
        options = ServerOptions(middleware=(Telemetry(theirs),))

    async with together(v.Client, Watched(), options=ClientOptions(middleware=(Telemetry(ours),))) as client:
        for name in names:
            try:
                await client.call_tool(name=name)
            except PeerError as error:
                assert error.code == -7
    return [s for s in ours.spans if s.name != "initialize"], theirs.spans


class TestTelemetry:
    async def test_both_sides_have_a_span_for_each_request(self) -> None:
        ours, theirs = await spans(["forecast"])
        assert [(span.name, span.kind, span.failed) for span in ours] == [
            ("tools/call forecast", SpanKind.CLIENT, False)
        ]
        assert [(span.name, span.kind, span.failed) for span in theirs] == [
            ("tools/call forecast", SpanKind.SERVER, False)
        ]
        assert theirs[0].attributes == {
            "mcp.method.name": "tools/call",
            "rpc.system.name": "jsonrpc",
            "mcp.protocol.version": "2025-11-25",
            "jsonrpc.request.id": "2",
            "gen_ai.tool.name": "forecast",
        }

    async def test_an_error_is_recorded_by_its_code(self) -> None:
        for side in await spans(["refuse"]):
            assert side[0].failed
            assert side[0].attributes["rpc.response.status_code"] == "-7"
            assert side[0].attributes["error.type"] == "-7"

    async def test_a_tool_that_failed_is_a_failure(self) -> None:
        for side in await spans(["fail"]):
            assert side[0].failed
            assert side[0].attributes["error.type"] == "tool_error"

    async def test_a_trace_continues_at_the_server(self) -> None:
        recorder = Recorder()

        class Watched(Weather):
            options = ServerOptions(middleware=(Telemetry(recorder),))

        trace_id, span_id = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
        meta = v.RequestParamsMeta.model_validate({"traceparent": f"00-{trace_id}-{span_id}-01"})
        async with together(v.Client, Watched()) as client:
            await client.call_tool(name="forecast", meta=meta)
        parent = recorder.spans[0].parent
        assert (f"{parent.trace_id:032x}", f"{parent.span_id:016x}") == (trace_id, span_id)

    async def test_without_an_sdk_calls_work_as_before(self) -> None:
        async with together(v.Client, Weather(), options=ClientOptions(middleware=(Telemetry(),))) as client:
            await client.list_tools()

    def test_without_the_api_one_line_says_what_to_install(self) -> None:
        program = (
            "import sys; sys.modules['opentelemetry'] = None\n"
            "from mcp_runtime.middleware.opentelemetry import Telemetry\nTelemetry()\n"
        )
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
        assert "pip install 'mcp-bindings[telemetry]'" in done.stderr.splitlines()[-1]

    def test_its_table_names_existing_properties(self) -> None:
        for name, (member, _) in TARGETS.items():
            params = v.METHODS[name].params
            assert params is not None
            assert member in params.load().model_fields
