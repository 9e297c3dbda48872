"""Judges what a client over HTTP receives: a part of the oracle, without the runtime."""

from typing import Any

from simulation.duties import MODERN, Call, Connection, Machine
from simulation.judge import Judge
from simulation.model import STREAM


class Streams(Judge):
    """Judges one history over HTTP: every message is received once and in order, whatever was lost and resumed."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._web = self._world["web"]
        self._streams = {tag: Machine(self, STREAM, tag) for tag in self._calls}
        self._made: dict[str, list[Any]] = {tag: [] for tag in self._calls}
        self._since = dict.fromkeys(self._calls, 0.0)
        self._connections[0].revision = self._web["revision"]
        self._status: dict[str, int] = {}
        self._is_over = False
        self._worker: dict[str, int] = {}
        self._held: list[Any] = []
        self._sessions = 1 + self._web["others"]
        self._asked: dict[str, list[str]] = {}
        self._answered: set[str] = set()

    def client_posts(self, _: Connection, data: Any) -> None:
        tag = data["tag"]
        self._since[tag] = self._now
        self._status[tag] = 404 if self._is_over else 200
        self._streams[tag] = Machine(self, STREAM, tag)
        self._made[tag], self._calls[tag].reported = [], None
        self._worker[tag] = data["worker"]
        self._streams[tag].step("post")
        if self._is_over:
            self._streams[tag].step("delete")
        else:
            self._must("begin", tag)

    def client_is_answered(self, _: Connection, data: Any) -> None:
        is_bad = self._web["revision"] == MODERN and self._made[data["tag"]] == [-32602]
        status = 400 if is_bad else self._status[data["tag"]]
        # In this moment the response becomes a stream.
        is_moment = is_bad and abs(self._now - self._since[data["tag"]] - self._web["stream_after"]) < 1e-3
        if data["status"] != status and not is_moment:
            self.fault(f"{data['tag']}: the status is {data['status']}, not {status}")

    def client_hears(self, _: Connection, data: Any) -> None:
        tag, message = data["tag"], data["message"]
        self._excuse("hear", tag)
        if self._streams[tag].state == "over":
            return
        expected = self._made[tag].pop(0) if self._made[tag] else None
        if simplified(message) != expected:
            self.fault(f"{tag}: the client hears {simplified(message)}, not {expected}")
        self._await(tag)

    def client_loses(self, _: Connection, data: Any) -> None:
        tag = data["tag"]
        self._excuse("hear", tag)
        self._excuse("end", tag)
        self._streams[tag].step("cut")
        if self._web["revision"] == MODERN and self._calls[tag].is_running:
            self._must("stop", tag)

    def client_gets(self, _: Connection, data: Any) -> None:
        self._since[data["tag"]] = self._now
        self._status[data["tag"]] = 404 if self._is_over else 200
        self._streams[data["tag"]].step("resume")
        self._await(data["tag"])

    def client_is_done(self, _: Connection, data: Any) -> None:
        tag = data["tag"]
        self._streams[tag].step("end")
        if self._made[tag] and not self._is_over:
            self.fault(f"{tag}: the stream ends before {self._made[tag]}")
        self._excuse("end", tag)

    def client_deletes(self, *_: Any) -> None:
        self._sessions -= self._sessions > 0 and not self._is_over
        self._is_over = True
        for tag, stream in self._streams.items():
            if stream.state == "open":
                self._must("end", tag, at=self._now + 2 * self._web["slow"])
            stream.step("delete")
            self._excuse("hear", tag)
            self._excuse("begin", tag)
            if self._calls[tag].is_running:
                self._must("stop", tag)

    def handler_begins(self, data: Any) -> None:
        self._did("begin", data["tag"])
        self._calls[data["tag"]].is_running = True

    def handler_reports(self, data: Any) -> None:
        call = self._calls[data["tag"]]
        if call.reported is None or data["progress"] > call.reported:
            call.reported = data["progress"]
            self._makes(call, "event", [data["progress"], data["total"]])

    def handler_asks(self, data: Any) -> None:
        """A handler asks again what was answered before, since each request runs it from the start."""
        if data["text"] in self._answered:
            self._must("hear of", data["text"])
        else:
            self._asked.setdefault(data["tag"], []).append(data["text"])
            self._must("stop", data["tag"])

    def handler_hears(self, data: Any) -> None:
        self._did("hear of", data["asked"])
        if data["text"] != data["asked"]:
            self.fault(f"a handler hears {data['text']!r} in answer to {data['asked']!r}")

    def client_replies(self, one: Connection, data: Any) -> None:
        self._answered.add(data["text"])

    def handler_is_cancelled(self, data: Any) -> None:
        self._did("stop", data["tag"])
        self._calls[data["tag"]].is_running = False
        if asked := self._asked.pop(data["tag"], None):
            self._makes(self._calls[data["tag"]], "answer", ["ask", *sorted(asked)])

    def client_holds(self, one: Connection, data: Any) -> None:
        super().client_holds(one, data)
        self._held.append(data)
        if self._web["revision"] != MODERN and len(self._held) > 1:
            expected = 0 if len(self._held) > 2 else self._sessions
            if data.get("Sessions._held", 0) != expected or (not expected and "Link.channels" in data):
                self.fault(f"{expected} sessions should be left: {data}")

    def server_restarts(self, *_: Any) -> None:
        if self._web["revision"] != MODERN:
            self._sessions = 0
            self.client_deletes()
            return
        for tag, call in self._calls.items():
            if self._worker.get(tag) == 0:
                self._excuse("begin", tag)
                if call.is_running:
                    self._must("stop", tag)
                if self._streams[tag].state == "open":
                    self._must("end", tag, at=self._now + 2 * self._web["slow"])
                    self._streams[tag].step("delete")
                    self._excuse("hear", tag)

    def _finish(self, call: Call, answer: dict[str, Any], data: Any) -> None:
        call.is_running = False
        self._excuse("stop", call.tag)
        self._makes(call, "answer", answer.get("text", answer.get("code")))

    def _makes(self, call: Call, event: str, message: Any) -> None:
        self._streams[call.tag].step(event)
        self._made[call.tag].append(message)
        self._await(call.tag)

    def _await(self, tag: str) -> None:
        if self._made[tag] and self._streams[tag].state in ("open", "answered"):
            self._must("hear", tag, at=self._now + 2 * self._web["slow"])


def simplified(message: Any) -> Any:
    """Return what matters of a message: the text or the error code of an answer, or the progress."""
    if "method" in message:
        return [message["params"]["progress"], message["params"].get("total")]
    result = message.get("result", {})
    if result.get("resultType") == "input_required":
        asked = result["inputRequests"].values()
        return ["ask", *sorted(question["params"]["messages"][0]["content"]["text"] for question in asked)]
    return message["error"]["code"] if "error" in message else result["content"][0]["text"]
