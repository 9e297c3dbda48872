"""A host uses what is right of a configuration and of what servers list; the rest fails alone, each with its line."""

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from host.serving import InMemory
from mcp_bindings import Client, v2025_06_18, v2025_11_25
from mcp_runtime.core.json.values import is_object
from mcp_runtime.host import ConfigurationError, Host, HostFailed, ServerEntry, allow_all
from mcp_runtime.host.config import parse
from mcp_runtime.memory import connect_memory
from mcp_runtime.tools import Tool, ToolClient, digest
from support.lists import PACKAGES, VALID, Raw, draw, server_of

GOOD: Final = {"name": "good", "inputSchema": {"type": "object"}}
BAD: Final = {"name": "bad", "inputSchema": {"type": "array"}}
WRONG_ENTRIES: Final[tuple[Any, ...]] = (
    {},
    None,
    "npx x",
    {"description": "no command"},
    {"command": "x", "env": {"KEY": "${SURELY_NOT_SET}"}},
    {"command": "x", "args": ["${workspaceFolder}"]},
    {"type": "ws", "url": "ws://127.0.0.1:1"},
    {"url": "127.0.0.1:1"},
    {"command": "x", "url": "http://127.0.0.1:1"},
    {"command": "x", "timeout": -1},
)


def in_memory(make: Callable[[], Any], **more: Any) -> InMemory:
    return InMemory(name="s", command=("x",), make=make, **more)


@pytest.mark.parametrize("kind", VALID)
@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.REVISION)
async def test_one_invalid_item_does_not_hide_the_others(kind: str, package: Any) -> None:
    items, names, pointers = draw(random.Random(f"host {kind}"), kind, 20)
    async with Host([in_memory(lambda: server_of(package, {kind: items}))], Client, policy=allow_all) as host:
        server = host.servers["s"]
        offer = {"resourceTemplates": "templates"}.get(kind, kind)
        assert [item["name"] for item in getattr(server.listing, offer)] == names
        assert [item.pointer for item in server.unusable[offer]] == pointers
        assert (server.state, server.error) == ("ready", None)


@pytest.mark.parametrize("name", ["", "x" * 257])
async def test_a_tool_whose_name_nobody_can_call_is_named(name: str) -> None:
    async with Host(
        [in_memory(lambda: server_of(v2025_06_18, {"tools": [GOOD, {**GOOD, "name": name}]}))], Client, policy=allow_all
    ) as host:
        assert list(host.catalogue) == ["s__good"]
        [line] = map(str, host.servers["s"].unusable["tools"])
        assert f"its name has {len(name)} characters" in line


class Circle(v2025_11_25.Server):
    """Lists the same page for every cursor."""

    async def list_tools(self, params: Any, ctx: Any) -> Any:
        return Raw({"tools": [GOOD], "nextCursor": "again"})


async def test_a_cursor_that_repeats_keeps_the_tools_so_far() -> None:
    async with Host([in_memory(Circle)], Client, policy=allow_all) as host:
        assert list(host.catalogue) == ["s__good"]
        [line] = map(str, host.servers["s"].unusable["tools"])
        assert line.startswith("/nextCursor: ") and "a cursor was repeated" in line


@pytest.mark.parametrize("make", [Circle, lambda: server_of(v2025_06_18, {"tools": [GOOD, BAD]})])
async def test_a_strict_host_refuses_the_whole_list(make: Callable[[], Any]) -> None:
    async with Host([in_memory(make)], Client, strict=True, policy=allow_all) as host:
        assert list(host.catalogue) == []
        assert host.servers["s"].state == "failed"


async def test_a_locked_tool_that_cannot_be_read_is_withheld(tmp_path: Path) -> None:
    lock = tmp_path / "lock.json"
    lock.write_text(json.dumps({"tools": [GOOD, {**BAD, "inputSchema": {"type": "object"}}]}))
    make = lambda: server_of(v2025_06_18, {"tools": [GOOD, BAD, {**BAD, "name": "other"}]})  # noqa: E731
    async with Host([in_memory(make, lock=lock)], Client, policy=allow_all) as host:
        assert list(host.catalogue) == ["s__good"]
        assert host.servers["s"].withheld == ("bad",)


async def test_a_tool_of_a_contract_that_cannot_be_read_is_not_removed() -> None:
    class Known(ToolClient):
        __tools__ = {  # noqa: RUF012
            name: Tool(name=name, digests={"inputSchema": digest({"type": "object"})})
            for name in ("bad", "good", "old")
        }

    async with connect_memory(server_of(v2025_06_18, {"tools": [GOOD, BAD]})) as peer:
        drift = await Known(await Client.open(peer)).check_drift()
    assert (drift.removed, drift.unusable) == (("old",), ("bad",))
    assert str(drift) == "old is gone; bad is listed, but not valid"


@pytest.mark.parametrize("wrong", WRONG_ENTRIES)
async def test_one_wrong_entry_fails_alone(wrong: Any) -> None:
    [entry] = parse({"mcpServers": {"bad": wrong}})
    good = in_memory(lambda: server_of(v2025_06_18, {"tools": [GOOD]}))
    async with Host([entry, good], Client, policy=allow_all) as host:
        assert list(host.catalogue) == ["s__good"]
        bad = host.servers["bad"]
        assert bad.state == "failed"
        assert (bad.error or "").startswith("configuration: /mcpServers/bad") and "\n" not in (bad.error or "")
    with pytest.raises(ConfigurationError, match="/mcpServers/bad"):
        Host.from_mapping({"mcpServers": {"bad": wrong}}, Client, strict=True, policy=allow_all)


@pytest.mark.parametrize("wrong", [entry for entry in WRONG_ENTRIES if is_object(entry)])
@pytest.mark.parametrize("lazy", [False, True])
async def test_a_wrong_entry_that_is_required_ends_the_host(wrong: dict[str, Any], lazy: bool) -> None:
    entries: tuple[ServerEntry, ...] = parse({"mcpServers": {"bad": {**wrong, "required": True}}})
    with pytest.raises(HostFailed, match="bad is required, but failed: configuration: /mcpServers/bad"):
        async with Host(entries, Client, lazy=lazy, policy=allow_all):
            pass
