"""Prompts (server/prompts)."""

import asyncio
from typing import Any

import pytest

from mcp_runtime.core.changes.subscriptions import list_changed
from mcp_runtime.core.errors import MissingCapability, PeerError, RemoteProtocolError
from mcp_runtime.core.settings import ServerOptions
from mcp_runtime.middleware.validate import Validate
from support.roles import TEXT, answering, make_server, raises, returns
from support.talk import raw, talk

requirement = pytest.mark.requirement
NONE = returns("ListPromptsResult", prompts=[])


@requirement("prompts.declared")
async def test_servers_with_prompts_declare_them(revision: str) -> None:
    async with raw(make_server(revision, list_prompts=NONE)) as line:
        assert (await line.shake_hands(revision))["capabilities"]["prompts"] == {}
    async with raw(make_server(revision)) as line:
        assert "prompts" not in (await line.shake_hands(revision))["capabilities"]


@requirement("prompts.list-changed")
async def test_clients_are_notified_of_a_changed_list_if_declared(revision: str) -> None:
    server = make_server(revision, ServerOptions(list_changed=True), list_prompts=NONE)
    async with raw(server) as line:
        await line.shake_hands(revision)
        assert await list_changed(server, "prompts") == 1
        assert line.got[-1]["method"] == "notifications/prompts/list_changed"


async def got(revision: str, content: dict[str, Any]) -> Any:
    """Return how a client reads a prompt with some content, as a third-party server might send it."""
    async with answering(revision, capabilities={"prompts": {}}) as server:
        call = asyncio.create_task(server.client.get_prompt(name="p"))
        asked = await server.asked("prompts/get")
        server.tell(id=asked["id"], result={"messages": [{"role": "user", "content": content}]})
        return (await call).messages[0].content


@requirement("prompts.image")
async def test_an_image_has_data_and_a_type(revision: str) -> None:
    image = {"type": "image", "data": "AAEC", "mimeType": "image/png"}
    assert (await got(revision, image)).data == "AAEC"
    for missing in ("data", "mimeType"):
        with pytest.raises(RemoteProtocolError, match="/messages/0/content"):
            await got(revision, {name: value for name, value in image.items() if name != missing})


@requirement("prompts.audio")
async def test_audio_has_data_and_a_type(revision: str) -> None:
    audio = {"type": "audio", "data": "AAEC", "mimeType": "audio/wav"}
    assert (await got(revision, audio)).data == "AAEC"
    for missing in ("data", "mimeType"):
        with pytest.raises(RemoteProtocolError, match="/messages/0/content"):
            await got(revision, {name: value for name, value in audio.items() if name != missing})


@requirement("prompts.embedded-resource")
async def test_an_embedded_resource_has_a_uri_and_contents(revision: str) -> None:
    for member in ("text", "blob"):
        whole = {"uri": "x:y", "mimeType": "text/plain", member: "AAEC"}
        assert (await got(revision, {"type": "resource", "resource": whole})).resource.uri == "x:y"
        for missing in ("uri", member):
            part = {name: value for name, value in whole.items() if name != missing}
            with pytest.raises(RemoteProtocolError, match="/messages/0/content"):
                await got(revision, {"type": "resource", "resource": part})


@requirement("prompts.unknown")
async def test_a_handler_reports_a_missing_prompt(revision: str) -> None:
    async with raw(make_server(revision, get_prompt=raises(PeerError(-32602, "unknown prompt")))) as line:
        await line.shake_hands(revision)
        assert (await line.ask("prompts/get", {"name": "x"}))["error"]["code"] == -32602


@requirement("prompts.missing-arguments", "prompts.arguments-validated")
async def test_arguments_are_checked_before_the_handler_sees_them(revision: str) -> None:
    arguments = [{"name": "code", "required": True}, {"name": "style"}]
    server = make_server(
        revision,
        ServerOptions(middleware=(Validate(),)),
        list_prompts=returns("ListPromptsResult", prompts=[{"name": "explain", "arguments": arguments}]),
        get_prompt=returns("GetPromptResult", messages=[{"role": "user", "content": TEXT}]),
    )
    async with raw(server) as line:
        await line.shake_hands(revision)
        for id_, given in enumerate(({}, {"style": "s"}, {"code": 7}, {"code": "c"})):
            answer = await line.ask("prompts/get", {"name": "explain", "arguments": given}, id_=id_)
            assert ("result" in answer) is (given == {"code": "c"})
            assert "result" in answer or answer["error"]["code"] == -32602


@requirement("prompts.internal-error")
async def test_internal_errors_are_not_exposed(revision: str) -> None:
    async with raw(make_server(revision, get_prompt=raises(KeyError("the password is hunter2")))) as line:
        await line.shake_hands(revision)
        answer = await line.ask("prompts/get", {"name": "x"})
        assert answer["error"] == {"code": -32603, "message": "internal error"}


@requirement("prompts.paginated")
async def test_all_pages_of_prompts_are_read(revision: str) -> None:
    async def list_prompts(self: Any, params: Any, ctx: Any) -> Any:
        number = int(params.cursor) if params and params.cursor else 0
        more = {"nextCursor": str(number + 1)} if number < 4 else {}
        return await returns("ListPromptsResult", prompts=[{"name": f"p{number}"}], **more)(self, params, ctx)

    async with talk(make_server(revision, list_prompts=list_prompts)) as both:
        assert [prompt.name async for prompt in both.client.iter_prompts()] == ["p0", "p1", "p2", "p3", "p4"]


@requirement("prompts.negotiated")
async def test_prompts_that_were_not_declared_are_neither_asked_for_nor_answered(revision: str) -> None:
    async with talk(make_server(revision)) as both:
        with pytest.raises(MissingCapability, match=r"server\.prompts"):
            await both.client.get_prompt(name="x")
    async with raw(make_server(revision)) as line:
        await line.shake_hands(revision)
        assert (await line.ask("prompts/get", {"name": "x"}))["error"]["code"] == -32601
