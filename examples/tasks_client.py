"""A client that starts a tool as a task, watches it, and cancels another one."""

import argparse
import asyncio
import sys
from pathlib import Path

from mcp_bindings import Client, TextContent, connect_stdio
from mcp_bindings.v2026_07_28.methods import TOOLS_CALL
from mcp_runtime.extensions.tasks import TaskRecord, Tasks, start_task

SERVER = Path(__file__).with_name("tasks_server.py")


def show(record: TaskRecord) -> None:
    print(f"  {record.status.value}  {record.message}".rstrip())


async def main(text: str) -> None:
    async with connect_stdio(sys.executable, SERVER) as peer:
        client = await Client.open(peer, extensions=[Tasks()])
        task = await start_task(client, TOOLS_CALL, {"name": "count", "arguments": {"text": text}})
        result = await task.result(on_status=show)
        [block] = result.content
        assert isinstance(block, TextContent)
        print(block.text)

        endless = {"text": "again " * 10_000}
        task = await start_task(client, TOOLS_CALL, {"name": "count", "arguments": endless})
        print("the second one is", (await task.cancel()).status.value)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("text", nargs="?", default="to be or not to be")
    asyncio.run(main(**vars(parser.parse_args())))
