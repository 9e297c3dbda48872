"""The capabilities that a handler requires are checked before it runs."""

import pickle
from typing import Any

import pytest

from mcp_bindings import v2026_07_28 as v
from mcp_runtime.core.errors import MissingCapability, PeerError
from mcp_runtime.core.settings import ClientOptions
from mcp_runtime.decorators import requires
from support.roles import TEXT, build, make_server
from support.talk import LEGACY, bindings
from support.together import together

CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"


def desk(revision: str, begun: list[str]) -> Any:
    """Return a server with an unrestricted tool, one that needs forms, one that needs more, and a blocking prompt."""
    complete = {} if revision in LEGACY else {"resultType": "complete"}

    @requires("elicitation.form", only=["ask", "ask a model"])
    @requires("sampling", "roots.listChanged", only=["ask a model"])
    async def call_tool(self: Any, params: Any, ctx: Any) -> Any:
        begun.append(params.name)
        return build(revision, "CallToolResult", content=[TEXT], **complete)

    @requires("roots")
    def get_prompt(self: Any, params: Any, ctx: Any) -> Any:
        begun.append(params.name)
        return build(revision, "GetPromptResult", messages=[], **complete)

    async def read_resource(self: Any, params: Any, ctx: Any) -> Any:
        begun.append(params.uri)
        return build(revision, "ReadResourceResult", contents=[], **complete, **uncached(revision))

    reading = requires("roots", only=["secret://x"])(read_resource)
    return make_server(revision, call_tool=call_tool, get_prompt=get_prompt, read_resource=reading)


def uncached(revision: str) -> dict[str, Any]:
    return {} if revision in LEGACY else {"ttlMs": 0, "cacheScope": "private"}


@pytest.mark.requirement("modern.missing-capability")
async def test_in_the_modern_era_each_request_is_checked() -> None:
    begun: list[str] = []
    async with together(v.Client, desk("2026-07-28", begun)) as client:

        async def refused(declared: dict[str, Any], name: str) -> Any:
            with pytest.raises(v.PeerMissingRequiredClientCapabilityError) as caught:
                await client.call_tool(name=name, meta={CAPABILITIES: declared})
            return caught.value.data

        assert await refused({}, "ask") == {"requiredCapabilities": {"elicitation": {"form": {}}}}
        assert await refused({"elicitation": {"url": {}}}, "ask") == {
            "requiredCapabilities": {"elicitation": {"form": {}}}
        }
        assert await refused({"elicitation": {}, "roots": {}}, "ask a model") == {
            "requiredCapabilities": {"sampling": {}, "roots": {"listChanged": True}}
        }
        with pytest.raises(v.PeerMissingRequiredClientCapabilityError):
            await client.get_prompt(name="blocking", meta={CAPABILITIES: {}})
        with pytest.raises(v.PeerMissingRequiredClientCapabilityError):
            await client.read_resource(uri="secret://x", meta={CAPABILITIES: {}})
        assert begun == []
        await client.call_tool(name="greet", meta={CAPABILITIES: {}})
        await client.call_tool(name="ask", meta={CAPABILITIES: {"elicitation": {}}})
        await client.get_prompt(name="blocking", meta={CAPABILITIES: {"roots": {}}})
        await client.read_resource(uri="open://x", meta={CAPABILITIES: {}})
        assert begun == ["greet", "ask", "blocking", "open://x"]


@pytest.mark.parametrize("revision", [LEGACY[0], LEGACY[-1]])
async def test_in_the_legacy_era_the_error_names_what_is_missing(revision: str) -> None:
    begun: list[str] = []
    async with together(bindings(revision).Client, desk(revision, begun)) as client:
        with pytest.raises(PeerError, match=r"tools/call needs the capability client\.elicitation\.form, ") as caught:
            await client.call_tool(name="ask")
        assert caught.value.code == -32600
        assert caught.value.data == {"requiredCapabilities": {"elicitation": {"form": {}}}}
        await client.call_tool(name="greet")
    options = ClientOptions(roots=["file:///home"], capabilities={"elicitation": {}})
    async with together(bindings(revision).Client, desk(revision, begun), options=options) as client:
        with pytest.raises(PeerError, match=r"needs the capability client\.sampling, "):
            await client.call_tool(name="ask a model")
        await client.get_prompt(name="blocking")
    assert begun == ["greet", "blocking"]


def test_mistakes_are_found_when_the_class_is_made() -> None:
    names: Any = "ask"
    with pytest.raises(TypeError, match=r"as \['ask'\]"):
        requires("roots", only=names)
    for nothing in ((), ("",)):
        with pytest.raises(ValueError, match="path of a capability"):
            requires(*nothing)


def test_the_error_survives_pickling() -> None:
    error = MissingCapability("client.sampling", "tools/call", "client.roots")
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.capabilities) == (str(error), ("client.sampling", "client.roots"))
