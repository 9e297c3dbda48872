"""A server whose tools become tasks in a SQLite file or in Redis: python -m support.task_program FILE_OR_URL NOTES.

It prints its URL.
"""

import asyncio
import sys
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from redis.asyncio import Redis

from mcp_bindings.v2026_07_28 import App, Context
from mcp_runtime.extensions.tasks import SharedTaskStore, SqliteTaskStore, Tasks, defer
from mcp_runtime.extensions.tasks.redis import RedisTaskStore
from mcp_runtime.web_server import serve_http

LEASE = 2.0
"""Seconds: a process that is late by a quarter of it still keeps its tasks, on a busy machine."""


class Size(BaseModel):
    loaves: int


def store_at(place: str) -> SharedTaskStore:
    """Return a store in a file, or in Redis at a URL."""
    if place.startswith("redis:"):
        client: Any = Redis
        return RedisTaskStore(client.from_url(place), prefix="bakery", poll_interval=0.1, lease=LEASE)
    return SqliteTaskStore(place, poll_interval=0.1, lease=LEASE)


def server(place: str, notes: Path) -> App:
    """Return the server; its tools note each run, and wait until the file NOTES.go exists."""
    app: App = App("bakery", extensions=[Tasks(store_at(place))])

    async def bake(name: str, ctx: Context) -> str:
        """Ask once, and wait."""
        task = await defer(ctx, "kneading")
        size = await ctx.elicit(f"{name}: how many?", Size)
        with notes.open("a") as lines:
            lines.write(f"{name} {size}\n")
        await task.say("in the oven")
        try:
            while not notes.with_suffix(".go").exists():
                await asyncio.sleep(0.02)
        except asyncio.CancelledError:
            with notes.open("a") as lines:
                lines.write(f"{name} stopped\n")
            raise
        return f"{name}: {size}"

    app.tool("once", task="optional")(bake)
    app.tool("again", task="optional", restart=True)(bake)
    return app


if __name__ == "__main__":
    serve_http(server(sys.argv[1], Path(sys.argv[2])), port=0, started=lambda url: print(f"{url}/mcp", flush=True))
