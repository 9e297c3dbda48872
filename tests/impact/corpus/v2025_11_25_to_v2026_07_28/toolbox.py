"""What hides types from simple readers: overloads, generics, decorators, protocols, containers, generators."""

import asyncio
import functools
import itertools
from collections import ChainMap, Counter, defaultdict, deque
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Generator, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from operator import methodcaller
from typing import Any, Concatenate, Generic, Literal, NamedTuple, ParamSpec, Protocol, TypedDict, TypeVar, overload

from mcp_bindings.v2025_11_25 import CallToolRequestParams, CallToolResult, Client, Context, Server, TextContent, Tool

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
K = TypeVar("K")
P = ParamSpec("P")
ToolT = TypeVar("ToolT", bound=Tool)


class Box(Generic[T]):
    def __init__(self, value: T) -> None:
        self.value = value

    def get(self) -> T:
        return self.value

    def map(self, change: Callable[[T], K]) -> "Box[K]":
        return Box(change(self.value))


def boxed(box: Box[Tool]) -> object:
    print(box.get().name)
    print(box.get().execution)  # impact: property-removed-optional
    print(box.value.execution)  # impact: property-removed-optional
    return box.map(lambda tool: tool.execution).get()  # impact: property-removed-optional


def inferred(tool: Tool) -> object:
    return Box(tool).get().execution  # impact: property-removed-optional


@overload
def find(tools: list[Tool], key: int) -> Tool: ...
@overload
def find(tools: list[Tool], key: str) -> Tool | None: ...
@overload
def find(tools: list[Tool], key: None) -> list[str]: ...
def find(tools: list[Tool], key: int | str | None) -> Tool | list[str] | None:
    if isinstance(key, int):
        return tools[key]
    if key is None:
        return [tool.name for tool in tools]
    return next((tool for tool in tools if tool.name == key), None)


def overloaded(tools: list[Tool]) -> object:
    print(find(tools, None))
    print(find(tools, 1).execution)  # impact: property-removed-optional
    if found := find(tools, "x"):
        return found.execution  # impact: property-removed-optional
    return None


def first(items: Iterable[T], default: K) -> T | K:
    return next(iter(items), default)


def generic(tools: list[Tool], words: list[str]) -> object:
    print(first(words, "x").upper())
    tool = first(tools, None)
    return tool and tool.execution  # impact: property-removed-optional


def same(tool: ToolT) -> ToolT:
    print(tool.execution)  # impact: property-removed-optional
    return tool


def bound(tool: Tool) -> object:
    return same(tool).execution  # impact: property-removed-optional


def logged(function: Callable[P, Awaitable[T]]) -> Callable[P, Awaitable[T]]:
    @functools.wraps(function)
    async def inner(*args: P.args, **kwargs: P.kwargs) -> T:
        return await function(*args, **kwargs)

    return inner


def with_client(function: Callable[Concatenate[Client, P], T]) -> Callable[Concatenate[Client, P], T]:
    return function


@logged
async def call(client: Client, name: str) -> CallToolResult:
    return await client.call_tool(name=name)


@with_client
def opened(client: Client, name: str) -> Tool:
    raise NotImplementedError(client, name)


async def decorated(client: Client) -> None:
    result = await call(client, "x")
    print(result.is_error)
    print(result.structured_content)  # impact: type-widened
    print(opened(client, name="x").execution)  # impact: property-removed-optional
    ping = logged(client.ping)  # impact: request-method-removed
    await ping()


class HasTool(Protocol):
    @property
    def tool(self) -> Tool: ...

    def result(self) -> CallToolResult: ...


class Source(Protocol[T_co]):
    def load(self) -> T_co: ...


def structural(holder: HasTool, source: Source[Tool]) -> object:
    print(holder.tool.execution)  # impact: property-removed-optional
    print(holder.result().structured_content)  # impact: type-widened
    return source.load().execution  # impact: property-removed-optional


class Entry(TypedDict):
    tool: Tool
    results: list[CallToolResult]


class Pair(NamedTuple):
    name: str
    tool: Tool


@dataclass
class State(Generic[T]):
    item: T
    tools: dict[str, Tool] = field(default_factory=dict[str, Tool])
    history: deque[CallToolResult] = field(default_factory=deque[CallToolResult])


def containers(entry: Entry, pair: Pair, state: State[Tool]) -> None:
    print(entry["tool"].execution)  # impact: property-removed-optional
    print([r.structured_content for r in entry["results"]])  # impact: type-widened
    print(pair.tool.execution, pair[1].name)  # impact: property-removed-optional
    print(pair[1].execution)  # impact: property-removed-optional
    print(state.item.execution)  # impact: property-removed-optional
    print(state.tools["x"].execution)  # impact: property-removed-optional
    print(state.history.pop().structured_content)  # impact: type-widened
    print(replace(state, item=state.item).item.execution)  # impact: property-removed-optional


def grouped(tools: list[Tool]) -> None:
    by_title: defaultdict[str, list[Tool]] = defaultdict(list)
    for tool in tools:
        by_title[tool.title or ""].append(tool)
    for group in by_title.values():
        print(group[0].execution)  # impact: property-removed-optional
    for _, ordered in itertools.groupby(tools, key=lambda tool: tool.name):
        print([tool.execution for tool in ordered])  # impact: property-removed-optional
    for tool in itertools.chain(tools, reversed(tools)):
        print(tool.execution)  # impact: property-removed-optional
    names = Counter(tool.name for tool in tools)
    print(names.most_common(1)[0][0].upper())
    both = ChainMap({"a": tools[0]}, {"b": tools[1]})
    print(both["a"].execution)  # impact: property-removed-optional
    print(max(tools, key=lambda tool: tool.name).execution)  # impact: property-removed-optional
    print(functools.reduce(lambda one, other: one, tools).execution)  # impact: property-removed-optional
    print(list(map(methodcaller("upper"), names)))


def make(name: str, *, title: str | None = None) -> Tool:
    raise NotImplementedError(name, title)


def partial() -> object:
    maker = functools.partial(make, title="x")
    return maker("y").execution  # impact: property-removed-optional


@functools.cache
def cached(name: str) -> Tool:
    return make(name)


class Lazy:
    @functools.cached_property
    def tool(self) -> Tool:
        return cached("x")

    def __getitem__(self, key: slice) -> list[Tool]:
        return [self.tool][key]


def lazy(one: Lazy) -> object:
    print(cached("x").execution)  # impact: property-removed-optional
    print(one[:1][0].execution)  # impact: property-removed-optional
    return one.tool.execution  # impact: property-removed-optional


async def pages(client: Client) -> AsyncIterator[Tool]:
    async for tool in client.iter_tools():
        yield tool


@asynccontextmanager
async def session(client: Client) -> AsyncGenerator[tuple[Client, Mapping[str, Tool]]]:
    yield client, {tool.name: tool async for tool in pages(client)}


@contextmanager
def borrowed(tool: Tool) -> Generator[Box[Tool]]:
    yield Box(tool)


async def streamed(client: Client) -> None:
    print([tool.execution async for tool in pages(client)])  # impact: property-removed-optional
    async with session(client) as (peer, tools):
        await peer.ping()  # impact: request-method-removed
        print({name: tool.execution for name, tool in tools.items()})  # impact: property-removed-optional
    async with AsyncExitStack() as stack:
        peer, tools = await stack.enter_async_context(session(client))
        await peer.set_level(level="info")  # impact: request-method-removed
        box = stack.enter_context(borrowed(tools["x"]))
        print(box.get().execution)  # impact: property-removed-optional
    async with asyncio.TaskGroup() as group:
        task = group.create_task(client.list_tools())
    print(task.result().tools[0].execution)  # impact: property-removed-optional


class Registry(dict[str, Tool]):
    pass


Hook = Callable[[CallToolRequestParams], CallToolResult]


class Hooks(Server):
    def __init__(self, hooks: Mapping[Literal["before", "after"], Hook], registry: Registry) -> None:
        self.hooks = hooks
        self.registry = registry

    async def call_tool(self, params: CallToolRequestParams, ctx: Context) -> CallToolResult:
        await ctx.client.ping()  # impact: request-method-removed
        print(self.registry["x"].execution)  # impact: property-removed-optional
        print([tool.execution for tool in self.registry.values()])  # impact: property-removed-optional
        print(params.task)  # impact: property-removed-optional
        print(self.hooks["before"](params).structured_content)  # impact: type-widened
        return CallToolResult(content=[TextContent(text="x")])


def narrowed(value: Tool | CallToolResult | dict[str, Any]) -> object:
    if isinstance(value, dict):
        return value.get("x")
    if isinstance(value, Tool):
        return value.execution  # impact: property-removed-optional
    return value.structured_content  # impact: type-widened
