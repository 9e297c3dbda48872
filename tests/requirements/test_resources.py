"""Resources (server/resources)."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from mcp_runtime.client_features.roots import Roots
from mcp_runtime.core.changes.subscriptions import list_changed
from mcp_runtime.core.errors import PeerError
from mcp_runtime.core.settings import ServerOptions
from support.roles import build, make_server, raises, returns
from support.talk import MODERN, bindings, raw, talk

requirement = pytest.mark.requirement


@requirement("resources.declared")
async def test_servers_with_resources_declare_them_and_their_features(revision: str) -> None:
    listed = {"list_resources": returns("ListResourcesResult", resources=[])}
    cases: list[tuple[dict[str, Any], ServerOptions | None, Any]] = [
        ({}, None, None),
        (listed, None, {}),
        (listed, ServerOptions(list_changed=frozenset({"resources"})), {"listChanged": True}),
    ]
    if revision == MODERN:
        cases.append((listed, ServerOptions(resource_updates=True), {"subscribe": True}))
    else:
        cases.append(({**listed, "subscribe": returns("EmptyResult")}, None, {"subscribe": True}))
    for handlers, options, declared in cases:
        async with raw(make_server(revision, options, **handlers)) as line:
            assert (await line.shake_hands(revision))["capabilities"].get("resources") == declared


@requirement("resources.list-changed")
async def test_clients_are_notified_of_a_changed_list_if_declared(revision: str) -> None:
    handler = returns("ListResourcesResult", resources=[])
    server = make_server(revision, ServerOptions(list_changed=True), list_resources=handler)
    async with raw(server) as line:
        await line.shake_hands(revision)
        assert await list_changed(server, "resources") == 1
        assert line.got[-1]["method"] == "notifications/resources/list_changed"


@requirement("resources.not-found")
async def test_a_handler_reports_a_missing_resource(revision: str) -> None:
    error = PeerError(-32002, "not found", {"uri": "file:///x"})
    async with raw(make_server(revision, read_resource=raises(error))) as line:
        await line.shake_hands(revision)
        answer = await line.ask("resources/read", {"uri": "file:///x"})
        assert answer["error"] == {"code": -32002, "message": "not found", "data": {"uri": "file:///x"}}


@requirement("resources.unknown")
@pytest.mark.parametrize("code", [-32002, -32602])
async def test_a_resource_that_does_not_exist_has_one_code_in_the_modern_era(revision: str, code: int) -> None:
    """A handler may still raise the code of earlier revisions."""
    error = PeerError(code, "not found", {"uri": "file:///x"})
    async with raw(make_server(revision, read_resource=raises(error))) as line:
        await line.shake_hands(revision)
        answer = await line.ask("resources/read", {"uri": "file:///x"})
        assert answer["error"] == {"code": -32602, "message": "not found", "data": {"uri": "file:///x"}}


@requirement("resources.paths")
async def test_no_path_leads_out_of_the_served_folder(revision: str, tmp_path: Path) -> None:
    inside, outside = tmp_path / "in", tmp_path / "out"
    for folder in (inside, outside):
        folder.mkdir()
        (folder / "x").write_text(folder.name, "utf-8")
    (inside / "link").symlink_to(outside)

    async def read_resource(self: Any, params: Any, ctx: Any) -> Any:
        path = await Roots.of(ctx.connection).resolve(params.uri)
        return build(revision, "ReadResourceResult", contents=[{"uri": params.uri, "text": path.read_text("utf-8")}])

    listed = returns("ListResourcesResult", resources=[])
    server = make_server(revision, read_resource=read_resource, list_resources=listed)
    async with talk(server, roots=[inside.as_uri()]) as both:
        [found] = (await both.client.read_resource(uri=(inside / "x").as_uri())).contents
        assert found.text == "in"
        for path in ((outside / "x").as_uri(), f"{inside.as_uri()}/%2e%2e/out/x", f"{inside.as_uri()}/link/x"):
            with pytest.raises(PeerError) as refused:
                await both.client.read_resource(uri=path)
            assert refused.value.code == -32602


@requirement("resources.internal-error")
async def test_internal_errors_are_not_exposed(revision: str) -> None:
    async with raw(make_server(revision, read_resource=raises(OSError("the disk is on fire")))) as line:
        await line.shake_hands(revision)
        answer = await line.ask("resources/read", {"uri": "file:///x"})
        assert answer["error"] == {"code": -32603, "message": "internal error"}


@requirement("resources.binary-encoded")
async def test_bytes_are_sent_as_base64_and_arrive_unchanged(revision: str) -> None:
    data = bytes(range(256))
    with pytest.raises(ValidationError):
        bindings(revision).BlobResourceContents(uri="file:///x", blob=data)
    blob = base64.b64encode(data).decode()
    contents = [{"uri": "file:///x", "blob": blob}]
    async with talk(make_server(revision, read_resource=returns("ReadResourceResult", contents=contents))) as both:
        [found] = (await both.client.read_resource(uri="file:///x")).contents
        assert base64.b64decode(found.blob) == data
        assert found == build(revision, "BlobResourceContents", **contents[0])


@requirement("resources.binary-encoded")
@pytest.mark.parametrize("blob", ["%%%", "YQ", "bytes as they are", "YWJj\nYWJj"])
async def test_invalid_base64_is_not_sent(revision: str, blob: str) -> None:
    contents = [{"uri": "file:///x", "text": "fine"}, {"uri": "file:///x", "blob": blob}]
    async with raw(make_server(revision, read_resource=returns("ReadResourceResult", contents=contents))) as line:
        await line.shake_hands(revision)
        answer = await line.ask("resources/read", {"uri": "file:///x"})
        assert answer["error"]["code"] == -32603 and blob not in json.dumps(line.got)
