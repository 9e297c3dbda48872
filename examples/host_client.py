"""An agent's loop without a model: the tools of two servers, called as a model would call them.

python examples/host_client.py
"""

import argparse
import asyncio
import logging
import sys
from pathlib import Path

from mcp_bindings import Client, Host
from mcp_runtime.host import Decision, Refused, ToolCall, ask_unless_read_only

HERE = Path(__file__).parent
SERVERS = {
    "mcpServers": {
        "math": {"command": sys.executable, "args": [str(HERE / "sum_server.py")], "required": True},
        "tracker": {"command": sys.executable, "args": [str(HERE / "tracker_server.py")]},
        "gone": {"command": "no-such-server"},
    }
}


async def ask(call: ToolCall) -> Decision:
    """Stand in for a person who is asked about each call that may change something."""
    if call.arguments.get("a") == 13:
        return Refused("The user does not want sums with 13.")
    return True


async def main() -> None:
    logging.disable(logging.WARNING)  # one of the servers does not exist
    async with Host.from_mapping(SERVERS, Client, policy=ask_unless_read_only(ask)) as host:
        for name, server in host.servers.items():
            print(f"{name}: {server.state} {server.error or ''}".rstrip())
        view = host.view(allow=["math__*"])
        [tool] = view.for_openai()
        print(tool["name"], tool["strict"], tool["parameters"]["required"])
        for arguments in ('{"a": 2, "b": 3.5}', '{"a": "two"}', '{"a": 13, "b": 1}'):
            result = await view.call(tool["name"], arguments)  # as the model writes them
            print(result.for_openai("call_1")["output"])


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    asyncio.run(main())
