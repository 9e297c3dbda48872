"""Judges what clients hear of changes: a part of the oracle, without the runtime."""

from collections import deque
from typing import Any

from simulation.duties import MODERN, Connection, Machine, meta_of, params_of
from simulation.judge import Judge
from simulation.model import SUBSCRIPTION

LISTEN, SUBSCRIBE, UNSUBSCRIBE = "subscriptions/listen", "resources/subscribe", "resources/unsubscribe"
UPDATED, CHANGED = "notifications/resources/updated", "notifications/tools/list_changed"
Change = list[Any]
"""A method and the URI of a resource, None for the list of tools."""


class Listener:
    """One subscription at the server: a resource of a session, or a request that listens (`tag` is its id)."""

    def __init__(self, machine: Machine, params: dict[str, Any], tag: Any) -> None:
        self.machine, self.tag = machine, tag
        wanted: dict[str, Any] = params.get("notifications") or {"resourceSubscriptions": [params["uri"]]}
        self.uris: list[str] = wanted.get("resourceSubscriptions", [])
        self.wants_tools: bool = wanted.get("toolsListChanged", False)

    def wants(self, uri: str | None) -> bool:
        """Whether it covers a resource, or the list of tools."""
        return self.wants_tools if uri is None else any(is_part(uri, held) for held in self.uris)


class Watching(Judge):
    """Judges one history with subscriptions: each change arrives once, in order, and nowhere else."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._listeners: dict[tuple[int, Any], Listener] = {}
        self._news: dict[tuple[int, Any], deque[Change]] = {}
        self._heard: dict[tuple[int, str], deque[Change]] = {}
        self._plans = {plan["tag"]: plan for plan in self._world["watches"]}
        self._left: dict[tuple[int, Any], str] = {}
        self._refused: set[str] = set()
        self._on: dict[str, bool] = {}
        """The watches of clients of 2026-07-28, and whether the server has agreed."""

    def client_sends(self, one: Connection, message: Any) -> None:
        super().client_sends(one, message)
        method, params = message.get("method"), params_of(message)
        if method in (LISTEN, SUBSCRIBE):
            machine = Machine(self, SUBSCRIPTION, f"subscription {message['id']} of client {one.number}")
            tag = message["id"] if method == LISTEN else None
            self._listeners[one.number, message["id"]] = Listener(machine, params, tag)
            machine.step("ask")
        elif method == UNSUBSCRIBE:
            self._left[one.number, message["id"]] = params["uri"]
            self._did("unsubscribe", one.number, params["uri"])
            self._step(one, params["uri"], "leave")

    def _step(self, one: Connection, uri: str, event: str) -> None:
        """Take an event of what a session subscribes to."""
        for (number, _), listener in self._listeners.items():
            if number == one.number and uri in listener.uris:
                listener.machine.step(event)

    def sends_cancelled(self, one: Connection, params: Any) -> None:
        if listener := self._listeners.get((one.number, params.get("requestId"))):
            listener.machine.step("leave")
            one.requests[params["requestId"]].step("cancel")
        else:
            super().sends_cancelled(one, params)

    def server_received(self, one: Connection, message: Any) -> None:
        super().server_received(one, message)
        key = one.number, params_of(message).get("requestId")
        if message.get("method") in (SUBSCRIBE, UNSUBSCRIBE) and one.logs is not None:
            one.logs.flush(self._now)
        if message.get("method") == LISTEN:
            if self._kept_open(one) >= self._world["limits"].get("max_waiting", 1000):
                self._refused.update(self._listeners[one.number, message["id"]].uris)
                return
            self._excuse("answer", one.number, message["id"])
            if one.ends == float("inf"):
                self._must("agree", one.number, message["id"])
        elif message.get("method") == "notifications/cancelled" and key in self._listeners:
            self._listeners[key].machine.step("done")
            self._news.pop(key, None)
            self._excuse("news", *key)

    def sends_answer(self, one: Connection, message: Any) -> None:
        name, id_ = one.names.get(message["id"]), message["id"]
        if name == LISTEN:
            listener = self._listeners[one.number, id_]
            listener.machine.step("end")
            is_refused = "error" in message and self._refused.issuperset(listener.uris)
            if one.ends > self._now and not is_refused:
                self.fault(f"server {one.number} ends the subscription {id_}: {message}")
            self._excuse("answer", one.number, id_)
            return
        super().sends_answer(one, message)
        if name == SUBSCRIBE:
            self._listeners[one.number, id_].machine.step("agree")
        elif name == UNSUBSCRIBE:
            self._step(one, self._left[one.number, id_], "done")

    def questions(self, one: Connection, message: Any) -> None:
        method, params = message["method"], params_of(message)
        tag = meta_of(params).get("io.modelcontextprotocol/subscriptionId")
        key = one.number, tag
        if method == "notifications/subscriptions/acknowledged":
            if one.ends == float("inf"):
                self._did("agree", *key)
            if key in self._listeners:
                self._listeners[key].machine.step("agree")
            else:
                self.fault(f"server {one.number} acknowledges what nobody asked for: {message}")
        elif method in (UPDATED, CHANGED):
            expected = self._news.get(key, deque())
            due = expected.popleft() if expected else None
            if due != [method, params.get("uri")]:
                self.fault(f"server {one.number} reports {method} {params}, not {due}")
            if not expected:
                self._excuse("news", *key)
            if tag is not None and key in self._listeners:
                self._listeners[key].machine.step("news")
        elif (one.number, params.get("requestId")) not in self._listeners:
            super().questions(one, message)

    def handler_changes(self, _: Any, data: Any) -> None:
        uri = data["uri"]
        change = [CHANGED if uri is None else UPDATED, uri]
        for one in self._connections:
            if self._now >= one.ends:
                continue
            mine = [each for (number, _), each in self._listeners.items() if number == one.number]
            on = {each.tag for each in mine if each.machine.state in ("on", "leaving") and each.wants(uri)}
            if uri is None and one.server.state == "ready":
                on.add(None)
            for tag in on:
                self._news.setdefault((one.number, tag), deque()).append(change)
                self._must("news", one.number, tag)

    def speak(self, one: Connection, machine: Machine, message: Any, *, from_client: bool) -> None:
        if (one.number, params_of(message).get("requestId")) not in self._listeners:
            super().speak(one, machine, message, from_client=from_client)

    def client_holds(self, one: Connection, data: Any) -> None:
        if not self._on:
            super().client_holds(one, data)

    def _kept_open(self, one: Connection) -> int:
        mine = (each for (number, _), each in self._listeners.items() if number == one.number)
        return sum(each.tag is not None and each.machine.state in ("on", "leaving") for each in mine)

    # What the programs of the clients notice.

    def client_received(self, one: Connection, message: Any) -> None:
        super().client_received(one, message)
        method, params = message.get("method"), params_of(message)
        if method not in (UPDATED, CHANGED) or "client" in one.ended:
            return
        uri = params.get("uri")
        if self._world["client"] != MODERN:
            self._expect(one, "", [method, uri])
            return
        tag = meta_of(params).get("io.modelcontextprotocol/subscriptionId")
        listener = self._listeners.get((one.number, tag))
        for watch in self._on:
            plan = self._plans[watch]
            is_wanted = plan["tools"] if uri is None else is_part(uri, plan["uri"])
            is_own = listener is None or plan["uri"] in listener.uris
            if plan["client"] == one.number and is_wanted and is_own:
                self._expect(one, watch, [method, uri])

    def _expect(self, one: Connection, watch: str, change: Change) -> None:
        self._heard.setdefault((one.number, watch), deque()).append(change)
        if self._on.get(watch, True):
            self._must("hear of", one.number, watch)

    def lose(self, one: Connection, *, has_closed: bool = False) -> None:
        super().lose(one, has_closed=has_closed)
        for tag in self._on:
            if self._plans[tag]["client"] == one.number and self._world["client"] == MODERN and self._on[tag]:
                self._must("quit", tag)

    def client_watches(self, one: Connection, data: Any) -> None:
        if not one.is_modern and self._world["client"] == MODERN:
            self._on[data["tag"]] = False  # what a session hears from now on is kept until then

    def client_agrees(self, one: Connection, data: Any) -> None:
        plan, agreed = self._plans[data["tag"]], data["agreed"]
        self._on[data["tag"]] = True
        if self._heard.get((one.number, data["tag"])):
            self._must("hear of", one.number, data["tag"])
        wanted = {"resourceSubscriptions": [plan["uri"]], **({"toolsListChanged": True} if plan["tools"] else {})}
        if agreed is not None and agreed != wanted:
            self.fault(f"{data['tag']}: the server agrees to {agreed}, not to {wanted}")

    def client_hears_of(self, one: Connection, data: Any) -> None:
        expected = self._heard.get((one.number, data["tag"]), deque())
        due = expected.popleft() if expected else None
        if due != [UPDATED if data["uri"] else CHANGED, data["uri"]]:
            self.fault(f"client {one.number} hears of {data}, not of {due}")
        if not expected:
            self._excuse("hear of", one.number, data["tag"])

    def client_leaves(self, one: Connection, data: Any) -> None:
        if not one.is_modern and "client" not in one.ended:
            self._must("unsubscribe", one.number, self._plans[data["tag"]]["uri"])
        self._stops(one, data)

    def _stops(self, one: Connection, data: Any) -> None:
        self._on.pop(data["tag"], None)
        self._excuse("hear of", one.number, data["tag"])

    def client_quits(self, one: Connection, data: Any) -> None:
        if data["tag"] in self._on and "client" not in one.ended and one.ends > self._now:
            self.fault(f"{data['tag']} ends as {data['how']}")
        self._excuse("quit", data["tag"])
        self._stops(one, data)

    def client_cannot_watch(self, one: Connection, data: Any) -> None:
        is_refused = self._plans[data["tag"]]["uri"] in self._refused
        if "client" not in one.ended and one.ends > self._now and not is_refused:
            self.fault(f"{data['tag']} cannot watch: {data['how']}")


def is_part(uri: str, held: str) -> bool:
    """Whether a subscription to a resource covers another."""
    return uri == held or uri.startswith(held.rstrip("/") + "/")
