"""The same decorated server in every revision, used by a client of that revision."""

import asyncio
import inspect
from importlib import import_module
from typing import Any

import pytest

from mcp_runtime import testing
from mcp_runtime.app import Application
from mcp_runtime.core.handlers import Handlers
from support.apps import text_of
from support.samples import REVISIONS


def package(revision: str) -> Any:
    return import_module(f"mcp_bindings.v{revision.replace('-', '_')}")


@pytest.mark.parametrize("revision", REVISIONS)
def test_every_feature_works(revision: str) -> None:
    app: Any = package(revision).App("test", version="1.0")

    def add(a: int, b: int) -> int:
        return a + b

    def one() -> str:
        return "1"

    def loaf(number: int) -> str:
        return str(number)

    def review(code: str) -> str:
        return code

    def codes(value: str) -> list[str]:
        return [value + "!"]

    app.tool()(add)
    app.resource("acme://one")(one)
    app.resource("acme://loaf/{number}")(loaf)
    app.prompt()(review)
    app.completion("code", prompt="review")(codes)

    async def main() -> None:
        async with testing.connect(app) as client:
            assert [tool.name async for tool in client.iter_tools()] == ["add"]
            assert text_of(await client.call_tool(name="add", arguments={"a": 1, "b": 2})) == "3"
            assert [resource.uri async for resource in client.iter_resources()] == ["acme://one"]
            assert [template.uri_template async for template in client.iter_resource_templates()] == [
                "acme://loaf/{number}"
            ]
            for uri in ("acme://one", "acme://loaf/1"):
                assert (await client.read_resource(uri=uri)).contents[0].text == "1"
            assert [prompt.name async for prompt in client.iter_prompts()] == ["review"]
            prompt = await client.get_prompt(name="review", arguments={"code": "x"})
            assert prompt.messages[0].content.text == "x"
            ref = package(revision).PromptReference(name="review")
            argument = package(revision).CompleteRequestParamsArgument(name="code", value="x")
            assert (await client.complete(ref=ref, argument=argument)).completion.values == ["x!"]

    asyncio.run(main())


@pytest.mark.parametrize("revision", REVISIONS)
def test_the_handlers_have_the_names_of_the_generated_ones(revision: str) -> None:
    ours = {name for name, _ in inspect.getmembers(Application, inspect.iscoroutinefunction)}
    ours -= {name for name, _ in inspect.getmembers(Handlers, inspect.iscoroutinefunction)}
    ours = {name for name in ours if not name.startswith("_")}
    assert ours <= set(package(revision).Server.__handlers__.values())


@pytest.mark.parametrize("revision", REVISIONS)
def test_the_decorators_match_the_revision(revision: str) -> None:
    module = package(revision)
    options = set(inspect.signature(module.App.tool).parameters) - {"self", "structured", "task", "restart"}
    expected = set(module.Tool.model_fields) - {"output_schema"} | {"description"}
    assert options == expected
