"""The tools of a host as tools of LangChain; prints the answer of one of them.

python examples/adapters/langchain_tools.py mcp.json math__sum '{"a": 2, "b": 3.5}'
"""

import argparse
import asyncio
import json

from langchain_core.tools import StructuredTool

from mcp_bindings import Client, Host
from mcp_runtime.host import HostTool, View, allow_all


def tools_of(view: View) -> list[StructuredTool]:
    def adapt(tool: HostTool) -> StructuredTool:
        async def call(**arguments: object) -> str:
            return (await view.call(tool.name, arguments)).text()

        return StructuredTool(
            name=tool.name, description=tool.description, args_schema=dict(tool.input_schema), coroutine=call
        )

    return [adapt(tool) for tool in view.tools.values()]


async def main(config: str, name: str, arguments: str) -> None:
    async with Host.from_file(config, Client, policy=allow_all) as host:
        tools = {tool.name: tool for tool in tools_of(host.view())}
        print(await tools[name].ainvoke(json.loads(arguments)))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    for argument in ("config", "name", "arguments"):
        parser.add_argument(argument)
    asyncio.run(main(**vars(parser.parse_args())))
