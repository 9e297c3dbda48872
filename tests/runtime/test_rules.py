"""Checks of outgoing and displayed values beyond the schemas: URLs for users, and binary content."""

import base64
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, Field

from mcp_bindings import v2025_06_18, v2026_07_28
from mcp_bindings import v2025_11_25 as v
from mcp_bindings.v2025_11_25 import methods
from mcp_bindings.v2025_11_25.errors import InternalError, InvalidParamsError
from mcp_runtime.core.errors import LocalProtocolError, PeerError, RemoteProtocolError
from mcp_runtime.core.json.binary import BINARY, is_base64, wrong_binary
from mcp_runtime.core.json.values import is_array, is_object
from mcp_runtime.core.method import Direction, RequestMethod, WireType
from mcp_runtime.core.protocol.rules import URL_REQUIRED, judge_of
from mcp_runtime.core.settings import ClientOptions, ServerOptions
from support.roles import make_handlers, make_server
from support.talk import talk
from support.together import together

SCHEMAS = Path(__file__).resolve().parents[2] / "schema"
DISGUISED = "https://user@example.org/"
"""`test_elicitation` has the other URLs that are refused."""


class Host:
    """A client's handlers; `shown` is what they received."""

    def __init__(self) -> None:
        self.shown: list[str] = []
        shown = self.shown

        async def elicit(self: Any, params: Any, ctx: Any) -> v.ElicitResult:
            shown.append(params.url)
            return v.ElicitResult(action="decline")

        self.handlers = make_handlers("2025-11-25", elicit=elicit)


def client_options(**more: Any) -> ClientOptions:
    return ClientOptions(capabilities={"elicitation": {"url": {}, "form": {}}}, **more)


class Raw(BaseModel):
    """Params class of a program, with its own serialization."""

    model_config = ConfigDict(serialize_by_alias=True)

    link: str = Field(serialization_alias="url")
    mode: str = "url"
    message: str = "m"
    ident: str = Field(default="i", serialization_alias="elicitationId")


RAW: RequestMethod[Any, Any] = RequestMethod(
    "elicitation/create",
    message="Raw",
    direction=Direction.SERVER_TO_CLIENT,
    params=WireType(__name__, "Raw"),
    result=methods.ELICITATION_CREATE.result,
)


@pytest.mark.parametrize("way", ["stub", "raw", "own record", "middleware"])
async def test_unsafe_urls_are_not_sent(way: str) -> None:
    errors: list[LocalProtocolError] = []

    async def change(exchange: Any, proceed: Any) -> Any:
        if exchange.method.name == "elicitation/create":
            exchange.params = v.ElicitRequestURLParams(message="m", elicitation_id="i", url=DISGUISED)
        return await proceed()

    async def call_tool(self: Any, params: Any, ctx: v.Context) -> v.CallToolResult:
        good = v.ElicitRequestURLParams(message="m", elicitation_id="i", url="https://example.org/")
        bad = good.model_copy(update={"url": DISGUISED})
        try:
            match way:
                case "stub":
                    await ctx.client.elicit(mode="url", message="m", elicitation_id="i", url=DISGUISED)
                case "raw":
                    await ctx.connection.request(methods.ELICITATION_CREATE, bad, None)
                case "own record":
                    await ctx.connection.request(RAW, Raw(link=DISGUISED), None)
                case _:
                    await ctx.connection.request(methods.ELICITATION_CREATE, good, None)
        except LocalProtocolError as error:
            errors.append(error)
        return v.CallToolResult(content=[])

    options = ServerOptions(middleware=(change,) if way == "middleware" else ())
    host = Host()
    server = make_server("2025-11-25", options, call_tool=call_tool)
    async with talk(server, handlers=host.handlers, client=client_options) as both:
        await both.client.call_tool(name="t")
        assert [message["method"] for message in both.received if "method" in message] == []
    assert [error.pointer for error in errors] == ["/url"] and not host.shown


async def test_unsafe_urls_are_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hostile server has no such checks; here they are removed from ours."""
    monkeypatch.setattr("mcp_runtime.core.connection.outbound.LEAVING", {})
    refused: list[PeerError] = []

    async def call_tool(self: Any, params: Any, ctx: v.Context) -> v.CallToolResult:
        with pytest.raises(InvalidParamsError) as caught:
            await ctx.client.elicit(mode="url", message="m", elicitation_id="i", url=DISGUISED)
        refused.append(caught.value)
        return v.CallToolResult(content=[])

    host = Host()
    server = make_server("2025-11-25", call_tool=call_tool)
    async with talk(server, handlers=host.handlers, client=client_options) as both:
        await both.client.call_tool(name="t")
    assert [error.data for error in refused] == [{"pointer": "/url"}] and not host.shown


async def test_a_good_url_is_shown() -> None:
    async def call_tool(self: Any, params: Any, ctx: v.Context) -> v.CallToolResult:
        await ctx.client.elicit(mode="url", message="m", elicitation_id="i", url="https://example.org/?q=%20")
        return v.CallToolResult(content=[])

    host = Host()
    async with talk(
        make_server("2025-11-25", call_tool=call_tool), handlers=host.handlers, client=client_options
    ) as both:
        await both.client.call_tool(name="t")
    assert host.shown == ["https://example.org/?q=%20"]


async def test_errors_with_unsafe_urls_are_not_sent(caplog: pytest.LogCaptureFixture) -> None:
    async def call_tool(self: Any, params: Any, ctx: v.Context) -> v.CallToolResult:
        pages = [
            {"mode": "url", "elicitationId": "i", "message": "m", "url": each} for each in ("https://x.org/", DISGUISED)
        ]
        raise PeerError(URL_REQUIRED, "go there first", {"elicitations": pages})

    async with talk(make_server("2025-11-25", call_tool=call_tool)) as both:
        with pytest.raises(InternalError, match=r"^internal error"):
            await both.client.call_tool(name="t")
    assert "the handler of tools/call raised an error that is wrong at /elicitations/1/url" in caplog.text


def test_results_with_unsafe_urls_are_not_sent() -> None:
    params = {"mode": "url", "message": "m", "elicitationId": "i", "url": DISGUISED}
    asked = {"a": {"method": "elicitation/create", "params": params}}
    result = v2026_07_28.InputRequiredResult.model_validate({"resultType": "input_required", "inputRequests": asked})
    judge = judge_of(type(result))
    broken = judge(result, result.model_dump_json().encode()) if judge else None
    assert broken is not None and broken.pointer == "/inputRequests/a/params/url"


async def test_questions_with_unsafe_urls_are_not_shown() -> None:
    params = {"mode": "url", "message": "m", "elicitationId": "i", "url": "javascript:alert(1)"}
    asked = {"a/b": {"method": "elicitation/create", "params": params}, "c": 5}

    class Hostile(v2026_07_28.Server):
        async def call_tool(self, params: Any, ctx: Any) -> Any:
            return Said.model_validate({"resultType": "input_required", "inputRequests": asked, "requestState": "s"})

    class Host(v2026_07_28.ClientHandlers):
        async def elicit(self, params: Any, ctx: Any) -> Any:
            raise AssertionError("nothing may be shown")

    async def go_on(result: Any, call: Any) -> Any:
        raise AssertionError("nothing may be shown")

    async with together(v2026_07_28.Client, Hostile(), handlers=Host()) as client:
        accepted = v2026_07_28.InputRequiredResult
        client.connection.results.accept(v2026_07_28.methods.TOOLS_CALL, "input_required", accepted, go_on)
        with pytest.raises(RemoteProtocolError, match="not the URL of a web page") as caught:
            await client.call_tool(name="t")
    assert caught.value.pointer == "/inputRequests/a~1b/params/url"


class Said(BaseModel):
    """A result that is written exactly as given."""

    model_config = ConfigDict(extra="allow")


def image(data: str) -> v.ImageContent:
    return v.ImageContent(data=data, mime_type="image/png")


def blob(data: str) -> v.BlobResourceContents:
    return v.BlobResourceContents(uri="file:///x", blob=data)


WRONG = ["%%%", "abc", "YQ", "YQ=", "Y=Q=", "YQ==\n", "YWJj_-==", "YQ===", "====", "=", "Ä===", "YQ==YQ=="]


@pytest.mark.parametrize("text", WRONG)
def test_invalid_base64(text: str) -> None:
    assert not is_base64(text)


def test_valid_base64() -> None:
    assert all(is_base64(base64.b64encode(bytes(range(n % 256)) * (n % 3)).decode()) for n in range(300))


@pytest.mark.parametrize(
    ("method", "result", "pointer"),
    [
        ("read_resource", v.ReadResourceResult(contents=[blob(""), blob("%%%")]), "/contents/1/blob"),
        ("read_resource", {"contents": [{"uri": "file:///x", "blob": "%%%"}]}, "/contents/0/blob"),
        ("call_tool", v.CallToolResult(content=[image("%%%")]), "/content/0/data"),
        ("call_tool", v.CallToolResult(content=[v.AudioContent(data="YQ", mime_type="audio/x")]), "/content/0/data"),
        (
            "call_tool",
            v.CallToolResult(content=[v.TextContent(text="%%%"), v.EmbeddedResource(resource=blob("a"))]),
            "/content/1/resource/blob",
        ),
        (
            "get_prompt",
            v.GetPromptResult(messages=[v.PromptMessage(role="user", content=image("a"))]),
            "/messages/0/content/data",
        ),
    ],
)
async def test_binary_content_leaves_as_base64_or_not_at_all(
    method: str, result: Any, pointer: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def handler(self: Any, params: Any, ctx: Any) -> Any:
        return result

    calls = {"read_resource": {"uri": "file:///x"}, "call_tool": {"name": "t"}, "get_prompt": {"name": "p"}}
    async with talk(make_server("2025-11-25", None, **{method: handler})) as both:
        for _ in range(2):  # the second time, the writer of the class is cached
            with pytest.raises(InternalError, match=r"^internal error"):
                await getattr(both.client, method)(**calls[method])
    said = f"returned a result with an error at {pointer}: not base64; base64.b64encode(data).decode() makes it"
    assert [said in record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR] == [True] * 2


async def test_sampling_requests_are_checked_too() -> None:
    errors: list[LocalProtocolError] = []

    async def call_tool(self: Any, params: Any, ctx: v.Context) -> v.CallToolResult:
        with pytest.raises(LocalProtocolError, match="not base64") as caught:
            message = v.SamplingMessage(role="user", content=image("%%%"))
            await ctx.client.create_message(messages=[message], max_tokens=1)
        errors.append(caught.value)
        return v.CallToolResult(content=[image(base64.b64encode(b"good").decode())])

    async def create_message(self: Any, params: Any, ctx: Any) -> Any:
        raise AssertionError("nothing may come")

    host = make_handlers("2025-11-25", create_message=create_message)
    async with talk(make_server("2025-11-25", call_tool=call_tool), handlers=host) as both:
        assert (await both.client.call_tool(name="t")).content[0].data == "Z29vZA=="
    assert [error.pointer for error in errors] == ["/messages/0/content/data"]


def _no_judge(kind: type) -> None:
    """Check nothing."""


async def test_a_peers_binary_content_is_not_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp_runtime.core.connection.results.judge_of", _no_judge)

    class Own(v2025_06_18.CallToolResult):
        """A class of this test alone, since the writer of a class is cached."""

    async def call_tool(self: Any, params: Any, ctx: Any) -> Any:
        return Own(content=[v2025_06_18.ImageContent(data="%%%", mime_type="image/png")])

    async with talk(make_server("2025-06-18", call_tool=call_tool)) as both:
        assert (await both.client.call_tool(name="t")).content[0].data == "%%%"


def formats(value: Any, name: str = "") -> Iterator[str]:
    """Iterate over the names of the properties whose format is byte."""
    if is_object(value):
        if value.get("format") == "byte":
            yield name
        for inner, part in value.items():
            yield from formats(part, inner)
    elif is_array(value):
        for part in value:
            yield from formats(part, name)


def test_the_properties_are_those_of_the_schemas() -> None:
    schemas = [json.loads(path.read_text("utf-8")) for path in SCHEMAS.glob("*/schema.json")]
    assert {name for schema in schemas for name in formats(schema)} == set(BINARY)


@pytest.mark.parametrize("package", [v2025_06_18, v, v2026_07_28])
def test_every_class_with_such_a_property_is_found_in_results(package: Any) -> None:
    image = package.ImageContent(data="%", mime_type="x")
    held = package.EmbeddedResource(resource=package.BlobResourceContents(uri="x:y", blob="%"))
    assert wrong_binary(package.CallToolResult(content=[image])) == ["content", 0, "data"]
    assert wrong_binary(package.CallToolResult(content=[held])) == ["content", 0, "resource", "blob"]
