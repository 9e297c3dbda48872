"""The tools of a host as tools of the OpenAI Agents SDK; prints the answer of one of them.

python examples/adapters/openai_agents_tools.py mcp.json math__sum '{"a": 2, "b": 3.5}'
"""

import argparse
import asyncio

from agents import Agent, FunctionTool
from agents.tool_context import ToolContext

from mcp_bindings import Client, Host
from mcp_runtime.host import View, allow_all


def tools_of(view: View) -> list[FunctionTool]:
    def adapt(tool: dict[str, object]) -> FunctionTool:
        async def call(ctx: ToolContext[None], arguments: str) -> str:
            return (await view.call(tool["name"], arguments)).text()

        return FunctionTool(tool["name"], tool["description"], tool["parameters"], call, tool["strict"])

    return [adapt(tool) for tool in view.for_openai()]


async def main(config: str, name: str, arguments: str) -> None:
    async with Host.from_file(config, Client, policy=allow_all) as host:
        agent = Agent("adder", tools=tools_of(host.view()))
        tool = next(tool for tool in agent.tools if tool.name == name)
        ctx = ToolContext(None, tool_name=name, tool_call_id="call_1", tool_arguments=arguments)
        print(await tool.on_invoke_tool(ctx, arguments))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    for argument in ("config", "name", "arguments"):
        parser.add_argument(argument)
    asyncio.run(main(**vars(parser.parse_args())))
