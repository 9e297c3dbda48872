"""Our client of the interop tests: it uses everything that a test server offers.

    python -m interop.our_client REVISION COMMAND [ARGUMENT ...]        # in tests/

Starts the server that the command line names and prints one line of JSON per scenario: what the client observed. One
program speaks four revisions: its calls are checked against the union of the four generated clients. It names one
only for features that the others lack, and to construct models.
"""

import argparse
import asyncio
import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeAlias

from interop.our_host import HOSTS, Host
from interop.peers import offer
from interop.peers.offer import Json
from mcp_bindings import v2024_11_05, v2025_03_26, v2025_06_18, v2025_11_25
from mcp_runtime.core.connection.notifications import NotificationStream
from mcp_runtime.core.errors import PeerError
from mcp_runtime.core.handshake.client import Peer
from mcp_runtime.core.protocol.capabilities import declares
from mcp_runtime.core.protocol.dispatch import Side
from mcp_runtime.core.settings import ClientOptions
from mcp_runtime.core.stub import CallOptions
from mcp_runtime.core.transports.http import connect_http, connect_sse
from mcp_runtime.core.transports.stdio import connect_stdio

AnyClient: TypeAlias = v2024_11_05.Client | v2025_03_26.Client | v2025_06_18.Client | v2025_11_25.Client

PACKAGES: dict[str, Any] = {
    package.REVISION: package for package in (v2024_11_05, v2025_03_26, v2025_06_18, v2025_11_25)
}


class Scenarios:
    """What the client does; the name of a method is the name of a scenario."""

    def __init__(self, client: AnyClient, host: Host) -> None:
        self._client, self._host = client, host
        self._revision = client.connection.revision
        self._models = PACKAGES[self._revision]
        self._methods: Any = self._models.METHODS

    async def initialize(self) -> Json:
        connection = self._client.connection
        server, capabilities = connection.peer_info, connection.declared[Side.SERVER]
        features = ["logging", "prompts", "resources", "tools"]
        features += ["completions"] if offer.since(self._revision, "2025-03-26") else []
        return {
            "protocolVersion": connection.revision,
            "serverInfo": {name: server[name] for name in ("name", "version")},
            "instructions": connection.instructions,
            "capabilities": {name: capabilities.get(name) for name in features},
        }

    async def whoami(self) -> Any:
        return json.loads(await self._text("whoami"))

    async def ping(self) -> Json:
        return {"ours": dumped(await self._client.ping()), "theirs": json.loads(await self._text("ping_back"))}

    async def tools_list(self) -> Json:
        pages = await self._pages(self._client.list_tools, "tools", self._client.iter_tools())
        return {"pages": [[tool["name"] for tool in page] for page in pages], "add": pages[0][0]}

    async def tools_call(self) -> Json:
        return await self._call("add", {"a": 2, "b": 3})

    async def tools_content(self) -> Any:
        return (await self._call("content"))["content"]

    async def tools_error(self) -> Json:
        return await self._call("fail")

    async def tools_unknown(self) -> int:
        return await error_code(self._client.call_tool(name="no such tool"))

    async def tools_meta(self) -> Any:
        meta = self._models.RequestParamsMeta.model_validate({"interop/trace": "abc"})
        return dumped(await self._client.call_tool(name="echo_meta", arguments={}, meta=meta))["_meta"]

    async def progress(self) -> list[Any]:
        seen: list[Any] = []

        def report(progress: float, total: float | None, message: str | None) -> None:
            seen.append([progress, total, message])

        await self._client.call_tool(name="count", arguments={"steps": 3}, options=CallOptions(progress=report))
        return seen

    async def cancellation(self) -> int:
        started = asyncio.Event()

        def report(progress: float, total: float | None, message: str | None) -> None:
            started.set()

        options = CallOptions(progress=report)
        call = asyncio.ensure_future(self._client.call_tool(name="slow", arguments={}, options=options))
        await started.wait()
        call.cancel("no longer needed")
        async with asyncio.timeout(30):
            while (noticed := int(await self._text("cancelled_calls"))) == 0:
                await asyncio.sleep(0.01)
        return noticed

    async def concurrency(self) -> Json:
        async with asyncio.TaskGroup() as group:
            words = ("one", "two", "three")
            answers = {word: group.create_task(self._text("ask_model", {"prompt": word})) for word in words}
            added = group.create_task(self._text("add", {"a": 1, "b": 1}))
        return {"sum": added.result()} | {word: answer.result() for word, answer in answers.items()}

    async def resources_list(self) -> Json:
        pages = await self._pages(self._client.list_resources, "resources", self._client.iter_resources())
        return {"pages": [[item["uri"] for item in page] for page in pages], "first": pages[0][0]}

    async def resources_templates(self) -> list[Any]:
        every = self._client.iter_resource_templates()
        return await self._pages(self._client.list_resource_templates, "resourceTemplates", every)

    async def resources_read(self) -> Json:
        uris = ("memo://readme", "memo://logo", "memo://notes/todo")
        return {uri: dumped(await self._client.read_resource(uri=uri))["contents"] for uri in uris}

    async def resources_unknown(self) -> int:
        return await error_code(self._client.read_resource(uri="memo://nothing"))

    async def resources_subscribe(self) -> Json:
        seen: Json = {}
        updates = self._client.notifications(self._methods["notifications/resources/updated"])
        for step, change in (("subscribe", self._client.subscribe), ("unsubscribe", self._client.unsubscribe)):
            await change(uri="memo://readme")
            await self._text("touch", {"uri": "memo://logo"})
            await self._text("touch", {"uri": "memo://readme"})
            seen[step] = await heard(updates, 1 if step == "subscribe" else 0)
        return seen

    async def prompts_list(self) -> Json:
        pages = await self._pages(self._client.list_prompts, "prompts", self._client.iter_prompts())
        return {"pages": [[prompt["name"] for prompt in page] for page in pages], "first": pages[0][0]}

    async def prompts_get(self) -> list[Json]:
        greeting = await self._client.get_prompt(name="greet", arguments={"name": "Ada", "style": "funny"})
        return [dumped(greeting), dumped(await self._client.get_prompt(name="readme"))]

    async def prompts_wrong(self) -> Json:
        return {
            "argument": await error_code(self._client.get_prompt(name="greet", arguments={})),
            "name": await error_code(self._client.get_prompt(name="no such prompt")),
        }

    async def completion(self) -> Json:
        newer = offer.since(self._revision, "2025-06-18")
        reference = self._models.ResourceTemplateReference if newer else self._models.ResourceReference
        template = reference(uri="memo://notes/{name}")
        seen = {
            "prompt": await self._complete(self._models.PromptReference(name="greet"), "style", "f"),
            "template": await self._complete(template, "name", "s"),
        }
        if newer:
            context = self._models.CompleteRequestParamsContext(arguments={"other": "shopping"})
            seen["context"] = await self._complete(template, "name", "s", context=context)
        return seen

    async def logging(self) -> Json:
        seen: Json = {}
        messages = self._client.notifications(self._methods["notifications/message"])
        for level in ("warning", "debug"):
            await self._set_level(level)
            await self._text("log_all")
            seen[level] = await heard(messages, len(offer.LEVELS) - offer.LEVELS.index(level))
        return seen

    async def sampling(self) -> Json:
        self._host.asked.clear()
        answer = await self._text("ask_model", {"prompt": "hello"})
        return {"asked": self._host.asked, "answer": answer}

    async def sampling_denied(self) -> str:
        return await self._text("ask_model", {"prompt": offer.FORBIDDEN})

    async def sampling_with_tools(self) -> Json:
        self._host.asked.clear()
        answer = await self._text("ask_model_with_tools")
        return {"turns": [asked["messages"][-1]["content"] for asked in self._host.asked], "answer": answer}

    async def elicitation(self) -> Json:
        self._host.asked.clear()
        questions = ("accept", "decline", "cancel")
        answers = {word: json.loads(await self._text("ask_user", {"question": word})) for word in questions}
        return {"schema": self._host.asked[0]["requestedSchema"], "answers": answers}

    async def elicitation_url(self) -> Json:
        self._host.asked.clear()
        completed = self._client.notifications(self._methods["notifications/elicitation/complete"])
        action = await self._text("ask_user_elsewhere")
        return {"asked": self._host.asked, "action": action, "completed": await heard(completed, 1)}

    async def roots(self) -> list[Any]:
        before = json.loads(await self._text("roots"))
        await self._client.set_roots([self._models.Root.model_validate(root) for root in offer.ROOTS])
        async with asyncio.timeout(30):
            while (after := json.loads(await self._text("roots")))["changes"] == 0:
                await asyncio.sleep(0.01)
        return [before, after]

    async def list_changed(self) -> Json:
        kinds = ("tools", "resources", "prompts")
        streams = {
            kind: self._client.notifications(self._methods[f"notifications/{kind}/list_changed"]) for kind in kinds
        }
        await self._text("change_lists")
        return {kind: len(await heard(stream, 1)) for kind, stream in streams.items()}

    async def tasks(self) -> Json:
        client = self._client
        assert isinstance(client, v2025_11_25.Client)
        if not declares(client.connection.declared[Side.SERVER], "tasks"):
            return {"offered": False}
        metadata = v2025_11_25.TaskMetadata(ttl=60000)
        short = (await client.call_tool(name="work", arguments={"steps": 1}, task=metadata)).task
        long = (await client.call_tool(name="work", arguments={"steps": 100_000}, task=metadata)).task
        result = await client.get_task_payload(task_id=short.task_id, result_type=v2025_11_25.CallToolResult)
        after = await client.get_task(task_id=short.task_id)
        cancelled = await client.cancel_task(task_id=long.task_id)
        listed = [task.status async for task in client.iter_tasks()]
        asking = (await client.call_tool(name="ask_user", arguments={"question": "accept"}, task=metadata)).task
        answered = await client.get_task_payload(task_id=asking.task_id, result_type=v2025_11_25.CallToolResult)
        return {
            "offered": True,
            "created": short.status,
            "ttl": short.ttl,
            "result": dumped(result)["content"],
            "after": after.status,
            "cancelled": cancelled.status,
            "listed": sorted(listed),
            "again": await error_code(client.cancel_task(task_id=long.task_id)),
            "unknown": await error_code(client.get_task(task_id="no such task")),
            "asked": json.loads(dumped(answered)["content"][0]["text"]),
        }

    async def _call(self, name: str, arguments: Json | None = None) -> Json:
        answer = dumped(await self._client.call_tool(name=name, arguments=arguments or {}))
        # Absent means false; some peers send it explicitly.
        return answer if answer.get("isError") else {key: answer[key] for key in answer if key != "isError"}

    async def _text(self, name: str, arguments: Json | None = None) -> str:
        answer = await self._call(name, arguments)
        if answer.get("isError"):
            raise RuntimeError(f"{name}: {answer}")
        return str(answer["content"][0]["text"])

    async def _pages(self, list_: Callable[..., Awaitable[Any]], member: str, every: AsyncIterator[Any]) -> list[Any]:
        """Return the pages of a list, after checking that its iterator yields the same items."""
        pages: list[Any] = []
        cursor: str | None = None
        while True:
            answer = dumped(await list_(cursor=cursor))
            pages.append(answer[member])
            if (cursor := answer.get("nextCursor")) is None:
                break
        iterated = [dumped(item) async for item in every]
        if iterated != [item for page in pages for item in page]:
            raise RuntimeError(f"the iterator yielded {iterated}")
        return pages

    async def _complete(self, ref: Any, name: str, value: str, **context: Any) -> Any:
        argument = self._models.CompleteRequestParamsArgument(name=name, value=value)
        return dumped(await self._client.complete(ref=ref, argument=argument, **context))["completion"]

    async def _set_level(self, level: Any) -> None:
        await self._client.set_level(level=level)


def dumped(model: Any) -> Json:
    """Return a model as it is on the wire."""
    found: Json = model.model_dump(mode="json")
    return found


async def heard(stream: NotificationStream[Any], count: int) -> list[Json]:
    """Wait for this many notifications; return their params, and those of any others that have arrived.

    Over stdio all of them come before the last response; over HTTP another stream brings them.
    """
    found: list[Json] = []
    while True:
        try:
            params = await stream.next(timeout=None if len(found) < count else 0)
            found.append({} if params is None else dumped(params))
        except TimeoutError:
            return found


async def error_code(request: Awaitable[Any]) -> int:
    """Return the error code of the response to a request."""
    try:
        answer = await request
    except PeerError as refusal:
        return refusal.code
    raise RuntimeError(f"answered: {answer}")


def scenarios(driver: Scenarios, revision: str) -> dict[str, Callable[[], Awaitable[Any]]]:
    """Return the scenarios of a revision, in the order of their definition."""
    names = [name for name in vars(Scenarios) if not name.startswith("_")]
    return {name: getattr(driver, name) for name in names if offer.since(revision, offer.SCENARIOS_SINCE.get(name, ""))}


def connect(command: list[str]) -> AbstractAsyncContextManager[Peer]:
    """Connect to a server, given by a URL or a command."""
    if command[0].startswith("http://"):
        return connect_sse(command[0]) if command[0].endswith("/sse") else connect_http(command[0])
    return connect_stdio(*command)


async def play(revision: str, peer: Peer) -> AsyncIterator[Json]:
    """Run the scenarios with a server; a failure does not stop the rest."""
    host = HOSTS[revision]()
    root = PACKAGES[revision].Root.model_validate(offer.ROOTS[0])
    finer: Json = {"elicitation": {"form": {}, "url": {}}, "sampling": {"tools": {}}}
    capabilities: Json = finer if offer.since(revision, "2025-11-25") else {}
    options = ClientOptions(
        name=offer.CLIENT_NAME, version=offer.CLIENT_VERSION, roots=[root], capabilities=capabilities
    )
    client: AnyClient = await PACKAGES[revision].Client.open(peer, handlers=host, options=options)
    driver = Scenarios(client, host)
    for name, scenario in scenarios(driver, revision).items():
        try:
            async with asyncio.timeout(40):
                yield {"scenario": name, "saw": await scenario()}
        except Exception as failure:
            yield {"scenario": name, "failed": f"{type(failure).__name__}: {failure}"}


async def main() -> None:
    """Print what the client observes."""
    parser = argparse.ArgumentParser()
    parser.add_argument("revision")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    async with connect(options.command) as peer:
        async for outcome in play(options.revision, peer):
            sys.stdout.write(json.dumps(outcome) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(main())
