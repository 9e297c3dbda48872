"""A client over HTTP, in memory: it posts calls to the ASGI application, loses their streams, and resumes them."""

import asyncio
import json
import random
from collections.abc import Callable, Sequence
from typing import Any

from mcp_runtime.core.transports.http import HttpLimits, MemoryEventStore, asgi_app
from simulation.duties import MODERN, PREFIX
from simulation.net import History, held

WHO = "client 0"


def make(chance: random.Random, calls: list[dict[str, Any]]) -> dict[str, Any]:
    """Return how a client uses HTTP; in each call, when it loses the stream and for how long."""
    for call in calls:
        call["cuts"] = [
            [chance.uniform(0, 4), chance.uniform(0, 6), chance.choice((None, None, 1, 2))]
            for _ in range(chance.choice((0, 1, 1, 3)))
        ]
        call["client"] = 0
        call["steps"] = [step for step in call["steps"] if step[0] not in ("log", "stubborn")]
        call["workers"] = [chance.randrange(2) for _ in range(5)]
    revision = chance.choice(("2025-03-26", "2025-06-18", "2025-11-25", "2025-11-25", MODERN, MODERN))
    for call in calls[::2] if revision == MODERN else ():
        for _ in range(chance.choice((1, 1, 3))):
            call["steps"].insert(chance.randint(0, len(call["steps"])), questions(chance))
    soon = chance.choice(calls)["at"] + chance.uniform(0, 1)  # while its response has not begun
    return {
        "revision": revision,
        "others": chance.choice((0, 0, 2)),
        "keeps": chance.random() < 0.8,
        "restart": chance.choice((None, None, chance.uniform(0, 15), soon)),
        "stream_after": chance.choice((0.02, 1.0)),
        "slow": chance.choice((0, 0, 0.05)),
        "delete": chance.choice((None, None, chance.uniform(0, 15), soon)),
        "away": chance.choice((None, [chance.uniform(0, 10), chance.choice((1, 10))])),
    }


def questions(chance: random.Random) -> list[Any]:
    """Return a step that asks: a question, or several after some seconds; each takes some seconds to answer."""
    seconds = (0, 0, 0.1, 2, 7)
    if chance.random() < 0.6:
        return ["ask", chance.choice(seconds)]
    return ["ask", *([chance.choice((0, 0, 0, 0.5, 3)), chance.choice(seconds)] for _ in range(chance.choice((2, 3))))]


class Client:
    """One session of a client, or none in the modern era.

    Attributes:
        session: the headers of each request.
    """

    def __init__(self, web: dict[str, Any], workers: list["Worker"], history: History) -> None:
        self.web, self.workers, self.history = web, workers, history
        self.session: dict[str, str] = {"mcp-protocol-version": web["revision"]}

    async def begin(self) -> None:
        """Start the session; in the modern era, send any request."""
        if self.web["revision"] == MODERN:
            meta: dict[str, Any] = {f"{PREFIX}protocolVersion": MODERN, f"{PREFIX}clientCapabilities": {}}
            message = {"id": "hello", "method": "tools/list", "params": {"_meta": meta}}
            headers = {**self.session, "mcp-method": "tools/list"}
            for worker in range(len(self.workers)):
                await Exchange(self, worker=worker).run("POST", headers, message)
            return
        params = {
            "protocolVersion": self.web["revision"],
            "capabilities": {},
            "clientInfo": {"name": "w", "version": ""},
        }
        hello = Exchange(self)
        await hello.run("POST", {}, {"id": "hello", "method": "initialize", "params": params})
        self.session["mcp-session-id"] = hello.headers["mcp-session-id"]
        await Exchange(self).run("POST", self.session, {"method": "notifications/initialized"})

    async def call(self, number: int, plan: dict[str, Any]) -> None:
        """Make a call, and resume its stream as often as it is lost."""
        await asyncio.sleep(plan["at"])
        tag, headers = plan["tag"], self.session
        meta: dict[str, Any] = {"progressToken": tag}
        if self.web["revision"] == MODERN:
            meta |= {f"{PREFIX}protocolVersion": MODERN, f"{PREFIX}clientCapabilities": {"sampling": {}}}
            headers = {**headers, "mcp-method": "tools/call", "mcp-name": "run"}
        params = {"name": "run", "arguments": {"tag": tag, "steps": plan["steps"]}, "_meta": meta}
        last_id = ""
        for number_of_worker in plan["workers"]:
            worker = number_of_worker % len(self.workers)
            self.history.note(WHO, "posts", {"tag": tag, "worker": worker, "resumes": "requestState" in params})
            exchange = Exchange(self, tag, *plan["cuts"][:1], worker=worker)
            last_id = await exchange.run("POST", headers, {"id": number, "method": "tools/call", "params": params})
            if "try again" in exchange.error:
                await asyncio.sleep(3)
                continue
            if exchange.result.get("resultType") != "input_required":
                break
            asked = exchange.result["inputRequests"].items()
            contents = {key: question["params"]["messages"][0]["content"] for key, question in asked}
            await asyncio.sleep(max(float(content["text"].rpartition("|")[2]) for content in contents.values()))
            answers = {key: {"role": "assistant", "content": said, "model": "m"} for key, said in contents.items()}
            params["inputResponses"] = answers
            for said in contents.values():
                self.history.note(WHO, "replies", {"tag": tag, "text": said["text"]})
            params["requestState"] = exchange.result["requestState"]
        for following in range(1, len(plan["cuts"]) + 1):
            if last_id and self.web["revision"] != MODERN:
                self.history.note(WHO, "gets", {"tag": tag})
                exchange = Exchange(self, tag, *plan["cuts"][following : following + 1])
                last_id = await exchange.run("GET", {**self.session, "last-event-id": last_id})

    async def delete(self) -> None:
        """End the session."""
        await asyncio.sleep(self.web["delete"])
        self.history.note(WHO, "deletes")
        await Exchange(self).run("DELETE", self.session)


class Exchange:
    """One request and its response.

    Args:
        client: sends it.
        tag: its call; empty for other requests, which are not recorded.
        cut: after how many seconds the connection is lost, for how long, and after how many messages at the latest.
    """

    def __init__(self, client: Client, tag: str = "", cut: Sequence[Any] = (1e6, 0), *, worker: int = 0) -> None:
        self.headers: dict[str, str] = {}
        self.result: dict[str, Any] = {}
        self.error = ""
        self._client, self._tag, self._cut, self._app = client, tag, cut, client.workers[worker].app
        self._rest, self._last_id = b"", ""
        self._left: int | None = (*cut, None)[2]
        self._event: dict[str, str] = {}
        self._gone = asyncio.Event()
        self._asked: list[Any] = []

    async def run(self, method: str, headers: dict[str, str], message: dict[str, Any] | None = None) -> str:
        """Record what arrives until the response ends or is lost; return the id of the last event, if it is lost."""
        known = {"host": "localhost", "content-type": "application/json", **headers}
        known["accept"] = "text/event-stream" if method == "GET" else "application/json, text/event-stream"
        self._last_id = headers.get("last-event-id", "")
        body = json.dumps({"jsonrpc": "2.0", **message}).encode() if message else b""
        self._asked.append({"type": "http.request", "body": body, "more_body": False})
        scope = {"type": "http", "method": method, "path": "/mcp", "query_string": b"", "client": ("127.0.0.1", 1)}
        encoded = [(name.encode(), value.encode()) for name, value in known.items()]
        timer = self._client.history.loop.call_later(self._cut[0], self._lose)
        await self._app({**scope, "headers": encoded}, self._receive, self._send)
        timer.cancel()
        if self._gone.is_set():
            await asyncio.sleep(self._cut[1])
            return self._last_id
        self._note("is done")
        return ""

    def _note(self, what: str, **data: Any) -> None:
        if self._tag:
            self._client.history.note(WHO, what, {"tag": self._tag, **data})

    def _lose(self) -> None:
        if not self._gone.is_set():
            self._note("loses")
            self._gone.set()

    async def _receive(self) -> Any:
        if not self._asked:
            await self._gone.wait()
            return {"type": "http.disconnect"}
        return self._asked.pop()

    async def _send(self, message: Any) -> None:
        if self._gone.is_set():
            return
        if message["type"] == "http.response.start":
            self.headers = {name.decode().lower(): value.decode() for name, value in message["headers"]}
            self._note("is answered", status=message["status"])
            return
        if not self.headers.get("content-type", "").startswith("text/event-stream"):
            self._take(f"data: {message['body'].decode()}")
            self._take("")
        *lines, self._rest = (self._rest + message["body"]).split(b"\n")
        for line in lines:
            if not self._gone.is_set():
                self._take(line.decode())
        await asyncio.sleep(self._client.web["slow"])

    def _take(self, line: str) -> None:
        name, _, value = line.partition(": ")
        if line:
            self._event[name] = value
            return
        self._last_id = self._event.pop("id", self._last_id)
        if data := self._event.pop("data", "").strip():
            message = json.loads(data)
            self.result, self.error = message.get("result", {}), message.get("error", {}).get("message", "")
            self._note("hears", message=message)
            self._left = None if self._left is None else self._left - 1
            if self._left == 0 and "method" in message:
                self._lose()


class Worker:
    """A process of the server.

    Args:
        web: how the world uses HTTP.
        make: makes the server.
    """

    def __init__(self, web: dict[str, Any], make: Callable[[], Any]) -> None:
        self._web, self._make = web, make

    async def start(self) -> None:
        """Start it; or again, without anything that it knew."""
        limits = HttpLimits(stream_after=self._web["stream_after"])
        events = MemoryEventStore() if self._web["keeps"] else None
        self.app = asgi_app(self._make(), events=events, limits=limits)
        self._life = self.app.lifespan()
        await self._life.__aenter__()

    async def stop(self) -> None:
        """Stop it."""
        await self._life.__aexit__(None, None, None)


async def play(world: dict[str, Any], make: Callable[[], Any], history: History) -> None:
    """Serve over HTTP, and be the client."""
    web = world["web"]
    workers = [Worker(web, make) for _ in range(2 if web["revision"] == MODERN else 1)]
    for worker in workers:
        await worker.start()
    client = Client(web, workers, history)
    calls = [client.call(number, plan) for number, plan in enumerate(world["calls"])]
    for one in (*(Client(web, workers, history) for _ in range(web["others"])), client):
        await one.begin()
    if web["revision"] != MODERN and web["delete"] is not None:
        calls += [client.delete()]
    calls += [_restart(web["restart"], workers[0], history)] if web["restart"] is not None else []
    history.note(WHO, "holds", held(*(worker.app for worker in workers)))
    await asyncio.gather(*calls)
    await asyncio.sleep(100)
    history.note(WHO, "holds", held(*(worker.app for worker in workers)))
    for worker in workers:
        await worker.stop()
    history.note(WHO, "holds", held(*(worker.app for worker in workers)))


async def _restart(at: float, worker: Worker, history: History) -> None:
    await asyncio.sleep(at)
    history.note("server 0", "restarts")
    await worker.stop()
    await worker.start()
