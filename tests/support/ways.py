"""The ways in which an author's code starts, continues, or tells what it returned, over HTTP with tokens.

This is the only list of them: `tests/repo/test_ways.py` fails for a place of the runtime that no row names.
"""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final, cast

from mcp_bindings import v2025_11_25
from mcp_runtime.core.settings import Suspended
from mcp_runtime.core.transports.http import asgi_app
from mcp_runtime.decorators import requires_scopes
from mcp_runtime.extensions.tasks import SqliteTaskStore
from mcp_runtime.sealed import InputState, MemorySpentStates
from mcp_runtime.web_server import sse_app
from support import way_steps as steps
from support.http import browser, served
from support.tokens import bearer
from support.way_steps import Step
from support.way_world import KEY, SECRET, World


@dataclass(frozen=True)
class Way:
    """One way.

    Attributes:
        name: what it is called in the documentation.
        step: does it.
        places: the places of the runtime that it proves: those that make an exchange, or give it a sender.
        runs: whether an author's function runs or continues in the step, rather than before.
        shows: what only a wide token may see.
        is_new: whether only servers of the newest revision have it: those whose handlers defer.
        serve: returns the application, given the world.
    """

    name: str
    step: Step
    places: tuple[str, ...] = ()
    runs: bool = True
    shows: str = SECRET
    is_new: bool = False
    serve: Callable[[World], Any] = lambda world: asgi_app(world.app(), auth=bearer(KEY))


def _listing(world: World) -> Any:
    made = world.app()
    own, hooked = made.list_tools, cast("Any", made)

    @made.tool()
    async def free(x: int) -> str:
        """Need no scope."""
        return SECRET

    @requires_scopes("w")
    async def list_tools(params: Any, ctx: Any) -> Any:
        world.note(ctx)
        return await own(params, ctx)

    hooked.list_tools = list_tools
    return asgi_app(made, auth=bearer(KEY))


def _lasting(world: World) -> Any:
    return asgi_app(world.app(SqliteTaskStore(world.folder.name + "/tasks", poll_interval=0.01)), auth=bearer(KEY))


def _sealed(world: World, spent: MemorySpentStates | None = None) -> Any:
    return asgi_app(world.app(inputs=InputState(keys=[bytes(32)], spent=spent)), auth=bearer(KEY))


def _sealed_once(world: World) -> Any:
    return _sealed(world, MemorySpentStates())


def _sessionless(world: World) -> Any:
    return asgi_app(world.app(), auth=bearer(KEY), stateless=True)


def _busy(world: World) -> Any:
    return asgi_app(world.app(max_in_flight=1), auth=bearer(KEY))


def _sse(world: World) -> Any:
    return sse_app(world.app(), auth=bearer(KEY))


def _shared(world: World) -> Any:
    return asgi_app(world.app(inputs=Suspended(shared=True)), auth=bearer(KEY))


WAYS: Final = (
    Way(
        "call",
        steps.calls,
        ("core/connection/calls.py:Call.__init__", "core/transports/http/server/streams.py:Stream.__init__"),
    ),
    Way("read of a resource", steps.reads),
    Way("prompt", steps.prompts),
    Way("completion", steps.completes, runs=False),
    Way("subscription", steps.subscribes, shows=""),
    Way("batch", steps.batches),
    Way("call without a session", steps.without_session, serve=_sessionless),
    Way("HTTP+SSE", steps.over_sse, ("web_server/sse.py:SseSession.take",), serve=_sse),
    Way("vendor request", steps.vendor),
    Way("vendor notification", steps.notifies, shows=""),
    Way("modern call", steps.modern),
    Way("modern completion", steps.modern_completes, runs=False),
    Way("modern subscription", steps.listens(steps.resources, "resourceSubscriptions"), shows="acme://x"),
    Way(
        "list that the server asks itself for",
        steps.own_list,
        ("core/connection/connection.py:Exchange.of",),
        serve=_listing,
    ),
    Way("cancellation", steps.cancels, runs=False, shows=""),
    *(
        Way(f"cancellation of a waiting {name}", steps.cancels_waiting(message), runs=False, shows="", serve=_busy)
        for name, message in steps.WAITING.items()
    ),
    Way("stream of a session with a task", steps.watches, runs=False, shows="status"),
    Way(
        "stream of a session in which a task begins",
        steps.goes_on_watching,
        ("core/transports/http/server/app.py:HttpApp._get",),
        runs=False,
        shows="status",
    ),
    Way("task", steps.creates, ("extensions/tasks/related.py:TaskExchange.__init__",)),
    Way("tasks/get", steps.of_task("tasks/get"), runs=False, shows="taskId"),
    Way("tasks/result", steps.of_task("tasks/result"), runs=False),
    Way("tasks/list", steps.of_task("tasks/list"), runs=False, shows="taskId"),
    Way("tasks/cancel", steps.of_task("tasks/cancel"), runs=False, shows="taskId"),
    Way("modern tasks/get", steps.of_modern_task("tasks/get"), runs=False, is_new=True),
    Way(
        "modern tasks/update",
        steps.of_modern_task("tasks/update"),
        ("extensions/tasks/task_server.py:TaskServer.update",),
        shows="",
        is_new=True,
    ),
    Way("modern tasks/cancel", steps.of_modern_task("tasks/cancel"), runs=False, shows="complete", is_new=True),
    Way("states of tasks", steps.listens(steps.states, "taskIds"), runs=False, shows="taskIds", is_new=True),
    Way(
        "task that runs again",
        steps.restarts,
        ("core/connection/connection.py:Exchange.of",),
        is_new=True,
        serve=_lasting,
    ),
    Way("answer to a question", steps.answers, ("core/connection/calls.py:Pending.refused",)),
    Way("answer to a question of a task", steps.answers_task),
    Way("retry with an answer", steps.retries, ("core/connection/calls.py:Call.resume",)),
    Way("retry to another connection", steps.retries, serve=_shared),
    Way("sealed state", steps.retries, serve=_sealed),
    Way("sealed state that is used once", steps.retries, serve=_sealed_once),
    Way("stream that is read again", steps.replays, runs=False),
)
"""The table. A bridge is between half of them and the server, whichever revision that is written for."""

METHODS: Final = {
    "tools/call": "call",
    "resources/read": "read of a resource",
    "prompts/get": "prompt",
    "completion/complete": "completion",
    "resources/subscribe": "subscription",
    "subscriptions/listen": "modern subscription",
    "tasks/get": "tasks/get",
    "tasks/result": "tasks/result",
    "tasks/list": "tasks/list",
    "tasks/cancel": "tasks/cancel",
    "tasks/update": "modern tasks/update",
    "tools/list": "list that the server asks itself for",
}
"""The way that proves each request of a client."""
UNSCOPED: Final = {
    "initialize": "the runtime answers it",
    "server/discover": "the runtime answers it",
    "ping": "the runtime answers it",
    "logging/setLevel": "the runtime answers it",
    "resources/unsubscribe": "it only ends what the client began",
    "resources/list": "like tools/list; lists of an App are the same for all",
    "resources/templates/list": "like tools/list",
    "prompts/list": "like tools/list",
}
"""The requests of clients that have no row, and why."""
CHANNELS: Final = {"StdioTransport": "one local peer", "MemoryTransport": "one program"}
"""The transports without authorization, and why nobody else can reach the server over them."""


@asynccontextmanager
async def served_to(way: Way, package: Any = v2025_11_25) -> AsyncGenerator[World]:
    """Serve what a way needs, written for a revision."""
    world = World(package)
    async with served(way.serve(world)) as url, browser(url) as http:
        world.http = http
        yield world
        world.gate.set()
    world.folder.cleanup()
