"""A server that counts, logs, reports, asks and fails; and a conversation with it that can be recorded."""

import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from mcp_bindgen.live.recording.record import Recorder
from mcp_bindings import App, Context
from mcp_runtime.core.errors import PeerError
from mcp_runtime.core.settings import ClientOptions
from mcp_runtime.core.stub import CallOptions
from mcp_runtime.testing import connect


class Order(BaseModel):
    cups: int


def cafe() -> Any:
    """Return a new server."""
    app = App("cafe", version="2.1", title="Café", instructions="Order first.")
    served: list[str] = []

    @app.tool()
    async def serve(tea: str, ctx: Context) -> dict[str, int]:
        """Serve a cup of tea."""
        served.append(tea)
        await ctx.log("info", {"tea": tea}, logger="kitchen")
        await ctx.report_progress(1, 2, "boiling")
        await ctx.report_progress(2, 2)
        return {"cups": len(served)}

    @app.tool()
    async def order(ctx: Context) -> str:
        """Ask how many cups to make, and the model for a toast."""
        answer = await ctx.elicit("How many cups?", Order)
        toast = await ctx.sample("A toast!")
        return f"{answer.cups} cups; {toast}" if answer else "nothing"

    @app.tool()
    def sign_in(token: str) -> dict[str, str]:
        """Sign in with a token."""
        return {"session_token": f"{token}-2", "greeting": "hello"}

    @app.tool()
    def burn() -> str:
        """Always fail."""
        raise ValueError("smoke")

    app.resource("cafe://menu", name="menu")(lambda: "Tea, 2.50 €")
    app.prompt("recommend")(lambda: "What tea goes with cake?")
    return app


def _ignore(progress: float, total: float | None, message: str | None) -> None:
    """Have progress reported."""


async def converse(client: Any) -> list[Any]:
    """Hold the conversation; return the results as JSON."""
    found: list[Any] = [await client.list_tools(), await client.list_resources(), await client.list_prompts()]
    for tea in ("green", "black", "green"):
        options = CallOptions(progress=_ignore)
        found.append(await client.call_tool(name="serve", arguments={"tea": tea}, options=options))
    found.append(await client.call_tool(name="order"))
    found.append(await client.read_resource(uri="cafe://menu"))
    found.append(await client.get_prompt(name="recommend"))
    found.append(await client.call_tool(name="sign_in", arguments={"token": "tea-for-two-9"}))
    found.append(await client.call_tool(name="burn"))
    for call in (client.call_tool(name="nothing"), client.read_resource(uri="cafe://none")):
        try:
            found.append(await call)
        except PeerError as error:
            found.append(error.message)
    return [each if isinstance(each, str) else each.model_dump(mode="json") for each in found]


@asynccontextmanager
async def heard(server: Any, client: Any, trace: Callable[[str, bytes], None] | None = None) -> AsyncGenerator[Any]:
    """Connect a client that answers what the server asks, and traces the messages."""
    options = ClientOptions(trace=trace)
    can_fill = "elicitation/create" in import_module(client.__module__.rpartition(".")[0]).ClientHandlers.__handlers__
    elicit = [{"cups": 3}] if can_fill else None
    async with connect(server, client, elicit=elicit, sample=["Cheers!"], options=options) as opened:
        yield opened


async def record(server: Any, client: Any, path: Path) -> list[Any]:
    """Hold the conversation with a server and record it; return the results."""
    recorder = Recorder(path, mask=True)

    def trace(way: str, message: bytes) -> None:
        recorder.take(1, "client" if way == "sent" else "server", message)

    async with heard(server, client, trace) as opened:
        found = await converse(opened)
    recorder.close()
    return found


def lines_of(path: Path) -> list[Any]:
    """Return the lines of a session, each without its time."""
    entries = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return [(entry.get("from"), json.dumps(entry.get("message"))) for entry in entries]
