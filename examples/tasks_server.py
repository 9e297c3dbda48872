"""A server with a tool slow enough to become a task: it counts the words of a text, one at a time."""

import argparse
import asyncio

from mcp_bindings import App, Context
from mcp_runtime.extensions.tasks import MemoryTaskStore, Tasks, defer

app = App("counter", version="1.0", extensions=[Tasks(MemoryTaskStore(ttl=600, poll_interval=0.1))])


@app.tool(task="required")
async def count(text: str, ctx: Context) -> str:
    """Count the words of a text."""
    words = text.split()
    task = await defer(ctx, f"counting up to {len(words)} words")
    for number, word in enumerate(words, start=1):
        await asyncio.sleep(0.05)
        await task.say(f"{number} of {len(words)}: {word}")
    return f"{len(words)} words"


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    app.run()
