"""The skills of all servers of a host: by server and URI, under names that no two share."""

from pathlib import Path
from typing import Any

import pytest

from host.serving import InMemory
from mcp_bindings import App, Client
from mcp_runtime.core.errors import McpError
from mcp_runtime.extensions.skills import SkillError, Skills
from mcp_runtime.host import Host, allow_all
from support.skills import app, write

URI = "skill://pay/refunds/SKILL.md"


def skill(path: Path, name: str, text: str = "Body.") -> None:
    write(path / name / "SKILL.md", f"---\nname: {name.rpartition('/')[2]}\ndescription: x\n---\n{text}\n")


def entry(name: str, make: Any) -> InMemory:
    return InMemory(name=name, command=("x",), make=make)


@pytest.fixture
def host(tmp_path: Path) -> Host[Any]:
    """A host of two servers with skills, and of one without."""
    for server, names in {"a": ("pay/refunds", "buy/refunds", "own"), "b": ("pay/refunds", "brew")}.items():
        for name in names:
            skill(tmp_path / server, name, f"From {server}.")
    entries = [
        entry("a", lambda: app(tmp_path / "a")),
        entry("b", lambda: app(tmp_path / "b")),
        entry("c", lambda: App("c")),
    ]
    return Host(entries, Client, extensions=[Skills()], policy=allow_all)


async def test_names_that_collide_are_qualified_by_server_and_then_by_path(host: Host[Any]) -> None:
    async with host:
        found = await host.skills()
    assert {key: one.name for key, one in found.items()} == {
        ("a", "skill://buy/refunds/SKILL.md"): "a/buy/refunds",
        ("a", "skill://own/SKILL.md"): "own",
        ("a", URI): "a/pay/refunds",
        ("b", "skill://brew/SKILL.md"): "brew",
        ("b", URI): "b/refunds",
    }


async def test_a_load_goes_to_its_own_server(host: Host[Any], tmp_path: Path) -> None:
    async with host:
        first = await host.load_skill("a", URI, cache=tmp_path / "cache")
        loaded = await host.load_skill("b", URI, cache=tmp_path / "cache")
        assert [one.text.splitlines()[-1] for one in (first, loaded)] == ["From a.", "From b."]
        write(tmp_path / "b" / "pay" / "refunds" / "new.md", "new")
        with pytest.raises(SkillError, match="is not listed"):
            await loaded.read("new.md")
        with pytest.raises(McpError, match="skills"):
            await host.load_skill("c", URI)
        with pytest.raises(KeyError):
            await host.load_skill("d", URI)


async def test_a_server_that_fails_leaves_the_skills_of_others(host: Host[Any], tmp_path: Path) -> None:
    async with host:
        await host.servers["a"].client.connection.aclose("lost")
        assert {server for server, _ in await host.skills()} == {"b"}
