"""Calls of a host: who decides about them, tools that run as tasks, progress, and the revision of an entry."""

import asyncio
from typing import Any, Final

import pytest

from host.serving import InMemory
from mcp_bindings import App, Client, ClientOptions, Context, ServerOptions, ToolAnnotations, v2025_06_18, v2025_11_25
from mcp_runtime.core.errors import RequestTimeout
from mcp_runtime.extensions.skills import Skills
from mcp_runtime.extensions.tasks import MemoryTaskStore, Tasks, defer
from mcp_runtime.host import Decision, Host, Policy, ToolCall, allow_all, ask_unless_read_only, read_only
from mcp_runtime.host.config import parse
from support.lists import PACKAGES, server_of

SCHEMA: Final = {"type": "object"}


def claiming() -> App:
    """Return a server whose tool claims to be harmless."""
    app: App = App("s")

    @app.tool(annotations=ToolAnnotations(read_only_hint=True, idempotent_hint=True))
    def wipe() -> str:
        """Claim to read only."""
        return "wiped"

    return app


async def refused(call: ToolCall) -> Decision:
    return False


@pytest.mark.parametrize("policy", [read_only, ask_unless_read_only(refused)])
@pytest.mark.parametrize(
    ("trusted", "is_allowed"), [(True, True), (False, False), (None, False), ("true", False), (1, False), ({}, False)]
)
async def test_hints_count_only_for_trusted_servers(policy: Policy, trusted: object, is_allowed: bool) -> None:
    [entry] = parse({"mcpServers": {"s": {"command": "x", "trusted": trusted}}})
    server = InMemory(name="s", command=("x",), make=claiming, is_trusted=entry.is_trusted)
    async with Host([server], Client, policy=policy) as host:
        tool = host.view().tools["s__wipe"]
        assert tool.hint("readOnlyHint") is tool.hint("idempotentHint") is is_allowed
        answer = await host.view().call("s__wipe", {})
    assert answer.is_error is not is_allowed
    assert is_allowed or policy is not read_only or "its server is not trusted" in answer.text()


def test_a_policy_is_required() -> None:
    makers: tuple[Any, ...] = (Host.from_mapping, Host, Host.from_file)
    for make in makers:
        with pytest.raises(TypeError, match="policy"):
            make({"mcpServers": {}}, Client)


class Kitchen(v2025_11_25.Server):
    """Has a tool that must run as a task, which takes longer than a call may."""

    options = ServerOptions(revisions="own")

    async def list_tools(self, params: Any, ctx: Any) -> Any:
        tools = [{"name": name, "inputSchema": SCHEMA, "execution": {"taskSupport": name}} for name in SUPPORT]
        return v2025_11_25.ListToolsResult.model_validate({"tools": tools})

    async def call_tool(
        self, params: v2025_11_25.CallToolRequestParams, ctx: v2025_11_25.Context
    ) -> v2025_11_25.CallToolResult:
        if params.name == "required":
            await asyncio.sleep(100)
        return v2025_11_25.CallToolResult(content=[v2025_11_25.TextContent(text=params.name)])


SUPPORT: Final = ("forbidden", "optional", "required")


class WithTasks(Kitchen):
    def __init__(self) -> None:
        self.options = ServerOptions(revisions="own", extensions=[Tasks(MemoryTaskStore())])


@pytest.mark.usefixtures("virtual_time")
@pytest.mark.parametrize("client", [Client, v2025_11_25.Client, v2025_06_18.Client])
async def test_a_tool_that_must_run_as_a_task_runs_as_one(client: type[Any]) -> None:
    server = InMemory(name="s", command=("x",), make=WithTasks)
    async with Host([server], client, policy=allow_all, options=ClientOptions(timeout=10)) as host:
        assert len(host.view().tools) == 3
        for name in SUPPORT:
            answer = await host.view().call(f"s__{name}", {})
            assert (answer.text(), answer.is_error) == (name, False)


@pytest.mark.usefixtures("virtual_time")
async def test_a_task_ends_with_the_longest_time_of_a_call() -> None:
    server = InMemory(name="s", command=("x",), make=WithTasks)
    async with Host([server], Client, policy=allow_all, options=ClientOptions(max_time=50)) as host:
        answer = await host.view().call("s__required", {})
        assert isinstance(answer.error, RequestTimeout) and "within 50 s" in answer.text()


@pytest.mark.parametrize("client", [Client, v2025_11_25.Client])
async def test_a_tool_that_cannot_run_as_a_task_is_not_offered(client: type[Any]) -> None:
    async with Host([InMemory(name="s", command=("x",), make=Kitchen)], client, policy=allow_all) as host:
        assert list(host.view().tools) == ["s__forbidden", "s__optional"]
        [line] = map(str, host.servers["s"].unusable["tools"])
        assert "(required): it must run as a task" in line


@pytest.mark.parametrize("package", [one for one in PACKAGES if one is not v2025_11_25], ids=lambda one: one.REVISION)
async def test_other_revisions_have_no_such_tools(package: Any) -> None:
    tools = [{"name": "t", "inputSchema": SCHEMA, "execution": {"taskSupport": "required"}}]
    server = InMemory(name="s", command=("x",), make=lambda: server_of(package, {"tools": tools}))
    async with Host([server], Client, policy=allow_all) as host:
        assert list(host.view().tools) == ["s__t"]


def deferring() -> App:
    app: App = App("s", extensions=[Tasks(MemoryTaskStore())])

    @app.tool(task="required")
    async def bake(ctx: Context) -> str:
        """Bake for clients that poll."""
        await defer(ctx)
        return "baked"

    return app


@pytest.mark.parametrize("given", [[], [Tasks()], [Skills()]], ids=["none", "tasks", "skills"])
async def test_tools_of_the_extension_run_as_tasks(given: list[Any]) -> None:
    server = InMemory(name="s", command=("x",), make=deferring)
    async with Host([server], Client, policy=allow_all, extensions=given) as host:
        assert (await host.view().call("s__bake", {})).text() == "baked"


def slow() -> App:
    app: App = App("s")

    @app.tool()
    async def work(ctx: Context) -> str:
        """Take a minute, and report progress."""
        for step in range(20):
            await asyncio.sleep(3)
            await ctx.report_progress(step)
        return "done"

    return app


@pytest.mark.usefixtures("virtual_time")
@pytest.mark.parametrize("client", [Client, v2025_11_25.Client])
async def test_progress_extends_a_call(client: type[Any]) -> None:
    server = InMemory(name="s", command=("x",), make=slow)
    async with Host([server], client, policy=allow_all, options=ClientOptions(timeout=5)) as host:
        assert (await host.view().call("s__work", {})).text() == "done"


@pytest.mark.parametrize("revision", [package.REVISION for package in PACKAGES])
@pytest.mark.parametrize("client", [Client, v2025_06_18.Client, v2025_11_25.Client])
async def test_an_entry_pins_its_revision(revision: str, client: type[Any]) -> None:
    server = InMemory(name="s", command=("x",), make=claiming, revision=revision)
    async with Host([server], client, policy=allow_all) as host:
        assert (host.servers["s"].state, host.servers["s"].revision) == ("ready", revision)
        assert (await host.view().call("s__wipe", {})).text() == "wiped"


@pytest.mark.parametrize("revision", [package.REVISION for package in PACKAGES if package is not v2025_06_18])
async def test_a_server_of_another_revision_fails(revision: str) -> None:
    make = lambda: server_of(v2025_06_18, {"tools": []})  # noqa: E731
    server = InMemory(name="s", command=("x",), make=make, revision=revision)
    async with Host([server], Client, policy=allow_all) as host:
        assert host.servers["s"].state == "failed"
        assert revision in (host.servers["s"].error or "")
