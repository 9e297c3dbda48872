"""Calls without generated tool clients: options that are set once, and results as data."""

import asyncio
from typing import Any

import pytest

from mcp_bindings import (
    App,
    CallOptions,
    Context,
    RequestTimeout,
    ToolError,
    ToolFailure,
    testing,
    v2024_11_05,
    v2025_03_26,
    v2025_06_18,
    v2025_11_25,
    v2026_07_28,
)
from mcp_bindings.v2026_07_28 import ImageContent, TextContent

PACKAGES = [v2024_11_05, v2025_03_26, v2025_06_18, v2025_11_25, v2026_07_28]
STRUCTURED = PACKAGES[2:]
IMAGE = ImageContent(data="", mime_type="image/png")


def app() -> App:
    found: App = App("s")

    @found.tool()
    def forecast(city: str = "Rome") -> dict[str, Any]:
        """Return data."""
        return {"city": city, "none": None}

    @found.tool()
    def zero() -> int:
        """Return a false value."""
        return 0

    @found.tool(structured=False)
    def text() -> list[TextContent]:
        """Return texts."""
        return [TextContent(text="a"), TextContent(text="b")]

    @found.tool(structured=False)
    def image() -> list[TextContent | ImageContent]:
        """Return blocks."""
        return [TextContent(text="a"), IMAGE]

    @found.tool()
    def fail() -> str:
        """Fail."""
        raise ToolFailure("no such city")

    @found.tool()
    async def slow(ctx: Context) -> str:
        """Report progress, and wait."""
        await ctx.report_progress(1)
        await asyncio.sleep(30)
        return "done"

    return found


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.REVISION)
async def test_a_call_returns_data(package: Any) -> None:
    async with testing.connect(app(), package.Client) as client:
        if package in STRUCTURED:
            assert await client.call("forecast", {"city": "Oslo"}) == {"city": "Oslo", "none": None}
            assert await client.call("forecast") == {"city": "Rome", "none": None}
        assert str(await client.call("zero")) in ("0", "{'result': 0}")
        assert await client.call("text") == "a\nb"
        assert [block.type for block in await client.call("image")] == ["text", "image"]
        with pytest.raises(ToolError, match="fail: no such city"):
            await client.call("fail")


@pytest.mark.usefixtures("virtual_time")
@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.REVISION)
async def test_options_are_set_once(package: Any) -> None:
    reports: list[float] = []
    async with testing.connect(app(), package.Client) as client:
        quick = client.with_options(timeout=5, progress=lambda progress, total, message: reports.append(progress))
        assert quick is not client and quick.connection is client.connection
        with pytest.raises(RequestTimeout, match="5 s"):
            await quick.call_tool(name="slow")
        with pytest.raises(RequestTimeout, match="7 s"):
            await quick.call("slow", options=CallOptions(timeout=7))
        with pytest.raises(RequestTimeout, match="6 s"):
            await quick.with_options(timeout=6).call_tool(name="slow")
        assert reports == [1, 1, 1]
        assert [tool.name async for tool in quick.iter_tools()][:2] == ["forecast", "zero"]
        assert "done" in str(await client.call("slow"))


@pytest.mark.parametrize("wrong", [{"timeout": "5"}, {"max_time": True}, {"progress": 5}, {"key": ""}])
async def test_wrong_options_are_refused_at_once(wrong: Any) -> None:
    async with testing.connect(app()) as client:
        with pytest.raises(TypeError, match=f"^{next(iter(wrong))}: must be"):
            client.with_options(**wrong)
