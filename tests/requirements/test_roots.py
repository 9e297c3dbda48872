"""Roots (client/roots): where a server may work."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from mcp_runtime.client_features.roots import PathRefused, Roots
from mcp_runtime.core.errors import MissingCapability
from support.roles import answering, make_handlers, make_server, raises
from support.talk import MODERN, raw, talk

pytestmark = pytest.mark.usefixtures("virtual_time")

requirement = pytest.mark.requirement
CHANGED = "notifications/roots/list_changed"
LIST = "roots/list"


@requirement("roots.declared")
async def test_clients_with_roots_declare_them(revision: str) -> None:
    async with answering(revision, roots=["file:///one"]) as server:
        assert server.declared == {"roots": {} if revision == MODERN else {"listChanged": True}}
        answer = await server.ask(LIST)
        assert answer["result"] == {"roots": [{"uri": "file:///one"}]}
    async with answering(revision) as server:
        assert server.declared == {}
        assert "error" in await server.ask(LIST)


@requirement("roots.list-changed")
async def test_changed_roots_are_announced(revision: str) -> None:
    async with answering(revision, roots=["file:///one"]) as server:
        await server.client.set_roots(["file:///two"])
        assert server.got[-1] == {"jsonrpc": "2.0", "method": CHANGED}
        assert (await server.ask(LIST))["result"] == {"roots": [{"uri": "file:///two"}]}


@requirement("roots.file-uris", "roots.uris-validated")
@pytest.mark.parametrize(
    "uri", ["https://x/y", "/tmp", "file:tmp", "file:///a/../b", "file:///%2e%2e/b", "file:///a%2Fb"]
)
async def test_roots_must_be_plain_file_uris(revision: str, uri: str) -> None:
    with pytest.raises(ValueError, match="file URI"):
        async with answering(revision, roots=[uri]):
            pass
    async with answering(revision, roots=[]) as server:
        before = len(server.got)
        with pytest.raises(ValueError, match="file URI"):
            await server.client.set_roots(["file:///good", uri])
        assert len(server.got) == before
        assert (await server.ask(LIST))["result"] == {"roots": []}


@requirement("roots.not-supported")
async def test_clients_without_roots_refuse_the_request(revision: str) -> None:
    async with answering(revision) as server:
        assert (await server.ask(LIST))["error"]["code"] == -32601


@requirement("roots.internal-error")
async def test_internal_errors_are_not_exposed(revision: str) -> None:
    async with answering(revision, handlers=make_handlers(revision, list_roots=raises(OSError("secret")))) as server:
        assert (await server.ask(LIST))["error"] == {"code": -32603, "message": "internal error"}


@requirement("roots.boundaries", "roots.unavailable")
async def test_paths_inside_are_found_and_others_refused(revision: str, tmp_path: Path) -> None:
    inside, outside = tmp_path / "in", tmp_path / "out"
    for folder in (inside, outside):
        folder.mkdir()
        (folder / "x").write_text("x", "utf-8")
    (inside / "link").symlink_to(outside)
    gone = (tmp_path / "gone").as_uri()
    async with talk(make_server(revision), roots=[gone, inside.as_uri()]) as both:
        roots = Roots.of(both.server)
        assert await roots.resolve("x") == inside / "x"
        for path in ("../out/x", str(outside / "x"), "link/x", "..%2fout/x", (outside / "x").as_uri(), "x\0"):
            with pytest.raises(PathRefused):
                await roots.resolve(path)


@requirement("roots.unavailable")
async def test_an_unavailable_list_of_roots_does_no_harm(revision: str) -> None:
    async with raw(make_server(revision)) as line:
        await line.shake_hands(revision, roots={})
        asking = asyncio.create_task(Roots.of(line.server).list())
        await asyncio.sleep(0.01)
        wrong: list[Any] = [{"uri": "https://example.com"}, {"uri": "file:///good"}]
        line.tell(id=line.got[-1]["id"], result={"roots": wrong})
        assert [root.uri for root in await asking] == ["file:///good"]
        assert (await line.ask("ping", id_=9))["result"] == {}


@requirement("roots.capability-checked")
async def test_a_client_without_roots_is_not_asked(revision: str) -> None:
    async with raw(make_server(revision)) as line:
        await line.shake_hands(revision)
        with pytest.raises(MissingCapability, match=r"client\.roots"):
            await Roots.of(line.server).list()
        assert LIST not in [message.get("method") for message in line.got]


@requirement("roots.changes-handled", "roots.cached")
async def test_roots_are_kept_until_they_change(revision: str) -> None:
    async with talk(make_server(revision), roots=["file:///one"]) as both:
        roots = Roots.of(both.server)
        for _ in range(3):
            assert [root.uri for root in await roots.list()] == ["file:///one"]
        await both.client.set_roots(["file:///two"])
        await asyncio.sleep(0.01)
        for _ in range(3):
            assert [root.uri for root in await roots.list()] == ["file:///two"]
        assert [message["method"] for message in both.received if "method" in message] == [LIST, LIST]
