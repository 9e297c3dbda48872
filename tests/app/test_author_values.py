"""Defaults, numbers, text and aliases of an author's values, and what may be registered besides functions."""

import functools
import math
import random
from collections import deque
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any, Generic, Literal, TypeVar

import pytest
from pydantic import BaseModel, ConfigDict, Field

from mcp_bindings import v2026_07_28 as mcp
from mcp_runtime import requires_scopes
from mcp_runtime.app import DefinitionError, ToolFailure
from mcp_runtime.testing import connect

T = TypeVar("T")


class Point(BaseModel):
    x: int = 1
    any: Any = None


DEFAULTS: dict[str, tuple[Any, Any]] = {
    "by name": (Annotated[int, Field(default=3, ge=1)], 3),
    "by place": (Annotated[int, Field(3)], 3),
    "none": (Annotated[str | None, Field(default=None)], None),
    "made": (Annotated[list[int], Field(default_factory=list)], []),
    "two": (Annotated[str, Field(description="d"), Field(default="all")], "all"),
    "choice": (Annotated[Literal["a", "b"], Field(default="b")], "b"),
    "model": (Annotated[Point, Field(default=Point(x=7))], Point(x=7)),
    "falsy": (Annotated[bool, Field(default=False)], False),
}


@pytest.mark.parametrize("kind", DEFAULTS)
async def test_a_default_in_the_annotation_makes_an_argument_optional(kind: str) -> None:
    annotation, default = DEFAULTS[kind]
    seen = list[Any]()
    app: Any = mcp.App("x")

    def take(before: int, n: Any) -> str:
        seen.append(n)
        return ""

    take.__annotations__["n"] = annotation
    app.tool(description="d")(take)
    client: Any
    async with connect(app) as client:
        [tool] = (await client.list_tools()).tools
        assert tool.input_schema.model_dump(mode="json")["required"] == ["before"]
        assert not (await client.call_tool(name="take", arguments={"before": 1})).is_error
        assert (await client.call_tool(name="take", arguments={})).is_error
    assert seen == [default]


async def test_also_of_prompts_and_templates_and_not_without_a_default() -> None:
    app: Any = mcp.App("x")

    def ask(topic: Annotated[str, Field(default="all")], other: Annotated[str, Field(description="d")]) -> str:
        return f"{topic} {other}"

    def read(part: Annotated[str, Field(default="whole")]) -> str:
        return part

    app.prompt()(ask)
    app.resource("n://x{?part}")(read)
    client: Any
    async with connect(app) as client:
        [prompt] = (await client.list_prompts()).prompts
        assert [argument.required for argument in prompt.arguments or ()] == [None, True]
        [message] = (await client.get_prompt(name="ask", arguments={"other": "b"})).messages
        assert message.content.model_dump()["text"] == "all b"
        assert (await client.read_resource(uri="n://x")).contents[0].model_dump()["text"] == "whole"


class Holder(BaseModel):
    inner: Any
    other: float = 1.0


def nested(chance: random.Random, leaf: Any, depth: int) -> tuple[Any, list[str]]:
    """Return a leaf inside random containers, and the steps to it."""
    if not depth:
        return leaf, []
    inner, steps = nested(chance, leaf, depth - 1)
    more: Any = chance.choice([None, 1.5, "NaN", "null", [None]])
    match chance.randrange(5):
        case 0:
            return {"a": more, "b": inner}, ["['b']", *steps]
        case 1:
            return [more, inner], ["[1]", *steps]
        case 2:
            return (inner, more), ["[0]", *steps]
        case 3:
            return deque([inner]), ["[0]", *steps]
        case _:
            return Holder(inner=inner), ["['inner']", *steps]


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("seed", range(12))
async def test_numbers_that_json_cannot_express_are_an_error_that_names_the_path(
    seed: int, number: float, caplog: pytest.LogCaptureFixture
) -> None:
    chance = random.Random(seed)
    depth = seed % 4
    bad, steps = nested(chance, number, depth)
    good, _ = nested(random.Random(seed), None, depth)
    path = "".join(["['m']", *steps])
    app: Any = mcp.App("x")

    def bare(wrong: bool):  # type: ignore[no-untyped-def]
        return {"m": bad if wrong else good}

    def untyped(wrong: bool) -> Any:
        return {"m": bad if wrong else good}

    def keyed(wrong: bool) -> dict[str, Any]:
        return {"m": bad if wrong else good}

    def model(wrong: bool) -> Holder:
        return Holder(inner={"m": bad if wrong else good})

    untyped.__annotations__["return"] = dict
    tools: list[Any] = [bare, untyped, keyed, model]
    for tool in tools:
        app.tool(description="d", structured=True)(tool)
    app.resource("n://{wrong}")(bare)
    client: Any
    async with connect(app) as client:
        for tool in tools:
            assert not (await client.call_tool(name=tool.__name__, arguments={"wrong": False})).is_error
            caplog.clear()
            result = await client.call_tool(name=tool.__name__, arguments={"wrong": True})
            assert result.is_error and "log" in result.content[0].model_dump()["text"]
            where = f"['inner']{path}" if tool is model else path
            assert f"{where} is {number}, which JSON cannot express" in caplog.text, caplog.text
        caplog.clear()
        with pytest.raises(mcp.errors.PeerInternalError):
            await client.read_resource(uri="n://true")
        assert path in caplog.text


class Kept(BaseModel, Generic[T]):
    """A value beside others."""

    name: str = "2026-01-01T00:00:00"
    kept: T


@dataclass
class Pair(Generic[T]):
    count: int
    second: T


GENERIC: dict[str, Any] = {"list": list, "dict": dict, "tuple": tuple, "model": Kept, "dataclass": Pair}


def declared(chance: random.Random, leaf: Any, depth: int) -> tuple[Any, Any, str]:
    """Return a leaf inside random containers, the type of all that, and the path to the leaf."""
    if not depth:
        return leaf, datetime, ""
    inner, kind, path = declared(chance, leaf, depth - 1)
    match chance.randrange(6):
        case 0:
            return [inner], GENERIC["list"][kind], f"[0]{path}"
        case 1:
            return {"a": inner}, GENERIC["dict"][str, kind], f"['a']{path}"
        case 2:
            return (1, inner), GENERIC["tuple"][int, kind], f"[1]{path}"
        case 3:
            return inner, kind | None, path
        case 4:
            return GENERIC["model"][kind](kept=inner), GENERIC["model"][kind], f"['kept']{path}"
        case _:
            return Pair(1, inner), GENERIC["dataclass"][kind], f"['second']{path}"


@pytest.mark.parametrize("seed", range(24))
async def test_a_time_without_its_zone_is_an_error_that_names_the_path(
    seed: int, caplog: pytest.LogCaptureFixture
) -> None:
    naive = datetime(2026, 1, 2, 3, 4, 5, random.Random(seed).choice([0, 600]))
    bad, kind, path = declared(random.Random(seed), naive, seed % 5)
    good, _, _ = declared(random.Random(seed), naive.replace(tzinfo=UTC), seed % 5)

    def when(wrong: bool) -> Any:
        return bad if wrong else good

    when.__annotations__["return"] = kind
    app = mcp.App("x")
    app.tool(description="d")(when)
    client: Any
    async with connect(app) as client:
        assert not (await client.call_tool("when", {"wrong": False})).is_error
        assert (await client.call_tool("when", {"wrong": True})).is_error
    assert f": {path or 'it'} is a datetime without a time zone; pass one" in caplog.text, caplog.text


async def test_times_that_no_schema_describes_are_sent_as_they_are() -> None:
    app = mcp.App("x")

    @app.tool(description="d")
    def when() -> dict[str, Any]:
        return {"at": datetime(2026, 1, 2)}

    async with connect(app) as client:
        assert (await client.call_tool("when")).structured_content == {"at": "2026-01-02T00:00:00"}


HALF = "file\udcaf.txt"
HALVES: dict[str, Any] = {
    "text": HALF,
    "list": [HALF],
    "dict": {"a": {"b": HALF}},
    "key": {HALF: 1},
    "block": mcp.TextContent(text=HALF),
    "blocks": [mcp.TextContent(text="é"), HALF],
    "link": mcp.ResourceLink(uri="n://x", name=HALF),
    "embedded": mcp.EmbeddedResource(resource=mcp.TextResourceContents(uri="n://x", text=HALF)),
    "metadata": mcp.TextContent.model_validate({"type": "text", "text": "a", "_meta": {"k": [HALF]}}),
    "result": mcp.CallToolResult(content=[mcp.TextContent(text=HALF)]),
    "structured": mcp.CallToolResult(content=[], structured_content={"a": HALF}),
    "model": Point(any=HALF),
}


@pytest.mark.parametrize("annotated", [False, True])
@pytest.mark.parametrize("kind", HALVES)
async def test_half_a_character_is_an_error_of_the_tool(
    kind: str, annotated: bool, caplog: pytest.LogCaptureFixture
) -> None:
    app: Any = mcp.App("x")

    def read() -> Any:
        return HALVES[kind]

    if annotated:
        read.__annotations__["return"] = type(HALVES[kind])
    app.tool(description="d", structured=annotated)(read)
    client: Any
    async with connect(app) as client:
        result = await client.call_tool(name="read")
    assert result.is_error and result.content[0].model_dump()["text"] == "read failed; see the server's log"
    assert "tool read" in caplog.text


async def test_a_failure_with_half_a_character_reaches_the_model() -> None:
    app: Any = mcp.App("x")

    def read() -> str:
        """Read."""
        raise ToolFailure(HALF)

    app.tool()(read)

    client: Any
    async with connect(app) as client:
        result = await client.call_tool(name="read")
    assert result.is_error and result.content[0].model_dump()["text"] == r"file\udcaf.txt"


class Aliased(BaseModel):
    cups: int = Field(2, alias="cupCount")


class Named(Aliased):
    model_config = ConfigDict(serialize_by_alias=False)


class Explicit(Aliased):
    model_config = ConfigDict(serialize_by_alias=True)


@pytest.mark.parametrize("model", [Aliased, Explicit, Named])
@pytest.mark.parametrize("is_list", [False, True])
@pytest.mark.parametrize("structured", [False, True])
async def test_a_model_decides_about_its_aliases(model: type[Aliased], is_list: bool, structured: bool) -> None:
    app: Any = mcp.App("x")

    def pour() -> Any:
        return [model.model_validate({})] if is_list else model.model_validate({})

    if structured:
        pour.__annotations__["return"] = list[model] if is_list else model  # type: ignore[valid-type]
    app.tool(description="d", structured=structured)(pour)
    name = "cups" if model is Named else "cupCount"
    client: Any
    async with connect(app) as client:
        [tool] = (await client.list_tools()).tools
        result = await client.call_tool(name="pour")
    text = result.content[0].model_dump()["text"]
    if structured:
        assert f'"{name}"' in tool.model_dump_json()
        assert result.structured_content == ([{name: 2}] if is_list else {name: 2})
    assert f'"{name}":2' in text or (is_list and not structured)


def pour(tea: str, cups: int = 1, hot: bool = True) -> str:
    """Pour tea.

    Args:
        tea: which one.
    """
    return f"{tea} {cups} {hot}"


async def brew(tea: str, cups: int = 1) -> str:
    """Brew tea."""
    return f"{tea} {cups}"


class Greeter:
    """Greets people."""

    def __init__(self, greeting: str) -> None:
        self.greeting = greeting

    def __call__(self, name: str, ctx: mcp.Context) -> str:
        return f"{self.greeting} {name} {type(ctx).__name__}"


class Waiting:
    async def __call__(self, name: str = "you") -> str:
        """Wait for somebody."""
        return f"for {name}"


CALLABLES: dict[str, tuple[Any, str, list[str], dict[str, Any], str]] = {
    "by place": (functools.partial(pour, "green"), "pour", ["cups", "hot"], {"cups": 2}, "green 2 True"),
    "by name": (functools.partial(pour, cups=3), "pour", ["tea", "hot"], {"tea": "mint"}, "mint 3 True"),
    "twice": (functools.partial(functools.partial(pour, "green"), hot=False), "pour", ["cups"], {}, "green 1 False"),
    "async": (functools.partial(brew, cups=4), "brew", ["tea"], {"tea": "mint"}, "mint 4"),
    "object": (Greeter("hello"), "Greeter", ["name"], {"name": "Ada"}, "hello Ada Context"),
    "async object": (Waiting(), "Waiting", ["name"], {}, "for you"),
    "partial of object": (functools.partial(Waiting(), name="me"), "Waiting", [], {}, "for me"),
    "partial of method": (functools.partial(Greeter("hi").__call__, "Bob"), "__call__", [], {}, "hi Bob Context"),
}


@pytest.mark.parametrize("kind", CALLABLES)
async def test_partials_and_objects_are_registered_like_functions(kind: str) -> None:
    function, name, arguments, given, text = CALLABLES[kind]
    app: Any = mcp.App("x")
    app.tool(**({"description": "d"} if name == "__call__" else {}))(function)
    client: Any
    async with connect(app) as client:
        [tool] = (await client.list_tools()).tools
        assert tool.name == name and tool.description
        assert list(tool.input_schema.model_dump(mode="json").get("properties") or {}) == arguments
        result = await client.call_tool(name=name, arguments=given)
        assert not result.is_error and result.content[0].model_dump()["text"] == text
        for bound in {"tea", "cups", "hot"} - {*arguments} if kind != "async" else set[str]():
            assert (
                await client.call_tool(name=name, arguments={**given, bound: "x"})
            ).is_error, "a bound argument is not the client's"


def test_their_descriptions_and_scopes_count() -> None:
    app: Any = mcp.App("x")
    app.tool()(requires_scopes("deep")(functools.partial(pour, cups=1)))
    app.resource("n://x/{name}")(requires_scopes("wide")(Waiting()))
    assert app.__scopes_for__("tools/call", "pour") == ("deep",)
    assert app.__scopes_for__("resources/read", "n://x/a") == ("wide",)


@pytest.mark.parametrize("given", [7, Point, functools.partial(int, "7"), print, functools.partial(Point, x=1)])
def test_other_objects_are_still_refused(given: Any) -> None:
    app: Any = mcp.App("x")
    with pytest.raises(DefinitionError, match=r"expected a function|is a class|signature of .* cannot be read"):
        app.tool()(given)
