"""A client that runs a tool in the background, watches it, and cancels another one."""

import argparse
import asyncio
import sys
from pathlib import Path

from mcp_bindings.v2025_11_25 import CallToolRequestParams, Client, TextContent
from mcp_bindings.v2025_11_25.methods import TOOLS_CALL
from mcp_runtime.extensions.tasks import TaskRecord, run_as_task, start_task
from mcp_runtime.stub import CallOptions
from mcp_runtime.transports.stdio import connect_stdio

SERVER = Path(__file__).with_name("tasks_server.py")


def report(progress: float, total: float | None, message: str | None) -> None:
    print(f"  {progress:g} of {total:g}: {message}")


def show(record: TaskRecord) -> None:
    print(f"  it is {record.status.value}")


async def main(text: str) -> None:
    async with connect_stdio(sys.executable, SERVER) as peer:
        client = await Client.open(peer, require=["tasks.requests.tools.call"])
        count = CallToolRequestParams(name="count", arguments={"text": text})
        result = await run_as_task(
            client, TOOLS_CALL, count, ttl=60, options=CallOptions(progress=report), on_status=show
        )
        [block] = result.content
        assert isinstance(block, TextContent)
        print(block.text)

        endless = CallToolRequestParams(name="count", arguments={"text": "again " * 10_000})
        task = await start_task(client, TOOLS_CALL, endless)
        print("the second one is", (await task.cancel()).status.value)
        print("tasks:", [each.status async for each in client.iter_tasks()])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("text", nargs="?", default="to be or not to be")
    asyncio.run(main(**vars(parser.parse_args())))
