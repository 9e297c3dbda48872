"""A server whose functions need a scope, for the ways in which clients start them; see `support.ways`."""

import asyncio
from dataclasses import dataclass, field
from tempfile import TemporaryDirectory
from typing import Any, Final

import httpx2
from pydantic import BaseModel

from mcp_bindings import v2026_07_28
from mcp_runtime.asking import AskingContext
from mcp_runtime.core.connection.connection import Connection
from mcp_runtime.core.handlers import Context
from mcp_runtime.core.settings import ServerOptions
from mcp_runtime.decorators import requires_scopes
from mcp_runtime.extensions.tasks import MemoryTaskStore, SqliteTaskStore, Tasks, TaskStore, defer
from mcp_runtime.extensions.vendor import vendor_notification, vendor_request
from support.http import RawClient, hello, request
from support.http_modern import PREFIX, ModernClient, called, meta
from support.tokens import claims, ec_key, signed

KEY: Final = ec_key()
SECRET: Final = "for wide tokens only"
CANCELLED: Final = "notifications/cancelled"
TASKS: Final = f"{PREFIX}tasks"
YES: Final = {"action": "accept", "content": {"is_sure": True}}
LISTS: Final = "notifications/tools/list_changed"
MODERN: Final = meta(elicitation={"form": {}}, extensions={TASKS: {}})
ORDER: Final = vendor_request("acme/order", dict[str, Any], dict[str, Any])
SMELL: Final = vendor_notification("acme/smell", dict[str, Any])


class Sure(BaseModel):
    """What the tools ask."""

    is_sure: bool


@dataclass(frozen=True)
class Answer:
    """What a step led to: the HTTP status, and the text of all that came back."""

    status: int
    text: str

    @classmethod
    def of(cls, response: httpx2.Response) -> "Answer":
        """Return the status and the body of a response."""
        return cls(response.status_code, response.text)


def token(kind: str, id_: str = "begin") -> dict[str, str]:
    """Return the header of a `wide`, a `narrow` or an `expired` token, which its id distinguishes from others."""
    changes: dict[str, dict[str, Any]] = {
        "wide": {"scope": "r w"},
        "narrow": {"scope": "r"},
        "expired": {"scope": "r w", "exp": 1_000_000_000},
    }
    return {"authorization": f"Bearer {signed(KEY, claims(jti=id_, **changes[kind]))}"}


@dataclass
class World:
    """A server and what happened in it.

    Attributes:
        package: the revision that the server is written for.
        ran: the ids of the tokens with which functions ran or continued.
        gate: lets a tool end.
        http: a client of the endpoint.
        folder: where tasks are stored that outlive a process.
    """

    package: Any
    ran: list[str] = field(default_factory=list[str])
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    http: httpx2.AsyncClient = field(init=False)
    folder: TemporaryDirectory[str] = field(default_factory=TemporaryDirectory[str])

    def note(self, ctx: Any) -> str:
        """Note whose token an author's function runs with."""
        self.ran.append("" if ctx.principal is None else ctx.principal.claims["jti"])
        return SECRET

    def begin_again(self) -> None:
        """Forget what ran; what waits in a task ends."""
        self.gate.set()
        self.gate = asyncio.Event()
        self.ran.clear()

    def app(self, store: TaskStore | None = None, **options: Any) -> v2026_07_28.App[Any]:
        """Return the server."""
        tasks = Tasks(store or MemoryTaskStore(poll_interval=0.01))
        made: v2026_07_28.App[Any] = self.package.App("ways", options=ServerOptions(**options), extensions=[tasks])
        scoped = requires_scopes("w")
        is_newest = self.package is v2026_07_28
        may_be_task: dict[str, Any] = {"task": "optional"} if is_newest else {"execution": {"taskSupport": "optional"}}

        @made.tool(**may_be_task)
        @scoped
        async def run(ctx: Context[Any]) -> str:
            """Run."""
            return self.note(ctx)

        @made.tool(**may_be_task)
        @scoped
        async def wait(ctx: Context[Any]) -> str:
            """Wait in a task."""
            await defer(ctx)
            await self.gate.wait()
            return self.note(ctx)

        @made.tool(**may_be_task)
        @scoped
        async def question(ctx: AskingContext[Any, Any]) -> str:
            """Ask the client."""
            await ctx.elicit("Sure?", Sure)
            return self.note(ctx)

        @made.tool(**may_be_task)
        @scoped
        async def later(ctx: AskingContext[Any, Any]) -> str:
            """Ask the client in a task."""
            await defer(ctx)
            await ctx.elicit("Sure?", Sure)
            return self.note(ctx)

        @made.resource("acme://x")
        @scoped
        async def page(ctx: Context[Any]) -> str:
            """Read."""
            return self.note(ctx)

        @made.prompt()
        @scoped
        async def review(style: str, ctx: Context[Any]) -> str:
            """Review."""
            return self.note(ctx)

        @made.completion("style", prompt="review")
        async def styles(value: str) -> list[str]:
            return [SECRET]

        @made.subscription()
        async def watch(uri: str) -> None:
            self.ran.append("step")

        @scoped
        async def order(params: Any, ctx: Any) -> dict[str, Any]:
            return {"text": self.note(ctx)}

        @scoped
        async def smell(params: Any, ctx: Any) -> None:
            self.note(ctx)

        def connected(connection: Connection) -> None:
            type(made).connected(made, connection)
            connection.handle(ORDER, order)
            connection.handle(SMELL, smell)

        hooked: Any = made
        hooked.connected = connected
        return made

    async def session(self, revision: str = "2025-11-25") -> RawClient:
        """Begin a session with a wide token."""
        client = RawClient(self.http)
        begun = await client.ask("initialize", hello(revision, elicitation={}), "hello", **token("wide"))
        client.session = {"mcp-session-id": begun.headers["mcp-session-id"], "mcp-protocol-version": revision}
        await client.post({"jsonrpc": "2.0", "method": "notifications/initialized"}, **token("wide"))
        return client

    async def task(self, client: RawClient, tool: str = "run") -> str:
        """Let a call of a session become a task, with a wide token; return its id."""
        begun = await client.post(as_task(tool), **token("wide"))
        return str(begun.json()["result"]["task"]["taskId"])

    async def lapsed(self) -> str:
        """Return the id of a task whose process has ended, as another store with the same file has it."""
        store = SqliteTaskStore(self.folder.name + "/tasks", lease=0.001)
        owner = f"{claims()['iss']} {claims()['sub']}"
        task = await store.create(owner, None, scopes=frozenset("w"))
        await store.record(task.id, {"call": {"name": "run", "arguments": {}}})
        while not (await store.get(owner, task.id)).is_lapsed:
            await asyncio.sleep(0.001)
        store.close()
        return task.id

    async def modern_task(self, client: ModernClient, tool: str = "wait") -> str:
        """Let a call become a task, with a wide token; return its id."""
        begun = await client.post(called(tool, said=MODERN), **token("wide"))
        return str(begun.json()["result"]["taskId"])


def as_task(tool: str) -> dict[str, Any]:
    """Make a call of a tool that is to run as a task."""
    return request("tools/call", {"name": tool, "arguments": {}, "task": {}}, f"task of {tool}")
