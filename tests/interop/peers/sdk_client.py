"""A client written with the official SDK, of either generation, that uses everything in `offer`.

    python sdk_client.py [--ask REVISION] [--probe] REVISION COMMAND [ARGUMENT ...]

Starts the server that the command line names and prints one line of JSON per scenario: what the client observed.
"""

import argparse
import json
import os
import sys
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import anyio
import offer
import sdk
from mcp import ClientSession, StdioServerParameters
from mcp.client.sse import sse_client
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from offer import Json


class Host:
    """The client's answers to its server, and the notifications that it received."""

    def __init__(self) -> None:
        self.asked: list[Json] = []
        self.heard: list[tuple[str, Json]] = []
        self.roots: list[Json] = offer.ROOTS[:1]

    async def sample(self, context: Any, params: Any) -> Any:
        asked = sdk.plain(params)
        self.asked.append(asked)
        if "tools" in asked:
            turn = asked["messages"][-1]["content"]
            answer: Json = {
                "role": "assistant",
                "model": "parrot",
                "content": [offer.TOOL_USE],
                "stopReason": "toolUse",
            }
            if isinstance(turn, list):
                words = f"It is {turn[0]['content'][0]['text']}."
                answer |= {"content": {"type": "text", "text": words}, "stopReason": "endTurn"}
            else:
                answer |= {"content": [offer.TOOL_USE], "stopReason": "toolUse"}
            return sdk.types.CreateMessageResultWithTools.model_validate(answer)
        words = asked["messages"][0]["content"]["text"]
        if words == offer.FORBIDDEN:
            return sdk.types.ErrorData(code=offer.DENIED, message="User rejected sampling request")
        content = {"type": "text", "text": words.upper()}
        answer = {"role": "assistant", "content": content, "model": "parrot", "stopReason": "endTurn"}
        return sdk.types.CreateMessageResult.model_validate(answer)

    async def elicit(self, context: Any, params: Any) -> Any:
        asked = sdk.plain(params)
        self.asked.append(asked)
        answer = offer.ANSWERS[asked["message"]]
        return sdk.types.ElicitResult.model_validate(answer)

    async def list_roots(self, context: Any) -> Any:
        return sdk.types.ListRootsResult.model_validate({"roots": self.roots})

    async def hear(self, item: Any) -> None:
        if notification := sdk.heard(item):
            self.heard.append(notification)

    async def listen(self, method: str, count: int) -> list[Json]:
        """Wait for this many notifications of a method, and a moment longer; then forget them all."""
        with anyio.move_on_after(30):
            while len(self._of(method)) < count:
                await anyio.sleep(0.01)
        await anyio.sleep(0.05)
        found = self._of(method)
        self.heard.clear()
        return found

    def _of(self, method: str) -> list[Json]:
        return [params for name, params in self.heard if name == method]


class Scenarios:
    """What the client does; the name of a method is the name of a scenario."""

    def __init__(self, server: sdk.Server, host: Host, revision: str, introduction: Json) -> None:
        self._server, self._host, self._revision, self._introduction = server, host, revision, introduction

    async def initialize(self) -> Json:
        known = self._introduction
        capabilities = known["capabilities"]
        features = ["logging", "prompts", "resources", "tools"]
        features += ["completions"] if offer.since(self._revision, "2025-03-26") else []
        return {
            "protocolVersion": known["protocolVersion"],
            "serverInfo": {name: known["serverInfo"][name] for name in ("name", "version")},
            "instructions": known["instructions"],
            "capabilities": {name: capabilities.get(name) for name in features},
        }

    async def whoami(self) -> Any:
        return json.loads(await self._text("whoami"))

    async def ping(self) -> Json:
        return {"ours": await self._server.request("ping"), "theirs": json.loads(await self._text("ping_back"))}

    async def tools_list(self) -> Json:
        pages = await self._pages("tools/list", "tools")
        return {"pages": [[tool["name"] for tool in page] for page in pages], "add": pages[0][0]}

    async def tools_call(self) -> Json:
        return await self._call("add", {"a": 2, "b": 3})

    async def tools_content(self) -> Any:
        return (await self._call("content"))["content"]

    async def tools_error(self) -> Json:
        return await self._call("fail")

    async def tools_unknown(self) -> int:
        return await error_code(self._call("no such tool"))

    async def tools_meta(self) -> Json:
        params = {"name": "echo_meta", "arguments": {}, "_meta": {"interop/trace": "abc"}}
        return (await self._server.request("tools/call", params))["_meta"]

    async def progress(self) -> list[Any]:
        seen: list[Any] = []

        async def report(progress: float, total: float | None, message: str | None) -> None:
            seen.append([progress, total, message])

        params = {"name": "count", "arguments": {"steps": 3}}
        await self._server.request("tools/call", params, progress_callback=report)
        while len(seen) < 3:
            await anyio.sleep(0.01)
        return sorted(seen)

    async def cancellation(self) -> int:
        started = anyio.Event()

        async def report(progress: float, total: float | None, message: str | None) -> None:
            started.set()

        await self._server.call_and_cancel("slow", started, report)
        with anyio.move_on_after(30):
            while (noticed := int(await self._text("cancelled_calls"))) == 0:
                await anyio.sleep(0.01)
        return noticed

    async def concurrency(self) -> Json:
        answers: Json = {}

        async def ask(word: str) -> None:
            answers[word] = await self._text("ask_model", {"prompt": word})

        async with anyio.create_task_group() as group:
            for word in ("one", "two", "three"):
                group.start_soon(ask, word)
            answers["sum"] = (await self._call("add", {"a": 1, "b": 1}))["content"][0]["text"]
        return answers

    async def resources_list(self) -> Json:
        pages = await self._pages("resources/list", "resources")
        return {"pages": [[item["uri"] for item in page] for page in pages], "first": pages[0][0]}

    async def resources_templates(self) -> list[Any]:
        return await self._pages("resources/templates/list", "resourceTemplates")

    async def resources_read(self) -> Json:
        uris = ("memo://readme", "memo://logo", "memo://notes/todo")
        return {uri: (await self._server.request("resources/read", {"uri": uri}))["contents"] for uri in uris}

    async def resources_unknown(self) -> int:
        return await error_code(self._server.request("resources/read", {"uri": "memo://nothing"}))

    async def resources_subscribe(self) -> Json:
        seen: Json = {}
        subscription = {"uri": "memo://readme"}
        for step in ("subscribe", "unsubscribe"):
            await self._server.request(f"resources/{step}", subscription)
            await self._text("touch", {"uri": "memo://logo"})
            await self._text("touch", subscription)
            expected = 1 if step == "subscribe" else 0
            seen[step] = await self._host.listen("notifications/resources/updated", expected)
        return seen

    async def prompts_list(self) -> Json:
        pages = await self._pages("prompts/list", "prompts")
        return {"pages": [[prompt["name"] for prompt in page] for page in pages], "first": pages[0][0]}

    async def prompts_get(self) -> list[Json]:
        greet = {"name": "greet", "arguments": {"name": "Ada", "style": "funny"}}
        return [await self._server.request("prompts/get", params) for params in (greet, {"name": "readme"})]

    async def prompts_wrong(self) -> Json:
        wrong = {"argument": {"name": "greet", "arguments": {}}, "name": {"name": "no such prompt"}}
        return {what: await error_code(self._server.request("prompts/get", params)) for what, params in wrong.items()}

    async def completion(self) -> Json:
        prompt = {"type": "ref/prompt", "name": "greet"}
        template = {"type": "ref/resource", "uri": "memo://notes/{name}"}
        seen = {
            "prompt": await self._complete(prompt, {"name": "style", "value": "f"}),
            "template": await self._complete(template, {"name": "name", "value": "s"}),
        }
        if offer.since(self._revision, "2025-06-18"):
            context = {"arguments": {"other": "shopping"}}
            seen["context"] = await self._complete(template, {"name": "name", "value": "s"}, context=context)
        return seen

    async def logging(self) -> Json:
        seen: Json = {}
        for level in ("warning", "debug"):
            await self._server.request("logging/setLevel", {"level": level})
            await self._text("log_all")
            expected = len(offer.LEVELS) - offer.LEVELS.index(level)
            messages = await self._host.listen("notifications/message", expected)
            seen[level] = sorted(messages, key=lambda params: offer.LEVELS.index(params["level"]))
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
        action = await self._text("ask_user_elsewhere")
        completed = await self._host.listen("notifications/elicitation/complete", 1)
        return {"asked": self._host.asked, "action": action, "completed": completed}

    async def roots(self) -> list[Any]:
        before = json.loads(await self._text("roots"))
        self._host.roots = offer.ROOTS
        await self._server.notify("notifications/roots/list_changed")
        with anyio.move_on_after(30):
            while (after := json.loads(await self._text("roots")))["changes"] == 0:
                await anyio.sleep(0.01)
        return [before, after]

    async def list_changed(self) -> Json:
        await self._text("change_lists")
        kinds = ("tools", "resources", "prompts")
        with anyio.move_on_after(30):
            while len(self._host.heard) < len(kinds):
                await anyio.sleep(0.01)
        names = [name for name, _ in self._host.heard]
        self._host.heard.clear()
        return {kind: names.count(f"notifications/{kind}/list_changed") for kind in kinds}

    async def tasks(self) -> Json:
        if "tasks" not in self._introduction["capabilities"] or sdk.MAJOR > 1:
            return {"offered": False}
        short, long = [await self._start_task("work", {"steps": steps}) for steps in (1, 100_000)]
        result = await self._server.request("tasks/result", {"taskId": short["taskId"]}, result="CallToolResult")
        after = await self._server.request("tasks/get", {"taskId": short["taskId"]})
        cancelled = await self._server.request("tasks/cancel", {"taskId": long["taskId"]})
        listed = (await self._server.request("tasks/list"))["tasks"]
        asking = await self._start_task("ask_user", {"question": "accept"})
        asked = await self._server.request("tasks/result", {"taskId": asking["taskId"]}, result="CallToolResult")
        return {
            "offered": True,
            "created": short["status"],
            "ttl": short["ttl"],
            "result": result["content"],
            "after": after["status"],
            "cancelled": cancelled["status"],
            "listed": sorted(task["status"] for task in listed),
            "again": await error_code(self._server.request("tasks/cancel", {"taskId": long["taskId"]})),
            "unknown": await error_code(self._server.request("tasks/get", {"taskId": "no such task"})),
            "asked": json.loads(asked["content"][0]["text"]),
        }

    async def _start_task(self, name: str, arguments: Json) -> Json:
        params = {"name": name, "arguments": arguments, "task": {"ttl": 60000}}
        return (await self._server.request("tools/call", params, result="CreateTaskResult"))["task"]

    async def _call(self, name: str, arguments: Json | None = None) -> Json:
        answer = await self._server.request("tools/call", {"name": name, "arguments": arguments or {}})
        # Absent means false; some peers send it explicitly.
        return answer if answer.get("isError") else {key: answer[key] for key in answer if key != "isError"}

    async def _text(self, name: str, arguments: Json | None = None) -> str:
        answer = await self._call(name, arguments)
        if answer.get("isError"):
            raise RuntimeError(f"{name}: {answer}")
        return str(answer["content"][0]["text"])

    async def _pages(self, method: str, member: str) -> list[Any]:
        pages, params = [], None
        while True:
            answer = await self._server.request(method, params)
            pages.append(answer[member])
            if "nextCursor" not in answer:
                return pages
            params = {"cursor": answer["nextCursor"]}

    async def _complete(self, ref: Json, argument: Json, **context: Json) -> Json:
        return (await self._server.request("completion/complete", {"ref": ref, "argument": argument, **context}))[
            "completion"
        ]


async def error_code(request: Awaitable[Json]) -> int:
    """Return the error code of the response to a request."""
    try:
        answer = await request
    except sdk.SdkError as refusal:
        return int(refusal.error.code)
    raise RuntimeError(f"answered: {answer}")


def scenarios(driver: Scenarios, revision: str) -> dict[str, Callable[[], Awaitable[Any]]]:
    """Return the scenarios of a revision, in the order of their definition."""
    names = [name for name in vars(Scenarios) if not name.startswith("_")]
    return {name: getattr(driver, name) for name in names if offer.since(revision, offer.SCENARIOS_SINCE.get(name, ""))}


def connect(command: list[str]) -> Any:
    """Connect to a server, given by a URL or a command."""
    if command[0].startswith("http://"):
        return sse_client(command[0]) if command[0].endswith("/sse") else streamable_http_client(command[0])
    return stdio_client(StdioServerParameters(command=command[0], args=command[1:], env=dict(os.environ)))


async def play(revision: str, command: list[str], *, asked: str, probe: bool) -> AsyncIterator[Json]:
    """Start the server and run the scenarios; a failure does not stop the rest."""
    sdk.ask_for(asked)
    host = Host()
    async with (
        connect(command) as (reading, writing, *_),
        ClientSession(
            reading,
            writing,
            sampling_callback=host.sample,
            sampling_capabilities=sdk.types.SamplingCapability(tools=sdk.types.SamplingToolsCapability()),
            elicitation_callback=host.elicit,
            list_roots_callback=host.list_roots,
            message_handler=host.hear,
            client_info=sdk.types.Implementation(name=offer.CLIENT_NAME, version=offer.CLIENT_VERSION),
        ) as session,
    ):
        if probe:
            from mcp.client._probe import negotiate_auto  # the default of the high-level client of 2.x

            await negotiate_auto(session)
        introduction = sdk.plain(await session.initialize())
        driver = Scenarios(sdk.Server(session), host, revision, introduction)
        for name, scenario in scenarios(driver, revision).items():
            try:
                with anyio.fail_after(40):
                    yield {"scenario": name, "saw": await scenario()}
            except Exception as failure:
                yield {"scenario": name, "failed": f"{type(failure).__name__}: {failure}"}


async def main() -> None:
    """Print what the client observes."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--ask", metavar="REVISION", help="the revision to ask for, if another than the one expected")
    parser.add_argument("--probe", action="store_true", help="ask for the modern era first, with server/discover")
    parser.add_argument("revision")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # 2.x warns of every feature that the modern revision dropped.
    async for outcome in play(
        options.revision, options.command, asked=options.ask or options.revision, probe=options.probe
    ):
        sys.stdout.write(json.dumps(outcome) + "\n")
        sys.stdout.flush()


anyio.run(main)
