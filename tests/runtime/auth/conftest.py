"""An issuer and a server that asks for its tokens."""

from collections.abc import AsyncGenerator

import pytest

from mcp_bindings import App
from mcp_runtime.testing import Issuer
from support.protected import Protected, protected


@pytest.fixture
async def issuer() -> AsyncGenerator[Issuer]:
    async with Issuer() as issuer:
        yield issuer


@pytest.fixture
async def server(issuer: Issuer) -> AsyncGenerator[Protected]:
    app = App("tea")

    @app.tool()
    def brew(kind: str) -> str:
        """Brew tea."""
        return f"{kind} tea"

    async with protected(app, issuer) as server:
        yield server
