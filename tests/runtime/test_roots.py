"""Roots: what a client may declare, what its server keeps of them, and which paths are inside."""

import asyncio
import os
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

import pytest

from mcp_bindings import v2025_06_18
from mcp_bindings import v2025_11_25 as v
from mcp_bindings.v2025_11_25.errors import InvalidParamsError
from mcp_runtime.client_features.roots import PathRefused, Roots, inside
from mcp_runtime.core.errors import LocalProtocolError, MissingCapability
from mcp_runtime.core.handshake.client import Peer
from mcp_runtime.core.handshake.server import start_server
from mcp_runtime.core.protocol.uris import UnsafePath, read_path
from mcp_runtime.core.settings import ClientOptions, ServerOptions
from mcp_runtime.memory import memory_pair
from mcp_runtime.opening import open_any
from support.own import own
from support.talk import LEGACY, Talk, bindings, raw, talk

pytestmark = pytest.mark.usefixtures("virtual_time")


class Empty(v.Server):
    options = ServerOptions(name="empty")

    def __init__(self) -> None:
        self.notified = 0

    async def on_roots_list_changed(self, params: v.NotificationParams | None, ctx: v.Context) -> None:
        self.notified += 1


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Two roots, `one` and `two`, and files outside of them, with links that lead out and in."""
    for name in ("one/src", "two", "out/deep"):
        (tmp_path / name).mkdir(parents=True)
    for name in (
        "one/src/a.py",
        "one/both.txt",
        "two/both.txt",
        "two/only.txt",
        "out/secret",
        "one/100%.txt",
        "one/ü ñ",
    ):
        (tmp_path / name).write_text(name)
    (tmp_path / "one" / "escape").symlink_to(tmp_path / "out")
    (tmp_path / "one" / "file-escape").symlink_to(tmp_path / "out" / "secret")
    (tmp_path / "one" / "relative-escape").symlink_to("../out/secret")
    (tmp_path / "one" / "inner").symlink_to(tmp_path / "one" / "src")
    (tmp_path / "one" / "loop").symlink_to(tmp_path / "one" / "loop")
    (tmp_path / "one" / "dangling").symlink_to(tmp_path / "out" / "not yet")
    (tmp_path / "one" / "proc").symlink_to("/proc/self/root")
    (tmp_path / "out" / "in").symlink_to(tmp_path / "one" / "src")
    (tmp_path / "one-more").mkdir()
    (tmp_path / "one-more" / "secret").write_text("a neighbour whose name begins alike")
    (tmp_path / "link").symlink_to(tmp_path / "one")
    return tmp_path


def listed(both: Talk) -> int:
    return sum(1 for message in both.received if message.get("method") == "roots/list")


class TestResolving:
    @pytest.mark.parametrize(
        ("asked", "found"),
        [
            ("src/a.py", "one/src/a.py"),
            ("./src//a.py", "one/src/a.py"),
            ("{}/one/src/a.py", "one/src/a.py"),
            ("file://{}/one/src/a.py", "one/src/a.py"),
            ("file://localhost{}/two/only.txt", "two/only.txt"),
            ("file://{}/one/%C3%BC%20%C3%B1", "one/ü ñ"),
            ("file://{}/one/100%25.txt", "one/100%.txt"),
            ("inner/a.py", "one/src/a.py"),
            ("{}/out/in/a.py", "one/src/a.py"),
            ("{}/link/src/a.py", "one/src/a.py"),
            ("both.txt", "one/both.txt"),
            ("only.txt", "two/only.txt"),
            ("new/file.txt", "one/new/file.txt"),
            ("{}/two", "two"),
        ],
    )
    async def test_paths_inside_are_resolved(self, tree: Path, asked: str, found: str) -> None:
        async with talk(Empty(), roots=[f"file://{tree}/one", f"file://{tree}/two"]) as both:
            assert await Roots.of(both.server).resolve(asked.format(tree)) == tree / found

    @pytest.mark.parametrize(
        "asked",
        [
            "../out/secret",
            "src/../../out/secret",
            "src/..",
            "{}/one/../out/secret",
            "{}/out/secret",
            "/etc/passwd",
            "{}/one-more/secret",
            "{}",
            "escape/secret",
            "escape/new",
            "file-escape",
            "relative-escape",
            "dangling",
            "proc/etc/passwd",
            "file://{}/out/secret",
            "file://{}/one/../out/secret",
            "file://{}/one/%2e%2e/out/secret",
            "file://{}/one/%2E./out/secret",
            "file://{}/one/..%2fout/secret",
            "file://{}/one/..%5cout",
            "file://{}/one/%252e%252e/out/secret",
            "file://{}/one/a%00",
            "file://elsewhere{}/one/src/a.py",
            "file:{}/one/src/a.py?x",
            "file://{}/one/src/a.py#x",
            "file://{}/one/%ff",
            "file:src/a.py",
            "file:////{}/one",
            "http://localhost{}/one/src/a.py",
            "%2e%2e/out/secret",
            "src%2fa.py",
            "..\\out\\secret",
            "C:\\Windows",
            "C:src",
            "\\\\server\\share",
            "a\0b",
            "a\nb",
            "",
            "x" * 10_000,
        ],
    )
    async def test_paths_that_lead_out_are_refused(self, tree: Path, asked: str) -> None:
        async with talk(Empty(), roots=[f"file://{tree}/one", f"file://{tree}/two"]) as both:
            with pytest.raises(PathRefused) as raised:
                await Roots.of(both.server).resolve(asked.replace("{}", str(tree)))
            assert raised.value.code == -32602
            assert str(tree) not in str(raised.value)

    @pytest.mark.parametrize("asked", ["a" * 300, "a/" * 3_000, "x" * 300 + "/../y", "\u00fc" * 200])
    async def test_impossible_paths_are_refused(self, tree: Path, asked: str) -> None:
        async with talk(Empty(), roots=[f"file://{tree}/one"]) as both:
            roots = Roots.of(both.server)
            for path in (asked, f"{tree}/one/{asked}"):
                with pytest.raises(PathRefused):
                    await roots.resolve(path)

    async def test_a_loop_cannot_be_opened(self, tree: Path) -> None:
        async with talk(Empty(), roots=[f"file://{tree}/one"]) as both:
            with pytest.raises(OSError, match="symbolic links"):
                (await Roots.of(both.server).resolve("loop/x")).read_text()

    async def test_a_root_that_is_a_file_or_gone(self, tree: Path) -> None:
        async with talk(Empty(), roots=[f"file://{tree}/two/only.txt", f"file://{tree}/gone"]) as both:
            roots = Roots.of(both.server)
            assert await roots.resolve(f"{tree}/two/only.txt") == tree / "two" / "only.txt"
            assert await roots.resolve("only.txt") == tree / "gone" / "only.txt"
            with pytest.raises(PathRefused):
                await roots.resolve(f"{tree}/two/both.txt")

    def test_without_roots_no_path_is_inside(self, tree: Path) -> None:
        assert inside(tree, []) is None
        assert inside(Path("a"), []) is None

    async def test_a_handler_may_let_the_refusal_pass(self, tree: Path) -> None:
        class Reader(v.Server):
            async def call_tool(
                self, params: v.CallToolRequestParams, ctx: v.Context
            ) -> v.CallToolResult | v.CreateTaskResult:
                path = await Roots.of(ctx.connection).resolve(params.name)
                return v.CallToolResult(content=[v.TextContent(text=path.read_text())])

        async with talk(Reader(), roots=[f"file://{tree}/one"]) as both:
            assert (await both.client.call_tool(name="both.txt")).content[0].text == "one/both.txt"
            with pytest.raises(InvalidParamsError, match="outside the roots"):
                await both.client.call_tool(name="/etc/passwd")


class TestSpelling:
    @pytest.mark.parametrize(
        ("text", "meant"),
        [
            ("file:///C:/Users/me", "C:\\Users\\me"),
            ("file:///c%3A/Users/me", "c:\\Users\\me"),
            ("file:///C:", "C:\\"),
            ("C:\\Users\\me", "C:\\Users\\me"),
            ("C:/Users/me", "C:\\Users\\me"),
            ("src\\a.py", "src\\a.py"),
            ("src/a.py", "src\\a.py"),
        ],
    )
    def test_drives_of_windows(self, text: str, meant: str) -> None:
        assert read_path(text, PureWindowsPath) == PureWindowsPath(meant)

    @pytest.mark.parametrize(
        "text",
        [
            "file:///Users/me",
            "file:////server/share",
            "file://server/share",
            "file:///C|/x",
            "file:///C:x",
            "file:///C:/a/%5c../b",
            "\\\\server\\share",
            "\\\\?\\C:\\x",
            "//server/share",
            "\\x",
            "C:x",
            "C:\\a\\..\\b",
            "a/../b",
            "C:\\a\\.. \\b",
            "C:\\a\\...\\b",
            "C:\\a.txt:stream",
            "C:\\a\\nul",
            "con.txt",
            "C:\\COM1.log",
        ],
    )
    def test_paths_windows_interprets_differently(self, text: str) -> None:
        with pytest.raises(UnsafePath):
            read_path(text, PureWindowsPath)

    def test_leading_slashes_are_merged(self) -> None:
        assert read_path("//etc//x", PurePosixPath) == PurePosixPath("/etc/x")
        assert str(read_path("//etc//x", PurePosixPath)) == "/etc/x"


class TestKeeping:
    async def test_roots_are_requested_once_until_they_change(self) -> None:
        server = Empty()
        async with talk(server, roots=["file:///one"]) as both:
            roots = Roots.of(both.server)
            assert Roots.of(both.server) is roots
            for _ in range(3):
                for found in await asyncio.gather(roots.list(), roots.list()):
                    assert [each.uri for each in found] == ["file:///one"]
            assert listed(both) == 1
            await both.client.set_roots([v.Root(uri="file:///two", name="Two")])
            await asyncio.sleep(0)
            [root] = await roots.list()
            assert (root.path, root.name) == (Path("/two"), "Two")
            assert listed(both) == 2 and server.notified == 1

    @pytest.mark.parametrize("revision", LEGACY)
    async def test_roots_work_in_every_revision(self, revision: str) -> None:
        package = bindings(revision)

        class Plain(package.Server):  # type: ignore[name-defined,misc]
            pass

        async with talk(Plain(), roots=["file:///one"]) as both:
            assert [root.path for root in await Roots.of(both.server).list()] == [Path("/one")]

    async def test_roots_are_served_in_the_negotiated_revision(self) -> None:
        here, there = memory_pair()
        server = await start_server(there, own(v2025_06_18.Server()))
        options = ClientOptions(roots=["file:///one"])
        client = await open_any(Peer(here), v.Client, v2025_06_18.Client, options=options)
        assert isinstance(client, v2025_06_18.Client)
        assert [root.path for root in await Roots.of(server).list()] == [Path("/one")]
        answer: Any = client.connection.handler("roots/list")
        assert isinstance(await answer(None, None), v2025_06_18.ListRootsResult)
        await client.connection.aclose()

    async def test_clients_without_change_notifications_are_asked_each_time(self) -> None:
        async with raw(Empty()) as line:
            await line.shake_hands("2025-11-25", roots={})
            for number in (1, 2):
                asking = asyncio.create_task(Roots.of(line.server).list())
                await asyncio.sleep(0)
                await asyncio.sleep(0)
                request = line.got[-1]
                assert request["method"] == "roots/list"
                line.tell(id=request["id"], result={"roots": [{"uri": f"file:///{number}"}]})
                assert [root.path for root in await asking] == [Path(f"/{number}")]

    async def test_roots_that_changed_in_the_meantime_are_requested_again(self) -> None:
        async with raw(Empty()) as line:
            await line.shake_hands("2025-11-25", roots={"listChanged": True})
            asking = asyncio.create_task(Roots.of(line.server).list())
            for uri in ("file:///old", "file:///new"):
                await asyncio.sleep(0.01)
                request = line.got[-1]
                if uri == "file:///old":
                    line.tell(method="notifications/roots/list_changed")
                    await asyncio.sleep(0.01)
                line.tell(id=request["id"], result={"roots": [{"uri": uri}]})
            assert [root.uri for root in await asking] == ["file:///new"]

    @pytest.mark.parametrize("changes", [1, 2, 3, 50])
    async def test_roots_that_never_stop_changing_are_requested_three_times(self, changes: int) -> None:
        async with raw(Empty()) as line:
            await line.shake_hands("2025-11-25", roots={"listChanged": True})
            roots = Roots.of(line.server)

            async def answer() -> int:
                asking, asked = asyncio.create_task(roots.list()), 0
                while not asking.done():
                    if (request := line.got[-1]).get("method") == "roots/list" and request["id"] not in seen:
                        seen.add(request["id"])
                        asked += 1
                        if len(seen) <= changes:
                            line.tell(method="notifications/roots/list_changed")
                        line.tell(id=request["id"], result={"roots": [{"uri": f"file:///{len(seen)}"}]})
                    await asyncio.sleep(0.01)
                assert [root.uri for root in await asking] == [f"file:///{len(seen)}"], "the last answer"
                return asked

            seen = set[Any]()
            assert await answer() == min(changes + 1, 3)
            assert (await answer() == 0) is (changes < 3), "roots that changed meanwhile are not kept"

    async def test_roots_must_be_file_uris(self) -> None:
        async with raw(Empty()) as line:
            await line.shake_hands("2025-11-25", roots={})
            asking = asyncio.create_task(Roots.of(line.server).list())
            await asyncio.sleep(0.01)
            wrong: list[Any] = ["https://example.com/x", "file://host/x", "file:///a/../b", "file:///%2e%2e", "/x"]
            uris = [{"uri": uri} for uri in [*wrong, "file:///good"]]
            line.tell(id=line.got[-1]["id"], result={"roots": uris})
            assert [root.uri for root in await asking] == ["file:///good"]
            (error,) = line.errors
            assert "5 roots were left out: not a file URI" in str(error)

    @pytest.mark.slow
    async def test_roots_beyond_the_limit_are_dropped(self) -> None:
        async with raw(Empty()) as line:
            await line.shake_hands("2025-11-25", roots={})
            asking = asyncio.create_task(Roots.of(line.server).list())
            await asyncio.sleep(0.01)
            line.tell(id=line.got[-1]["id"], result={"roots": [{"uri": f"file:///{n}"} for n in range(50_000)]})
            assert len(await asking) == 1_000
            assert [str(error) for error in line.errors] == [
                "roots/list of 2025-11-25: /roots: 49000 roots were left out: there are more than 1,000"
            ]

    async def test_a_client_without_roots_is_not_asked(self) -> None:
        async with talk(Empty()) as both:
            with pytest.raises(MissingCapability, match=r"client\.roots"):
                await Roots.of(both.server).resolve("x")
            assert listed(both) == 0

    async def test_roots_of_a_client_connection_are_an_error(self) -> None:
        async with talk(Empty(), roots=[]) as both:
            with pytest.raises(ValueError, match="client"):
                Roots.of(both.client.connection)


class TestDeclaring:
    @pytest.mark.parametrize(
        "uri", ["/tmp", "https://x/y", "file:tmp", "file://host/tmp", "file:///a/../b", "file:///%2e%2e/b"]
    )
    async def test_only_plain_file_uris_are_accepted(self, uri: str) -> None:
        with pytest.raises(ValueError, match="file URI"):
            async with talk(Empty(), roots=[uri]):
                pass

    async def test_set_roots_needs_roots(self) -> None:
        async with talk(Empty()) as both:
            with pytest.raises(LocalProtocolError, match="open it with"):
                await both.client.set_roots([])


@pytest.mark.skipif(os.name != "posix", reason="the names below exist on POSIX")
def test_a_path_of_this_system() -> None:
    assert inside(Path("/dev/null"), [Path("/dev")]) == Path("/dev/null")
