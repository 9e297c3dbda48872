"""A host with real servers: dead and hanging ones harm nobody, lost ones come back, and no call goes astray."""

import asyncio
import json
import os
import random
import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest

from host.serving import InMemory, app_of, program
from mcp_bindings import App, Client
from mcp_bindings import v2025_06_18 as legacy
from mcp_bindings import v2026_07_28 as modern
from mcp_runtime.core.connection import Exchange
from mcp_runtime.core.connection.calls import Proceed
from mcp_runtime.core.options import CacheHint
from mcp_runtime.core.settings import ClientOptions, ServerOptions
from mcp_runtime.host import (
    ConfigurationError,
    Decision,
    Host,
    HostFailed,
    Refused,
    ServerEntry,
    ServerUnavailable,
    ToolCall,
    allow_all,
    ask_unless_read_only,
    read_only,
)
from support.stdio_peers import eventually


def host_of(servers: Mapping[str, Any], client: type[Any] = Client, **options: Any) -> Host[Any]:
    return Host.from_mapping({"mcpServers": servers}, client, policy=allow_all, **options)


def children() -> int:
    """Return how many processes this one has started that still run."""
    found = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            found += int(path.read_text().rpartition(")")[2].split()[1]) == os.getpid()
        except OSError:
            continue
    return found


@pytest.mark.parametrize("client", [Client, legacy.Client])
async def test_a_model_calls_tools_of_several_servers(client: type[Any]) -> None:
    async with host_of({"one": program("good", "1"), "two": program("good", "2")}, client) as host:
        view = host.view(allow=["one__*", "two__add"])
        assert [tool["name"] for tool in view.for_anthropic()] == sorted([*view.tools])
        assert (await view.call("one__whoami", "{}")).for_openai("c")["output"] == "1"
        sum_ = await view.call("two__add", {"a": 1, "b": None})  # null, since strict mode has no absent ones
        assert sum_.for_anthropic("c") == {
            "type": "tool_result",
            "tool_use_id": "c",
            "content": [{"type": "text", "text": "3"}],
            "is_error": False,
        }
        assert sum_.result.structured_content == {"result": 3}
        assert (await view.call("two__whoami", {})).text() == "There is no tool two__whoami."
        wrong = await view.call("two__add", '{"a": "x"}')
        assert wrong.for_gemini() == {
            "functionResponse": {
                "name": "two__add",
                "response": {"error": "The arguments of two__add are wrong: /a: 'x' is not of type 'integer'"},
            }
        }
        assert host.servers["one"].revision
        assert next(iter(view.search("add numbers").tools)) in ("one__add", "two__add")


@pytest.mark.slow
async def test_a_server_that_fails_harms_no_other() -> None:
    bad = {kind: program(kind, kind, startup_timeout=1.5) for kind in ("dead", "hanging", "flooding", "slow")}
    good = {f"good{number}": program("good", str(number)) for number in range(3)}
    before = children()
    async with host_of({**bad, **good, "off": {"disabled": True}, "none": {"command": "/no/such"}}, wait=20) as host:
        states = {name: server.state for name, server in host.servers.items()}
        assert {name for name, state in states.items() if state == "ready"} == set(good)
        assert states["off"] == "disabled"
        assert "no such luck" in (host.servers["dead"].error or "")
        assert "not ready within 1.5 s" in (host.servers["hanging"].error or "")
        assert "/no/such" in (host.servers["none"].error or "")
        view = host.view()
        answers = [(await view.call(f"{name}__whoami", {})).text() for name in good]
        assert answers == ["0", "1", "2"]
    assert children() == before


@pytest.mark.slow
async def test_a_required_server_that_fails_ends_the_host() -> None:
    before = children()
    with pytest.raises(HostFailed, match=r"dead is required, but failed: .*no such luck"):
        async with host_of({"good": program("good", "1"), "dead": program("dead", "x", required=True)}):
            raise AssertionError
    assert children() == before


@pytest.mark.slow
async def test_a_lost_server_comes_back_and_says_why_meanwhile(tmp_path: Path) -> None:
    async with host_of({"one": program("good", "1", trusted=True)}) as host:
        view = host.view()
        lost = await view.call("one__die", {})
        assert lost.is_error
        assert "exited with status 3" in lost.text()
        assert "one is not connected" in (await view.call("one__whoami", {})).text()
        await host.servers["one"].ready(30)
        assert (await view.call("one__whoami", {})).text() == "1"
        marker = tmp_path / "died"
        repeated = await view.call("one__die_once", {"path": str(marker)}, retry=True)
        assert repeated.text() == "alive"
        marker.unlink()
        assert (await view.call("one__die_once", {"path": str(marker)})).is_error  # nobody allowed it
        await host.servers["one"].ready(30)
        assert (await view.call("one__die", {}, retry=True)).is_error  # the tool does not say that it may be repeated


@pytest.mark.parametrize("client", [Client, legacy.Client])
async def test_a_tool_that_a_call_adds_appears(client: type[Any]) -> None:
    async with host_of({"one": program("good", "1")}, client) as host:
        before = host.catalogue
        assert (await host.view().call("one__grow", {})).text() == "grown"
        await eventually(lambda: "one__more" in host.catalogue)
        assert host.catalogue.number > before.number
        assert "one__more" not in before.tools  # a snapshot
        assert (await host.view().call("one__more", {"q": "hi"})).text() == "hi"


async def test_lists_that_have_expired_are_fetched_again() -> None:
    class Listing(modern.Server):
        options = ServerOptions(cache={"tools/list": CacheHint(seconds=0.01)})

        async def list_tools(
            self, params: modern.PaginatedRequestParams, ctx: modern.Context
        ) -> modern.ListToolsResult:
            return modern.ListToolsResult(tools=[])

    listed = 0

    async def count(exchange: Exchange, proceed: Proceed) -> Any:
        nonlocal listed
        listed += exchange.method.name == "tools/list"
        return await proceed()

    entry_ = InMemory(name="s", command=("x",), make=Listing)
    async with Host([entry_], Client, options=ClientOptions(middleware=(count,)), policy=allow_all) as host:
        before = host.catalogue.number
        await asyncio.sleep(0.05)
        _ = host.catalogue
        await eventually(lambda: listed == 2)
        await asyncio.sleep(0.05)
        assert host.catalogue.number == before  # nothing else has changed


async def test_a_lazy_host_connects_a_server_when_it_is_used() -> None:
    async with host_of({"one": program("good", "1"), "two": program("good", "2")}, lazy=True) as host:
        assert {server.state for server in host.servers.values()} == {"waiting"}
        await host.use("one")
        assert (await host.view().call("one__whoami", {})).text() == "1"
        assert host.servers["two"].state == "waiting"


@pytest.mark.slow
async def test_cancelling_a_host_from_outside_leaves_no_process() -> None:
    before = children()

    async def agent(wait: float) -> None:
        async with host_of({name: program("good", name) for name in "abc"}, wait=wait):
            await asyncio.sleep(1000)

    for delay in (0.0, 0.05, 0.4):
        task = asyncio.create_task(agent(10 * delay))
        await asyncio.sleep(delay)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert children() == before


async def test_a_host_may_be_closed_by_another_task() -> None:
    host = host_of({"one": program("good", "1")})
    await asyncio.create_task(host.__aenter__())
    assert (await asyncio.create_task(host.view().call("one__whoami", {}))).text() == "1"
    await asyncio.create_task(host.aclose())
    assert host.servers["one"].state == "closed"
    assert "not connected" in (await host.view().call("one__whoami", {})).text()


def entry(name: str, **tools: Any) -> InMemory:
    return InMemory(name=name, command=("x",), make=lambda: app_of(name, tools))


def read() -> str:
    return "read"


def write(text: str = "") -> str:
    return f"wrote {text}"


async def test_a_policy_allows_refuses_changes_and_may_fail(caplog: pytest.LogCaptureFixture) -> None:
    seen: list[str] = []

    async def ask(call: ToolCall) -> Decision:
        seen.append(call.tool.name)
        match call.arguments:
            case {"text": "no"}:
                return Refused("Not today.")
            case {"text": "change"}:
                return ToolCall(tool=call.tool, arguments={"text": "changed"})
            case {"text": "bad"}:
                return ToolCall(tool=call.tool, arguments={"text": 5})
            case {"text": "fail"}:
                raise ValueError("secret")
            case _:
                return call.arguments.get("text") == "yes"

    async with Host([entry("s", read=read, write=write)], Client, policy=ask_unless_read_only(ask)) as host:
        view = host.view()
        answers = {
            word: (await view.call("s__write", {"text": word})).text() for word in ("yes", "no", "change", "bad")
        }
        assert answers == {
            "yes": "wrote yes",
            "no": "Not today.",
            "change": "wrote changed",
            "bad": "The policy made wrong arguments: /text: 5 is not of type 'string'",
        }
        failed = await view.call("s__write", {"text": "fail"})
        assert failed.text() == "The call was refused: the policy failed."
        assert isinstance(failed.error, ValueError)
        assert "s__write: the policy failed" in caplog.text
        assert (await view.call("s__write", {})).text() == "The call was refused."
        assert len(seen) == 6
    async with Host([entry("s", write=write)], Client, policy=read_only) as host:
        assert "only reading is allowed" in (await host.view().call("s__write", {})).text()


@pytest.mark.slow
async def test_a_server_is_approved_once_per_digest(tmp_path: Path) -> None:
    asked: list[str] = []
    kept = tmp_path / "approvals.json"

    def approve(given: ServerEntry) -> bool:
        asked.append(str(given))
        return given.name == "yes"

    servers = {"yes": program("good", "1"), "no": program("good", "--token=s3cr3t")}
    for _ in range(2):
        async with host_of(servers, approve=approve, approvals=kept) as host:
            assert host.servers["yes"].state == "ready"
            assert host.servers["no"].error == "its start was not approved"
    assert len(asked) == 2
    assert "s3cr3t" not in "".join(asked)
    assert sorted(json.loads(kept.read_text()).values()) == [False, True]
    async with host_of({"yes": program("good", "2")}, approve=approve, approvals=kept) as host:
        assert len(asked) == 3  # another command


@pytest.mark.slow
async def test_tools_that_differ_from_the_lock_file_are_withheld(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    lock = tmp_path / "tools.lock.json"
    async with host_of({"s": program("good", "1")}) as host:
        tools = [dict(tool.raw) for tool in host.catalogue.values()]
    for tool in tools:
        if tool["name"] == "add":
            tool["description"] = "Something else."
    lock.write_text(json.dumps({"format": 1, "server": {}, "tools": tools}))
    async with host_of({"s": program("good", "1", lock=str(lock))}) as host:
        assert host.servers["s"].withheld == ("add",)
        assert "s__add" not in host.catalogue
        assert "mcp-bindgen tools check" in caplog.text
        host.servers["s"].accept("add")
        await eventually(lambda: "s__add" in host.catalogue)
    lock.write_text("{")
    async with host_of({"s": program("good", "1", lock=str(lock))}) as host:
        assert f"{lock}: cannot be read" in (host.servers["s"].error or "")


async def test_a_server_asks_through_the_host_under_its_name() -> None:
    source = """
import sys
from mcp_bindings.v2025_06_18 import App, Context
app = App("x")
@app.tool()
async def roots(ctx: Context) -> str:
    '''List the roots.'''
    return str((await ctx.client.list_roots()).roots[0].uri)
app.run()
"""
    asked: list[str] = []

    async def roots(server: str, params: Any) -> Any:
        asked.append(server)
        return legacy.ListRootsResult(roots=[legacy.Root(uri="file:///srv")])

    servers = {"who": {"command": sys.executable, "args": ["-c", source]}}
    async with host_of(servers, legacy.Client, roots=roots) as host:
        answer = await host.view().call("who__roots", {})
        assert answer.text() == "file:///srv", answer
    assert asked == ["who"]
    from mcp_bindings import v2024_11_05

    with pytest.raises(ConfigurationError, match="2024-11-05 has no elicit"):
        host_of({}, v2024_11_05.Client, elicitation=roots)


def answering(text: str) -> Callable[[], Awaitable[str]]:
    async def answer() -> str:
        return text

    return answer


@cache
def naming(name: str, tools: tuple[str, ...]) -> App:
    """Return an app whose tools answer with its name and theirs."""
    return app_of(name, {tool: answering(f"{name} {tool}") for tool in tools})


@pytest.mark.slow
@pytest.mark.usefixtures("virtual_time")
async def test_no_call_reaches_a_wrong_server_in_whatever_order_things_happen(cases: int) -> None:
    """Connect, lose, change and call at random: an answer names the server and the tool that were meant."""
    seen: Counter[str] = Counter()
    for seed in range(max(20, cases // 10)):
        dice = random.Random(seed)
        names = dice.sample(["a", "a_", "a__b", "b", "b__c", "ä", "a.b", "x" * 40], 3)
        tools = dice.sample(["t", "_t", "b__t", "t_", "long" * 20, "t.u", "t/u"], 3)
        entries = [InMemory(name=name, command=("x",), make=partial(naming, name, tuple(tools))) for name in names]
        async with Host(entries, Client, policy=allow_all) as host:
            view = host.view()
            assert len(view.tools) == len(names) * len(tools)
            for _ in range(10):
                tool = dice.choice(list(view.tools.values()))
                match dice.randrange(3):
                    case 0:
                        with suppress(ServerUnavailable):
                            await host.servers[tool.server].client.connection.aclose("lost")
                    case 1:
                        view = dice.choice((view, host.view()))
                    case _:
                        pass
                if dice.random() < 0.5:
                    await host.servers[tool.server].ready(60)
                result = await view.call(tool.name, {}, retry=dice.random() < 0.5)
                seen["lost" if result.is_error else "answered"] += 1
                assert result.is_error or result.text() == f"{tool.server} {tool.tool}"
    assert seen["answered"] > seen["lost"] > 0
