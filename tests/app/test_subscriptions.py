"""`app.subscription`: which resources clients may subscribe to, in both eras."""

from typing import Any

import pytest

from mcp_bindings import v2024_11_05, v2025_11_25, v2026_07_28
from mcp_runtime import testing
from mcp_runtime.app import DefinitionError, NotFound
from mcp_runtime.core.changes.subscriptions import resource_updated
from mcp_runtime.core.errors import PeerError

VERSIONS = (v2024_11_05, v2025_11_25, v2026_07_28)


def shelf(version: Any, asked: list[str]) -> Any:
    app = version.App("shelf")

    @app.resource("shelf://bread")  # type: ignore[untyped-decorator]
    def bread() -> str:
        return "3 loaves"

    @app.subscription()  # type: ignore[untyped-decorator]
    def watch(uri: str) -> None:
        asked.append(uri)
        if uri != "shelf://bread":
            raise NotFound("nothing changes there")

    return app


@pytest.mark.parametrize("client", VERSIONS[:2], ids=lambda version: version.REVISION)
@pytest.mark.parametrize("server", VERSIONS, ids=lambda version: version.REVISION)
async def test_a_session_subscribes_to_what_the_function_agrees_to(server: Any, client: Any) -> None:
    asked: list[str] = []
    app = shelf(server, asked)
    async with testing.connect(app, client.Client) as session:
        assert session.capabilities["resources"]["subscribe"]
        await session.subscribe(uri="shelf://bread")
        with pytest.raises(PeerError, match="nothing changes there"):
            await session.subscribe(uri="shelf://tea")
        assert asked == ["shelf://bread", "shelf://tea"]
        assert await resource_updated(app, "shelf://bread") == 1
        assert await resource_updated(app, "shelf://tea") == 0
        await session.unsubscribe(uri="shelf://bread")
        assert await resource_updated(app, "shelf://bread") == 0


@pytest.mark.parametrize("server", VERSIONS, ids=lambda version: version.REVISION)
async def test_a_request_listens_for_what_the_function_agrees_to(server: Any) -> None:
    asked: list[str] = []
    app = shelf(server, asked)
    async with testing.connect(app, v2026_07_28.Client) as client:
        subscription = await client.listen(resources=["shelf://bread", "shelf://tea"])
        assert subscription.agreed["resourceSubscriptions"] == ["shelf://bread"]
        assert asked == ["shelf://bread", "shelf://tea"]
        assert await resource_updated(app, "shelf://bread") == 1
        await subscription.aclose()


async def test_without_one_nobody_can_subscribe() -> None:
    app = v2025_11_25.App("shelf")
    app.resource("shelf://bread", name="bread")(lambda: "3 loaves")
    async with testing.connect(app) as client:
        assert "subscribe" not in client.capabilities["resources"]


def test_it_takes_the_uri_and_there_is_one() -> None:
    app = v2025_11_25.App("shelf")

    def watch(uri: str) -> None:
        """Agree."""

    app.subscription()(watch)
    with pytest.raises(DefinitionError, match="subscription: already defined"):
        app.subscription()(watch)

    def none() -> None:
        """Agree."""

    with pytest.raises(DefinitionError, match=r"it must take the URI: \(uri: str\)"):
        app.subscription()(none)
