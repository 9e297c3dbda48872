"""What the author of an App does wrong is told to the author, in one line, and not to the client."""

import asyncio
import io
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import BaseModel

from mcp_bindings import Image, PeerError
from mcp_bindings import v2025_11_25 as mcp
from mcp_runtime.app import DefinitionError
from mcp_runtime.memory import connect_memory
from support.apps import call, text_of
from support.programs import run_program


class Kettle(BaseModel):
    size: int


@dataclass
class Cup:
    size: int


async def later() -> int:
    return 1


@pytest.mark.parametrize(
    ("make", "declared", "reason"),
    [
        (lambda: "many", int, "returned str, declared int: Input should be a valid integer"),
        (lambda: [1, "b"], list[int], "returned list, declared list[int]: [1] Input should be a valid integer"),
        (lambda: {"a": {"b": 1}}, dict[str, int], "returned dict, declared dict[str, int]: ['a'] Input should"),
        (lambda: (number for number in range(3)), str, "returned generator, an iterator: return its values as a list"),
        (lambda: {"a": b"\xff"}, dict[str, bytes], "declared dict[str, bytes]: bytes that are not UTF-8 are not JSON"),
        (
            object,
            object,
            "returned object, declared object: Unable to serialize unknown type: <class 'object'>; declare",
        ),
        (lambda: {"a": [object()]}, dict[str, Any], "declared dict[str, typing.Any]: Unable to serialize unknown type"),
        (lambda: io.StringIO("text"), str, "returned an open file: return its text or its bytes"),
    ],
)
def test_a_wrong_result_is_logged_in_one_line(
    make: Callable[[], Any], declared: Any, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    def forecast() -> Any:
        """Look ahead."""
        return make()

    forecast.__annotations__["return"] = declared
    app = mcp.App("test")
    app.tool()(forecast)
    with caplog.at_level(logging.ERROR, "mcp_runtime"):
        result = asyncio.run(call(app, "forecast"))
    assert (result.is_error, text_of(result)) == (True, "forecast failed; see the server's log")
    [record] = caplog.records
    assert record.exc_info is None
    assert reason in record.getMessage() and f"tool forecast ({__file__}:" in record.getMessage()


def test_a_forgotten_await_is_named(caplog: pytest.LogCaptureFixture) -> None:
    app = mcp.App("test")

    @app.tool()
    async def forecast() -> Any:
        """Look ahead."""
        return later()

    assert asyncio.run(call(app, "forecast")).is_error
    assert "returned a coroutine: is an await missing?" in caplog.text


async def test_failures_of_tools_are_limited_like_all_lines_of_a_connection(caplog: pytest.LogCaptureFixture) -> None:
    app = mcp.App("test")

    @app.tool()
    def fail() -> str:
        """Fail."""
        raise RuntimeError("again")

    async with connect_memory(app) as peer:
        client = await mcp.Client.open(peer)
        for _ in range(300):
            assert (await client.call_tool(name="fail")).is_error
    assert 20 <= len(caplog.records) <= 250


async def test_a_wrong_answer_to_a_form_is_one_line_without_traceback(caplog: pytest.LogCaptureFixture) -> None:
    class Person(mcp.ClientHandlers):
        async def elicit(self, params: mcp.ElicitRequestParams, ctx: mcp.ClientContext) -> mcp.ElicitResult:
            return mcp.ElicitResult(action="accept", content={"size": "seven"})

    class Size(BaseModel):
        size: int

    app = mcp.App("test")

    @app.tool()
    async def plan(ctx: mcp.Context) -> str:
        """Ask for a size."""
        return str(await ctx.elicit("How big?", Size))

    async with connect_memory(app) as peer:
        client = await mcp.Client.open(peer, handlers=Person())
        assert (await client.call_tool(name="plan")).is_error
    [record] = caplog.records
    assert record.exc_info is None and "tool plan failed" in record.getMessage() and "size" in record.getMessage()


def test_a_tool_that_blocks_the_event_loop_is_named_once(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp_runtime.app.blocking.LIMIT", 0.02)
    app = mcp.App("test")

    @app.tool()
    async def sluggish() -> str:
        """Sleep without await, after one with."""
        await asyncio.sleep(0.03)
        time.sleep(0.03)
        return "done"

    @app.tool()
    async def patient() -> str:
        """Sleep as it should."""
        await asyncio.sleep(0.03)
        return "done"

    for name in ("patient", "sluggish", "sluggish"):
        assert text_of(asyncio.run(call(app, name))) == "done"
    [record] = [record for record in caplog.records if "blocked the event loop" in record.getMessage()]
    assert "tool sluggish" in record.getMessage() and "without async it runs in a thread" in record.getMessage()


async def test_cancelling_reaches_a_watched_tool() -> None:
    app = mcp.App("test")
    ended = asyncio.Event()
    began = asyncio.Event()

    @app.tool()
    async def wait() -> str:
        """Wait until it is cancelled."""
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return "never"

    calling = asyncio.create_task(call(app, "wait"))
    await began.wait()
    calling.cancel()
    await asyncio.wait_for(ended.wait(), 10)


@pytest.mark.parametrize("name", ["ctx", "context"])
def test_a_context_without_a_type_gets_advice(name: str) -> None:
    scope: dict[str, Any] = {}
    exec(f"def add({name}, a: int) -> int: ...", scope)
    with pytest.raises(DefinitionError, match=f"{name} has no type; annotate it, for example {name}: Context"):
        mcp.App("test").tool()(scope["add"])


class Brewer:
    """Not a function."""

    def __init__(self, tea: str) -> None:
        self.tea = tea

    def brew(self, cups: int) -> int:
        """Brew tea."""
        return cups


class Calling(Brewer):
    def __call__(self, cups: int) -> int:
        return self.brew(cups)


def passes_on(function: Callable[..., Any]) -> Callable[..., Any]:
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return wrapper


def passes_names_on(function: Callable[..., Any]) -> Callable[..., Any]:
    async def wrapper(**kwargs: Any) -> Any:
        return await function(**kwargs)

    return wrapper


def takes_anything(*args: int) -> int:
    return len(args)


UNWRAPPED = "if a decorator made it, add @functools.wraps(function) to its inner function"


@pytest.mark.parametrize("kind", ["tool", "prompt", "resource"])
@pytest.mark.parametrize(
    ("given", "advice"),
    [
        (Brewer, "Brewer is a class; pass a function, a method of an object, or an object with __call__"),
        (Calling, "Calling is a class; pass a function"),
        (len, "the signature of <built-in function len> cannot be read; call it in a function with typed parameters"),
        (3, "expected a function, not 3"),
        (passes_on(later), UNWRAPPED),
        (passes_names_on(later), UNWRAPPED),
    ],
)
def test_the_advice_fits_what_was_decorated(kind: str, given: Any, advice: str) -> None:
    app = mcp.App("test")
    decorate: Any = app.resource("tea://cup") if kind == "resource" else getattr(app, kind)()
    with pytest.raises(DefinitionError) as raised:
        decorate(given)
    assert advice in str(raised.value) and str(raised.value).startswith(f"{__file__}:")


def test_a_function_that_is_not_a_wrapper_gets_no_advice_on_wrappers() -> None:
    with pytest.raises(DefinitionError, match=r"positional-only parameters do not work$"):
        mcp.App("test").tool()(takes_anything)


@pytest.mark.parametrize("kind", ["tool", "prompt", "resource"])
@pytest.mark.parametrize("given", [later, Calling("green"), partial(takes_anything, 1), len])
def test_a_decorator_without_parentheses_is_an_error(kind: str, given: Any) -> None:
    with pytest.raises(DefinitionError, match=rf"{__file__}:\d+: {kind}: write @app\.{kind}\(\.\.\.\) with parent"):
        getattr(mcp.App("test"), kind)(given)


def test_a_tool_without_a_description_is_a_warning_at_its_line() -> None:
    with pytest.warns(UserWarning, match="tool add: it has no description") as caught:

        @mcp.App("test").tool()
        def add(a: int) -> int:
            return a

    assert (caught[0].filename, caught[0].lineno) == (__file__, add.__code__.co_firstlineno)


@pytest.mark.parametrize("name", ["my tool!", "a/b", "größe", "a" * 129, "a,b", "tool\n", "x:y"])
def test_a_name_that_clients_may_refuse_is_a_warning_at_its_line(name: str) -> None:
    with pytest.warns(UserWarning, match="it may have 1 to 128 of A-Z, a-z, 0-9, _, - and .") as caught:

        @mcp.App("test").tool(name)
        def add(a: int) -> int:
            """Add."""
            return a

    assert (caught[0].filename, caught[0].lineno) == (__file__, add.__code__.co_firstlineno)


@pytest.mark.parametrize("name", ["a", "get_x", "get-x", "v1.get", "A" * 128, "1"])
def test_other_names_raise_no_warning(name: str, recwarn: pytest.WarningsRecorder) -> None:
    @mcp.App("test").tool(name)
    def add(a: int) -> int:
        """Add."""
        return a

    assert add(1) == 1 and not recwarn.list


SERVER = '''
from mcp_bindings.v2025_11_25 import App

app = App("test")

@app.tool()
def add(a) -> int:
    """Add."""
    return 1

app.run()
'''


def test_a_program_that_defines_a_tool_wrongly_ends_with_one_line(tmp_path: Path) -> None:
    path = tmp_path / "server.py"
    path.write_text(SERVER, "utf-8")
    done = run_program(path)
    expected = f"{path}:6: tool add: parameter a has no type; annotate it, for example a: str\n"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", expected)


def test_other_errors_keep_their_traceback(tmp_path: Path) -> None:
    path = tmp_path / "server.py"
    path.write_text(
        f"{SERVER.split('@app', maxsplit=1)[0]}try:\n    app.tool()(print)\nexcept TypeError:\n    pass\n1 / 0\n",
        "utf-8",
    )
    done = run_program(path)
    assert done.returncode == 1 and done.stderr.rstrip().endswith("ZeroDivisionError: division by zero")
    assert done.stderr.startswith("Traceback")


class Unsendable:
    """What JSON does not know."""


@pytest.mark.parametrize("returned", [Unsendable(), {"a": Unsendable()}, [Unsendable()], {"a": [1, Unsendable()]}])
async def test_a_value_that_is_not_json_is_one_line_of_the_log(returned: Any, caplog: pytest.LogCaptureFixture) -> None:
    app = mcp.App[Any]("test")

    @app.resource("lib://book")
    def book() -> Any:
        """A book."""
        return returned

    @app.prompt()
    def greet() -> Any:
        """Greet."""
        return returned

    @app.tool()
    def add() -> Any:
        """Add."""
        return returned

    async with connect_memory(app) as peer:
        client = await mcp.Client.open(peer)
        with pytest.raises(PeerError, match="internal error"):
            await client.read_resource("lib://book")
        with pytest.raises(PeerError, match="internal error"):
            await client.get_prompt("greet")
        result = await client.call_tool("add")
    assert text_of(result) == "add failed; see the server's log"
    lines = [record.getMessage() for record in caplog.records]
    for line, what in zip(lines, ("resource lib://book", "prompt greet", "tool add"), strict=True):
        assert what in line and f" ({__file__}:" in line
        assert "which is not JSON: Unable to serialize unknown type: <class '" in line
        assert line.endswith("; return text, bytes, a list, a dict or a model")
    assert all(record.exc_info is None for record in caplog.records)


def test_a_wrong_image_is_one_line_of_the_log(caplog: pytest.LogCaptureFixture) -> None:
    app = mcp.App("test")

    @app.tool()
    def draw() -> Image:
        """Draw."""
        return Image(b"abc")

    assert asyncio.run(call(app, "draw")).is_error
    [record] = caplog.records
    assert record.exc_info is None
    assert record.getMessage().startswith(f"tool draw failed: {__file__}:")


@pytest.mark.parametrize("kind", ["tool", "prompt", "resource"])
@pytest.mark.parametrize("given", [Brewer, Calling])
def test_a_class_gets_no_advice_on_parentheses(kind: str, given: Any) -> None:
    with pytest.raises(DefinitionError, match=rf"{__file__}:\d+: {kind} {given.__name__}: {given.__name__} is a class"):
        getattr(mcp.App("test"), kind)(given)


@pytest.mark.parametrize(
    "type_", [dict, dict[str, int], list[int], Annotated[list[str], "kinds"], tuple[int, str], set[str], Kettle, Cup]
)
def test_an_argument_of_a_prompt_that_no_string_can_be_is_refused(type_: Any) -> None:
    def brew(kind: Any) -> str:
        return str(kind)

    brew.__annotations__["kind"] = type_
    with pytest.raises(DefinitionError, match="prompt brew: parameter kind: arguments of prompts are strings, none of"):
        mcp.App("test").prompt()(brew)
