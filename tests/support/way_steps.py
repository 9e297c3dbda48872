"""The steps of `support.ways`: what a wide token begins, and then one request with given headers."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import httpx2

from support.http import RawClient, call, events_of, hello, request
from support.http_modern import ModernClient, asked, called
from support.way_world import CANCELLED, MODERN, SECRET, YES, Answer, World, as_task, token

Step = Callable[[World, Mapping[str, str]], Awaitable[Answer]]
"""Does what a wide token begins, and then one request with given headers."""


WAITING: Final = {
    "call": call("run"),
    "read": request("resources/read", {"uri": "acme://x"}),
    "prompt": request("prompts/get", {"name": "review", "arguments": {"style": "x"}}),
    "vendor request": request("acme/order", {}),
}
"""The requests that are cancelled while they wait."""


async def _posted(client: RawClient, message: Any, given: Mapping[str, str]) -> Answer:
    return Answer.of(await client.post(message, **given))


async def calls(world: World, given: Mapping[str, str]) -> Answer:
    return await _posted(await world.session(), call("run"), given)


async def reads(world: World, given: Mapping[str, str]) -> Answer:
    return await _posted(await world.session(), request("resources/read", {"uri": "acme://x"}), given)


async def prompts(world: World, given: Mapping[str, str]) -> Answer:
    asked_for = {"name": "review", "arguments": {"style": "x"}}
    return await _posted(await world.session(), request("prompts/get", asked_for), given)


async def completes(world: World, given: Mapping[str, str]) -> Answer:
    ref, argument = {"type": "ref/prompt", "name": "review"}, {"name": "style", "value": ""}
    message = request("completion/complete", {"ref": ref, "argument": argument})
    return await _posted(await world.session(), message, given)


async def subscribes(world: World, given: Mapping[str, str]) -> Answer:
    return await _posted(await world.session(), request("resources/subscribe", {"uri": "acme://x"}), given)


async def batches(world: World, given: Mapping[str, str]) -> Answer:
    client = await world.session("2025-03-26")
    answer = await _posted(client, [call("run"), request("ping", None, 2)], given)
    refused = answer.status == 200 and '"error"' in answer.text
    return Answer(403, answer.text) if refused else answer


async def without_session(world: World, given: Mapping[str, str]) -> Answer:
    client = RawClient(world.http)
    client.session = {"mcp-protocol-version": "2025-11-25"}
    return await _posted(client, call("run"), given)


async def vendor(world: World, given: Mapping[str, str]) -> Answer:
    return await _posted(await world.session(), request("acme/order", {}), given)


async def notifies(world: World, given: Mapping[str, str]) -> Answer:
    """A notification has no answer, so what ran is all that can be seen of it."""
    answer = await _posted(await world.session(), {"jsonrpc": "2.0", "method": "acme/smell", "params": {}}, given)
    await asyncio.sleep(0.05)
    return Answer(403, "") if answer.status == 202 and not world.ran else answer


async def modern(world: World, given: Mapping[str, str]) -> Answer:
    return await _posted(ModernClient(world.http), called("run"), given)


async def modern_completes(world: World, given: Mapping[str, str]) -> Answer:
    ref, argument = {"type": "ref/prompt", "name": "review"}, {"name": "style", "value": ""}
    message = asked("completion/complete", {"ref": ref, "argument": argument})
    return await _posted(ModernClient(world.http), message, given)


async def creates(world: World, given: Mapping[str, str]) -> Answer:
    client = await world.session()
    answer = await _posted(client, as_task("run"), given)
    if answer.status != 200:
        return answer
    ended = request("tasks/result", {"taskId": json.loads(answer.text)["result"]["task"]["taskId"]})
    return await _posted(client, ended, token("wide"))


async def cancels(world: World, given: Mapping[str, str]) -> Answer:
    """Cancel a call of a wide token, which goes on if that is refused."""
    client = await world.session()
    async with client.stream(call("question"), **token("wide")) as events:
        while (asks := await events.message()).get("method") != "elicitation/create":
            pass
        answer = await _posted(client, {"jsonrpc": "2.0", "method": CANCELLED, "params": {"requestId": 1}}, given)
        again = await client.post({"jsonrpc": "2.0", "id": asks["id"], "result": YES}, **token("wide"))
        if answer.status != 202:
            assert again.status_code == 202 and SECRET in json.dumps(await events.message())
        assert bool(world.ran) is (answer.status != 202)
    world.ran.clear()
    return answer


def cancels_waiting(message: Mapping[str, Any]) -> Step:
    """Cancel a request of a wide token that waits until another one is answered."""

    async def step(world: World, given: Mapping[str, str]) -> Answer:
        client = await world.session()
        async with (
            client.stream(call("question"), **token("wide")) as first,
            client.stream({**message, "id": "waits"}, **token("wide", "waits")) as second,
        ):
            while (asks := await first.message()).get("method") != "elicitation/create":
                pass
            cancel = {"jsonrpc": "2.0", "method": CANCELLED, "params": {"requestId": "waits"}}
            answer = await _posted(client, cancel, given)
            again = await client.post({"jsonrpc": "2.0", "id": asks["id"], "result": YES}, **token("wide"))
            assert again.status_code == 202 and SECRET in json.dumps(await first.message())
            if answer.status != 202:
                assert SECRET in json.dumps(await second.message())
            assert ("waits" in world.ran) is (answer.status != 202)
        world.ran.clear()
        return answer

    return step


async def watches(world: World, given: Mapping[str, str]) -> Answer:
    """Read the stream of a session in which a wide token began a task."""
    client = await world.session()
    task = await world.task(client, "wait")
    async with client.stream(None, **given) as events:
        if events.response.status_code != 200:
            return Answer(events.response.status_code, (await events.response.aread()).decode())
        world.gate.set()
        return Answer(200, json.dumps(await events.message()).replace(task, "taskId"))


async def goes_on_watching(world: World, given: Mapping[str, str]) -> Answer:
    """Read the stream of a session in which a wide token begins a task meanwhile."""
    client = await world.session()
    async with client.stream(None, **given) as events:
        if events.response.status_code != 200:
            return Answer(events.response.status_code, (await events.response.aread()).decode())
        await world.task(client, "wait")
        world.gate.set()
        message = await events.message()
        return Answer(403, "") if message is None else Answer(200, json.dumps(message))


def of_task(method: str) -> Step:
    async def step(world: World, given: Mapping[str, str]) -> Answer:
        client = await world.session()
        tool = "wait" if method == "tasks/cancel" else "run"
        params = {} if method == "tasks/list" else {"taskId": await world.task(client, tool)}
        if method != "tasks/list":
            return await _posted(client, request(method, params), given)
        await world.task(client, tool)
        answer = await _posted(client, request(method), given)
        return Answer(403, "") if answer.status == 200 and not json.loads(answer.text)["result"]["tasks"] else answer

    return step


async def _answered(world: World, given: Mapping[str, str], message: dict[str, Any]) -> Answer:
    """Answer the question of a tool, in a session, and return what its caller gets once it is answered."""
    client = await world.session()
    is_task = "task" in message["params"]
    async with client.stream(None if is_task else message, **token("wide")) as events:
        task: Any = (await client.post(message, **token("wide"))).json() if is_task else None
        asks = await events.message()
        while asks.get("method") != "elicitation/create":
            asks = await events.message()
        answer = await _posted(client, {"jsonrpc": "2.0", "id": asks["id"], "result": YES}, given)
        if answer.status != 202:
            assert not world.ran
            # The question is still open for whoever may answer it.
            again = await _posted(client, {"jsonrpc": "2.0", "id": asks["id"], "result": YES}, token("wide"))
            assert again.status == 202
        if is_task:
            ended = request("tasks/result", {"taskId": task["result"]["task"]["taskId"]})
            result = await _posted(client, ended, token("wide"))
        else:
            result = Answer(200, json.dumps(await events.message()))
        assert SECRET in result.text
        return result if answer.status == 202 else answer


async def answers(world: World, given: Mapping[str, str]) -> Answer:
    return await _answered(world, given, call("question"))


async def answers_task(world: World, given: Mapping[str, str]) -> Answer:
    return await _answered(world, given, as_task("question"))


async def retries(world: World, given: Mapping[str, str]) -> Answer:
    client = ModernClient(world.http)
    first = await client.post(called("question", said=MODERN), **token("wide"))
    result = first.json()["result"]
    params: dict[str, Any] = {"name": "question", "arguments": {}, "requestState": result["requestState"]}
    params["inputResponses"] = dict.fromkeys(result["inputRequests"], YES)
    answer = await _posted(client, asked("tools/call", params, 2, said=MODERN), given)
    if answer.status != 200:
        assert not world.ran
        again = await _posted(client, asked("tools/call", params, 3, said=MODERN), token("wide"))
        assert SECRET in again.text
    return answer


async def replays(world: World, given: Mapping[str, str]) -> Answer:
    """Read the stream of a call again, as a client does that lost its connection."""
    client = await world.session()
    async with client.stream(call("question"), **token("wide")) as events:
        first = await events.event()
        asks = await events.message()
        await client.post({"jsonrpc": "2.0", "id": asks["id"], "result": YES}, **token("wide"))
        await events.message()
    assert first is not None
    async with client.stream(None, **{**given, "last-event-id": first.id}) as events:
        if events.response.status_code != 200:
            return Answer(events.response.status_code, (await events.response.aread()).decode())
        await events.message()
        return Answer(200, json.dumps(await events.message()))


def of_modern_task(method: str) -> Step:
    async def step(world: World, given: Mapping[str, str]) -> Answer:
        client = ModernClient(world.http)
        task = await world.modern_task(client, "later" if method == "tasks/update" else "wait")
        params: dict[str, Any] = {"taskId": task}
        if method == "tasks/get":
            world.gate.set()
        elif method == "tasks/update":
            questions: dict[str, Any] = {}
            while not questions:
                got = await client.post(asked("tasks/get", params, said=MODERN), mcp_name=task, **token("wide"))
                questions = got.json()["result"].get("inputRequests", {})
            params["inputResponses"] = dict.fromkeys(questions, YES)
        answer = Answer.of(await client.post(asked(method, params, said=MODERN), mcp_name=task, **given))
        while method == "tasks/update" and answer.status == 200 and not world.ran:
            await asyncio.sleep(0.01)
        while method == "tasks/get" and answer.status == 200 and SECRET not in answer.text:
            answer = Answer.of(await client.post(asked(method, params, said=MODERN), mcp_name=task, **given))
        return answer

    return step


async def restarts(world: World, given: Mapping[str, str]) -> Answer:
    """Ask for a task whose process has ended, which lets this one run it again."""
    params = {"taskId": await world.lapsed()}
    message, client = asked("tasks/get", params, said=MODERN), ModernClient(world.http)
    answer = Answer.of(await client.post(message, mcp_name=params["taskId"], **given))
    while answer.status == 200 and SECRET not in answer.text:
        answer = Answer.of(await client.post(message, mcp_name=params["taskId"], **given))
    return answer


async def own_list(world: World, given: Mapping[str, str]) -> Answer:
    """Call a tool, for whose headers the server asks its own list of tools, which needs a scope here."""
    answer = await _posted(ModernClient(world.http), called("free", x=1), given)
    return Answer(403, "") if answer.status == 200 and not world.ran else answer


def listens(wanted: Callable[[World, ModernClient], Awaitable[dict[str, Any]]], shown: str) -> Step:
    async def step(world: World, given: Mapping[str, str]) -> Answer:
        client = ModernClient(world.http)
        message = asked("subscriptions/listen", {"notifications": await wanted(world, client)}, said=MODERN)
        async with client.stream(message, **given) as events:
            if events.response.status_code != 200:
                return Answer(events.response.status_code, "")
            agreed = (await events.message())["params"]["notifications"]
            # Nobody listens for what the server does not agree to.
            return Answer(200 if agreed.get(shown) else 403, json.dumps(agreed))

    return step


async def resources(world: World, client: ModernClient) -> dict[str, Any]:
    return {"resourceSubscriptions": ["acme://x"]}


async def states(world: World, client: ModernClient) -> dict[str, Any]:
    return {"taskIds": [await world.modern_task(client)]}


async def over_sse(world: World, given: Mapping[str, str]) -> Answer:
    async with world.http.stream("GET", "/sse", headers=token("wide")) as response:
        texts = response.aiter_text()
        path = events_of(await anext(texts))[0]["data"]

        async def post(message: Any, given: Mapping[str, str]) -> httpx2.Response:
            return await world.http.post(path, json=message, headers=given)

        await post(request("initialize", hello("2024-11-05")), token("wide"))
        await anext(texts)
        await post({"jsonrpc": "2.0", "method": "notifications/initialized"}, token("wide"))
        answer = await post(call("run"), given)
        if answer.status_code != 202:
            return Answer.of(answer)
        text = await anext(texts)
        return Answer(403 if "-32600" in text else 200, text)
