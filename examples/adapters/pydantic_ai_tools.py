"""The tools of a host as tools of Pydantic AI, with a scripted model: mcp.json math__sum '{"a": 2, "b": 3}'."""

import argparse
import asyncio

from pydantic_ai import Agent, Tool
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from mcp_bindings import Client, Host
from mcp_runtime.host import HostTool, View, allow_all


def tools_of(view: View) -> list[Tool[None]]:
    def adapt(tool: HostTool) -> Tool[None]:
        async def call(**arguments: object) -> str:
            return (await view.call(tool.name, arguments)).text()

        return Tool.from_schema(call, tool.name, tool.description, dict(tool.input_schema))

    return [adapt(tool) for tool in view.tools.values()]


async def main(config: str, name: str, arguments: str) -> None:
    def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        last = messages[-1].parts[-1]
        is_done = last.part_kind == "tool-return"
        return ModelResponse([TextPart(last.content) if is_done else ToolCallPart(name, arguments)])

    async with Host.from_file(config, Client, policy=allow_all) as host:
        print((await Agent(FunctionModel(model), tools=tools_of(host.view())).run("Add.")).output)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    for argument in ("config", "name", "arguments"):
        parser.add_argument(argument)
    asyncio.run(main(**vars(parser.parse_args())))
