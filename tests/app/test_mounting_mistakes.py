"""What cannot be mounted, and what the author is told."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from mcp_bindings import v2025_06_18
from mcp_bindings import v2026_07_28 as mcp
from mcp_runtime import testing
from mcp_runtime.extensions.tasks import MemoryTaskStore, Tasks


def itself(app: Any) -> None:
    app.mount(app, prefix="me")


def in_a_cycle(app: Any) -> None:
    one, other = mcp.App("one"), mcp.App("other")
    app.mount(one, prefix="one")
    one.mount(other, prefix="other")
    other.mount(app, prefix="house")


def under_one_prefix(app: Any) -> None:
    app.mount(mcp.App("one"), prefix="a")
    app.mount(mcp.App("other"), prefix="a")


def without_prefixes(app: Any) -> None:
    app.mount(mcp.App("one"))
    app.mount(mcp.App("other"))


def with_two_stores(app: Any) -> None:
    app.mount(mcp.App("one", extensions=[Tasks(MemoryTaskStore())]), prefix="one")
    app.mount(mcp.App("other", extensions=[Tasks(MemoryTaskStore())]), prefix="other")


def of_another_revision(app: Any) -> None:
    app.mount(v2025_06_18.App("older"), prefix="a")


def a_class(app: Any) -> None:
    app.mount(mcp.App, prefix="a")


def a_file(app: Any) -> None:
    app.mount("mcp.json", prefix="a")


MISTAKES: list[tuple[Callable[[Any], None], type[Exception], str]] = [
    (itself, ValueError, "in itself"),
    (in_a_cycle, ValueError, "one of its own parts"),
    (under_one_prefix, ValueError, "the prefix 'a' is mounted already"),
    (without_prefixes, ValueError, "no prefix is mounted already"),
    (with_two_stores, ValueError, "Tasks and Tasks both have the method"),
    (of_another_revision, ValueError, "written for 2025-06-18"),
    (a_class, TypeError, "is a class; pass an instance"),
    (a_file, TypeError, "not 'mcp.json'"),
]


@pytest.mark.parametrize(("mount", "kind", "words"), MISTAKES, ids=[mount.__name__ for mount, _, _ in MISTAKES])
def test_what_cannot_be_mounted_is_said_in_a_line(
    mount: Callable[[Any], None], kind: type[Exception], words: str
) -> None:
    app = mcp.App("house")
    with pytest.raises(kind) as caught:
        mount(app)
    assert words in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("prefix", ["a__b", "a_", "a b", "a/b", "é", "__", "_", "a\n"])
def test_a_prefix_leaves_names_clear(prefix: str) -> None:
    app = mcp.App("house")
    with pytest.raises(ValueError, match="a prefix has letters"):
        app.mount(mcp.App("a"), prefix=prefix)
    app.mount(mcp.App("a"), prefix="a-b.c_d9")


def open_door() -> str:
    """Open the door."""
    return "open"


@asynccontextmanager
async def nothing() -> AsyncGenerator[None]:
    yield


async def test_a_server_with_a_lifespan_is_mounted_before_the_app_is_served() -> None:
    app = mcp.App("house")
    app.add_tool(open_door)
    async with testing.connect(app) as session:
        with pytest.raises(ValueError, match="before the App is served"):
            app.mount(mcp.App("kitchen", lifespan=nothing), prefix="kitchen")
        (kitchen := mcp.App("kitchen")).add_tool(open_door)
        app.mount(kitchen, prefix="kitchen")
        assert [tool.name async for tool in session.iter_tools()] == ["open_door", "kitchen__open_door"]


async def test_a_refused_server_leaves_the_app_as_it_was() -> None:
    app = mcp.App("house")
    for mount, kind, _ in MISTAKES[-3:]:
        with pytest.raises(kind):
            mount(app)
    app.mount(mcp.App("one", extensions=[Tasks(MemoryTaskStore())]), prefix="one")
    assert len(app.effective_options().extensions) == 1
