"""Judges what a client over HTTP receives: a part of the oracle, without the runtime."""

from typing import Any

from simulation.duties import MODERN, Call, Connection, Machine, is_away
from simulation.judge import Judge
from simulation.model import STREAM


class Response:
    """What is known of the stream of a call."""

    def __init__(self, duties: Judge, tag: str, worker: int = 0, status: int = 200) -> None:
        self.machine = Machine(duties, STREAM, tag)
        self.worker, self.status = worker, status
        self.since = 0.0
        self.made: list[Any] = []
        """What the client should hear next."""


class Streams(Judge):
    """Judges one history over HTTP: every message is received once and in order, whatever was lost and resumed."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._web = self._world["web"]
        self._connections[0].revision = self._web["revision"]
        self._is_modern = self._web["revision"] == MODERN
        self._streams = {tag: Response(self, tag) for tag in self._calls}
        self._is_over = False
        self._held: list[Any] = []
        self._sessions = 1 + self._web["others"]
        self._asked: dict[str, list[str]] = {}
        self._answered: set[str] = set()

    @property
    def _soon(self) -> float:
        return self._now + 2 * float(self._web["slow"])

    def client_posts(self, call: Call, data: Any) -> None:
        stream = self._streams[call.tag] = Response(self, call.tag, data["worker"])
        call.reported = None
        stream.machine.step("post")
        self._requests(stream)
        if self._is_over:
            stream.machine.step("delete")
        elif data["resumes"] and is_away(self._web.get("away"), self._now):
            self._makes(call, "answer", -32603)
        else:
            self._must("begin", call.tag)

    def client_gets(self, call: Call, _: Any) -> None:
        self._requests(self._streams[call.tag])
        self._streams[call.tag].machine.step("resume")
        self._await(call.tag)

    def _requests(self, stream: Response) -> None:
        stream.since, stream.status = self._now, 404 if self._is_over else 200

    def client_is_answered(self, call: Call, data: Any) -> None:
        stream = self._streams[call.tag]
        is_bad = self._is_modern and stream.made == [-32602]
        status = 400 if is_bad else stream.status
        # In this moment the response becomes a stream.
        is_moment = is_bad and abs(self._now - stream.since - self._web["stream_after"]) < 1e-3
        if data["status"] != status and not is_moment:
            self.fault(f"{call.tag}: the status is {data['status']}, not {status}")

    def client_hears(self, call: Call, data: Any) -> None:
        stream, message = self._streams[call.tag], simplified(data["message"])
        self._excuse("hear", call.tag)
        if stream.machine.state == "over":
            return
        expected = stream.made.pop(0) if stream.made else None
        if message != expected:
            self.fault(f"{call.tag}: the client hears {message}, not {expected}")
        self._await(call.tag)

    def client_loses(self, call: Call, _: Any) -> None:
        self._excuse("hear", call.tag)
        self._excuse("end", call.tag)
        self._streams[call.tag].machine.step("cut")
        if self._is_modern and call.is_running:
            self._must("stop", call.tag)

    def client_is_done(self, call: Call, _: Any) -> None:
        stream = self._streams[call.tag]
        stream.machine.step("end")
        if stream.made and not self._is_over:
            self.fault(f"{call.tag}: the stream ends before {stream.made}")
        self._excuse("end", call.tag)

    def client_deletes(self, *_: Any) -> None:
        self._sessions -= self._sessions > 0 and not self._is_over
        self._is_over = True
        for call in self._calls.values():
            self._cut_off(call)

    def server_restarts(self, *_: Any) -> None:
        if not self._is_modern:
            self._sessions = 0
            self.client_deletes()
        for tag, stream in self._streams.items():
            if self._is_modern and stream.machine.state != "new" and stream.worker == 0:
                self._cut_off(self._calls[tag])

    def _cut_off(self, call: Call) -> None:
        """The server ends a call and its stream."""
        machine = self._streams[call.tag].machine
        self._excuse("begin", call.tag)
        if call.is_running:
            self._must("stop", call.tag)
        if machine.state == "open":
            self._must("end", call.tag, at=self._soon)
        if machine.state == "open" or not self._is_modern:
            machine.step("delete")
            self._excuse("hear", call.tag)

    def client_holds(self, one: Connection, data: Any) -> None:
        super().client_holds(one, data)
        self._held.append(data)
        if not self._is_modern and len(self._held) > 1:
            expected = 0 if len(self._held) > 2 else self._sessions
            if data.get("Sessions._held", 0) != expected or (not expected and "Connection.channels" in data):
                self.fault(f"{expected} sessions should be left: {data}")

    def handler_begins(self, call: Call, data: Any) -> None:
        self._did("begin", call.tag)
        call.is_running = True

    def handler_reports(self, call: Call, data: Any) -> None:
        if call.reported is None or data["progress"] > call.reported:
            call.reported = data["progress"]
            self._makes(call, "event", [data["progress"], data["total"]])

    def handler_asks(self, call: Call, data: Any) -> None:
        """A handler asks again what was answered before, since each request runs it from the start."""
        if data["text"] in self._answered:
            self._must("hear of", data["text"])
        else:
            self._asked.setdefault(call.tag, []).append(data["text"])
            self._must("stop", call.tag)

    def handler_hears(self, call: Call, data: Any) -> None:
        self._did("hear of", data["asked"])
        if data["text"] != data["asked"]:
            self.fault(f"a handler hears {data['text']!r} in answer to {data['asked']!r}")

    def client_replies(self, one: Any, data: Any) -> None:
        self._answered.add(data["text"])

    def handler_is_cancelled(self, call: Call, data: Any) -> None:
        self._did("stop", call.tag)
        call.is_running = False
        if asked := self._asked.pop(call.tag, None):
            self._makes(call, "answer", ["ask", *sorted(asked)])

    def _finish(self, call: Call, answer: dict[str, Any], data: Any) -> None:
        call.is_running = False
        self._excuse("stop", call.tag)
        self._makes(call, "answer", answer.get("text", answer.get("code")))

    def _makes(self, call: Call, event: str, message: Any) -> None:
        self._streams[call.tag].machine.step(event)
        self._streams[call.tag].made.append(message)
        self._await(call.tag)

    def _await(self, tag: str) -> None:
        stream = self._streams[tag]
        if stream.made and stream.machine.state in ("open", "answered"):
            self._must("hear", tag, at=self._soon)


def simplified(message: Any) -> Any:
    """Return what matters of a message: the text or the error code of an answer, or the progress."""
    if "method" in message:
        return [message["params"]["progress"], message["params"].get("total")]
    result = message.get("result", {})
    if result.get("resultType") == "input_required":
        asked = result["inputRequests"].values()
        return ["ask", *sorted(question["params"]["messages"][0]["content"]["text"] for question in asked)]
    return message["error"]["code"] if "error" in message else result["content"][0]["text"]
