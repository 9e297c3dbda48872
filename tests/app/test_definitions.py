"""Functions that cannot be tools, and servers that are only partly made of decorated functions."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Annotated, Any

import pytest

import mcp_bindings
from mcp_bindings import v2025_11_25 as mcp
from mcp_runtime.app import DefinitionError, Depends
from support.apps import opened


class TestDefinitions:
    def refused(self, function: Any) -> str:
        with pytest.raises(DefinitionError) as caught:
            mcp.App("test").tool()(function)
        assert f"test_definitions.py:{function.__code__.co_firstlineno}: tool" in str(caught.value)
        return str(caught.value)

    def test_functions_without_a_schema_are_refused_with_file_and_line(self) -> None:
        class Opaque: ...

        def bare(x): ...  # type: ignore[no-untyped-def] # pyright: ignore

        def opaque(x: Opaque) -> None: ...

        def returns_opaque() -> Opaque: ...  # type: ignore[empty-body] # pyright: ignore[reportReturnType]

        def variadic(*args: int) -> None: ...

        def with_keywords(**options: int) -> None: ...

        def positional(x: int, /) -> None: ...

        def missing(x: "Nowhere") -> None: ...  # type: ignore[name-defined] # noqa: F821 # pyright: ignore

        def with_self(self) -> None: ...  # type: ignore[no-untyped-def] # pyright: ignore

        class Kitchen:
            def method(self) -> None: ...

        def yields() -> Iterator[int]:
            yield 1

        async def yields_later() -> AsyncIterator[int]:
            yield 1

        assert "parameter x has no type" in self.refused(bare)
        of_a_method = "parameter self is that of a method; use a function, or a method of an object"
        assert of_a_method in self.refused(with_self) and of_a_method in self.refused(Kitchen.method)
        assert "it is a generator; return the values" in self.refused(yields)
        assert "it is a generator; return the values" in self.refused(yields_later)
        assert "parameter x: no JSON Schema" in self.refused(opaque)
        assert "return type" in self.refused(returns_opaque)
        for function in (variadic, with_keywords, positional):
            assert "by name" in self.refused(function)
        assert "its annotations use Nowhere" in self.refused(missing)
        assert "it has no name" in self.refused(lambda: None)

    @pytest.mark.parametrize("annotation", [[str], 5, (int, str), {}, any, list[[str]], dict[str, [int]]], ids=repr)  # type: ignore[misc,valid-type]
    def test_annotations_that_are_not_types_are_refused(self, annotation: Any) -> None:
        def takes(a): ...  # type: ignore[no-untyped-def] # pyright: ignore

        def returns(): ...  # type: ignore[no-untyped-def] # pyright: ignore

        takes.__annotations__["a"] = returns.__annotations__["return"] = annotation
        assert "parameter a: no JSON Schema for its type: " in self.refused(takes)
        assert "no JSON Schema for its return type: " in self.refused(returns)

    def test_a_decorator_without_parentheses_is_refused(self) -> None:
        with pytest.raises(DefinitionError, match=r"test_definitions.py:\d+: tool: write @app.tool\(...\) with"):
            mcp.App("test").tool(print)  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]

    def test_a_completion_of_nothing_is_refused(self) -> None:
        app = mcp.App("test")
        with pytest.raises(DefinitionError, match=r"test_definitions.py:\d+: completion of x: prompt p has no x to"):
            app.completion("x", prompt="p")
        with pytest.raises(DefinitionError, match=r"test_definitions.py:\d+: completion of x: it needs either"):
            app.completion("x")

    def test_two_tools_with_the_same_name_are_refused(self) -> None:
        app = mcp.App("test")
        app.tool("one")(lambda: None)
        with pytest.raises(DefinitionError, match=r"tool one: already defined \(.*test_definitions.py:\d+\)"):
            app.tool("one")(lambda: None)

    def test_a_dependency_with_an_unknown_parameter_is_refused(self) -> None:
        app = mcp.App("test")

        def needs(number: int) -> int:
            return number

        def tool(value: Annotated[int, Depends(needs)]) -> None: ...

        with pytest.raises(DefinitionError, match="dependency needs: nothing provides number"):
            app.tool()(tool)

    @pytest.mark.parametrize("length", [1, 2, 7])
    def test_dependencies_in_a_cycle_are_refused(self, length: int) -> None:
        def link() -> Any:
            def provide(value: Any) -> Any:
                return value

            return provide

        links = [link() for _ in range(length)]
        for place, one in enumerate(links):
            one.__annotations__ = {"value": Annotated[Any, Depends(links[place - 1])]}

        def tool(value: Annotated[Any, Depends(links[0])]) -> None: ...

        with pytest.raises(DefinitionError, match="dependency provide: dependencies depend on each other in a cycle"):
            mcp.App("test").tool()(tool)


def test_decorators_and_handlers_mix_in_one_server() -> None:
    class Mixed(mcp.App):
        async def list_prompts(
            self, params: mcp.PaginatedRequestParams | None, ctx: mcp.Context
        ) -> mcp.ListPromptsResult:
            return mcp.ListPromptsResult(prompts=[mcp.Prompt(name="low")])

        async def list_tools(self, params: mcp.PaginatedRequestParams | None, ctx: mcp.Context) -> mcp.ListToolsResult:
            listed: mcp.ListToolsResult = await super().list_tools(params, ctx)
            listed.tools[0].title = "Changed"
            return listed

    app = Mixed("test")
    app.tool("one")(lambda: None)

    async def main() -> None:
        async with opened(app) as client:
            assert sorted(client.capabilities) == ["logging", "prompts", "tools"]
            assert (await client.list_tools()).tools[0].title == "Changed"
            assert (await client.list_prompts()).prompts[0].name == "low"

    asyncio.run(main())


def test_a_server_declares_only_what_it_has() -> None:
    async def main() -> None:
        async with opened(mcp.App("test")) as client:
            assert sorted(client.capabilities) == ["logging"]
            info = client.connection.peer_info
            assert info["name"] == "test"

    asyncio.run(main())


@pytest.mark.parametrize("version", [mcp, mcp_bindings])
def test_completion_offers_what_authors_use(version: Any) -> None:
    app = version.App("test")
    own = {name for name in dir(app) if not name.startswith("_")} - {*dir(version.Server)}
    assert own == {
        *("completion", "files", "prompt", "resource", "run", "subscription", "tool"),
        *("add_tool", "decorator", "mount", "remove_prompt", "remove_resource", "remove_tool"),
    }
    server = {name for name in dir(version.Server) if not name.startswith("_")} - set(app.__handlers__.values())
    assert server == {"client_class", "connected", "effective_options", "options"}
