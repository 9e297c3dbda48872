"""Judges calls that become tasks: a part of the oracle, without the runtime."""

from collections import deque
from typing import Any

from simulation.duties import Call, Connection, Machine, meta_of, params_of
from simulation.judge import Judge
from simulation.model import TASK
from simulation.questions import Question, text_of_question

ENDED = ("completed", "failed", "cancelled")
LISTEN = "subscriptions/listen"


class Tasking(Judge):
    """Judges one history with tasks: in sessions clients make them, in 2026-07-28 handlers do."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._tasks = {tag: Machine(self, TASK, f"the task of {tag}") for tag in self._calls}
        self._ids: dict[str, Call] = {}
        self._owed: dict[str, deque[str]] = {tag: deque() for tag in self._calls}
        self._waiting: dict[str, list[str]] = {tag: [] for tag in self._calls}
        self._late: set[tuple[int, Any]] = set()
        self._about: dict[tuple[int, Any], Call] = {}
        self._poll: float = self._world["tasks"]["poll"]

    def _moves(self, call: Call, event: str) -> None:
        """Take an event of a task: sessions hear of a new state, and requests that wait for the end are answered."""
        one, task = call.one, self._tasks[call.tag]
        before, after = task.state, task.step(event)
        if before != after and not one.is_modern and one.ends == float("inf"):
            self._owed[call.tag].append(after)
            self._must("status", call.tag)
        if after in ENDED:
            for id_ in self._waiting[call.tag]:
                self._must("answer", one.number, id_)
            self._waiting[call.tag].clear()

    def _makes_task(self, call: Call) -> None:
        self._tasks[call.tag].step("create")
        self._must("answer", call.tag)

    # What handlers do.

    def handler_defers(self, call: Call, data: Any) -> None:
        if call.one.is_modern:
            self._makes_task(call)

    def handler_asks(self, call: Call, data: Any) -> None:
        super().handler_asks(call, data)
        if self._tasks[call.tag].state != "cancelled":
            self._moves(call, "ask")

    def will_hear(self, question: Question) -> None:
        super().will_hear(question)
        task, others = self._tasks[question.call.tag], question.call.questions.values()
        if task.state == "input_required" and all(
            other.machine.state == "heard" or ("hear", other.text) in self._due for other in others
        ):
            self._moves(question.call, "resume")

    def may_ask(self, call: Call) -> None:
        if not call.one.is_modern:
            super().may_ask(call)

    def _finish(self, call: Call, answer: dict[str, Any], data: Any) -> None:
        if data.get("told"):
            self.fault(f"{call.tag}: the handler was told of a cancellation that did not happen")
        call.received.step("finish")
        call.received.step("answer")
        call.answer = answer
        self._moves(call, "complete" if "text" in answer else "fail")
        self._free(call)

    # What the server receives and sends.

    def client_sends(self, one: Connection, message: Any) -> None:
        super().client_sends(one, message)
        method, params = message.get("method", ""), params_of(message)
        if method.startswith("tasks/"):
            self._about[one.number, message["id"]] = call = self._ids[params["taskId"]]
            if method == "tasks/update":
                self._did("reply", call.tag)
                for key, response in params["inputResponses"].items():
                    self._replies(one, call.asked[key], response)

    def sends_cancelled(self, one: Connection, params: Any) -> None:
        if one.names.get(params["requestId"], "").startswith(("tasks/", LISTEN)):
            one.requests[params["requestId"]].step("cancel")
        else:
            super().sends_cancelled(one, params)

    def server_received(self, one: Connection, message: Any) -> None:
        super().server_received(one, message)
        method, id_ = message.get("method"), message.get("id")
        if method == LISTEN:
            self._excuse("answer", one.number, id_)
        elif method == "tools/call" and not one.is_modern:
            self._makes_task(one.by_id[id_])
        elif (call := self._about.get((one.number, id_))) is not None and method is not None:
            has_ended = self._tasks[call.tag].state in ENDED
            if method == "tasks/result" and not has_ended:
                self._excuse("answer", one.number, id_)
                self._waiting[call.tag].append(id_)
            elif method == "tasks/cancel" and has_ended:
                self._late.add((one.number, id_))
            elif method == "tasks/cancel":
                self._is_cancelled(one, call)
                call.answer = {"code": -32603}
                self._moves(call, "cancel")
            elif method == "tasks/update":
                for question in call.questions.values():
                    self.will_hear(question)

    def sends_answer(self, one: Connection, message: Any) -> None:
        name, id_, result = one.names.get(message["id"], ""), message["id"], message.get("result", {})
        if name == "tools/call":
            self._did("answer", one.by_id[id_].tag)
            created = result if one.is_modern else result["task"]
            self._ids[created["taskId"]] = one.by_id[id_]
            if created["status"] != "working":
                self.fault(f"{one.by_id[id_].tag}: the new task is {created}")
        elif name.startswith("tasks/"):
            self._did("answer", one.number, id_)
            self._tells(one, name, self._about[one.number, id_], id_, message)
        elif name != LISTEN:
            super().sends_answer(one, message)

    def _tells(self, one: Connection, name: str, call: Call, id_: Any, message: Any) -> None:
        """Compare what the server tells of a task with what it is."""
        result, code = message.get("result", {}), message.get("error", {}).get("code")
        if name == "tasks/result":
            self._tasks[call.tag].step("fetch")
            self._is_outcome(call, {"text": result["content"][0]["text"]} if result else {"code": code})
        elif (one.number, id_) in self._late and not one.is_modern:
            if code != -32602:
                self.fault(f"{call.tag} had ended before it was cancelled: {message}")
        elif code is not None:
            self.fault(f"{call.tag}: {name} fails: {message}")
        elif "status" in result:
            self._is_state(call, result)

    def _is_state(self, call: Call, told: Any) -> None:
        if told["status"] != self._tasks[call.tag].state:
            self.fault(f"{call.tag} is {self._tasks[call.tag].state}, not {told}")
        if "result" in told or "error" in told:
            is_good = "result" in told
            found = {"text": told["result"]["content"][0]["text"]} if is_good else {"code": told["error"]["code"]}
            self._is_outcome(call, found)
        asked = {
            key: self._question(text_of_question(one["params"])) for key, one in told.get("inputRequests", {}).items()
        }
        call.asked = asked or call.asked
        for question in asked.values():
            if question.machine.state == "asked":
                question.machine.step("request")

    def _is_outcome(self, call: Call, found: dict[str, Any]) -> None:
        if found != call.answer:
            self.fault(f"{call.tag}: the outcome is {found}, not {call.answer}")

    def questions(self, one: Connection, message: Any) -> None:
        method, params = message["method"], params_of(message)
        if method == "notifications/tasks/status":
            call = self._ids[params["taskId"]]
            due = self._owed[call.tag].popleft() if self._owed[call.tag] else None
            if params["status"] != due:
                self.fault(f"{call.tag}: the task is reported as {params['status']}, not {due}")
            if not self._owed[call.tag]:
                self._excuse("status", call.tag)
        elif method == "notifications/tasks":
            self._is_state(self._ids[params["taskId"]], params)
        elif method != "notifications/subscriptions/acknowledged":
            super().questions(one, message)

    def is_sent(self, params: Any) -> Question:
        question = super().is_sent(params)
        named = meta_of(params).get("io.modelcontextprotocol/related-task", {}).get("taskId")
        if self._ids.get(named) is not question.call:
            self.fault(f"the question {question.text} names the task {named}")
        return question

    # What the client receives, and how calls end.

    def client_received(self, one: Connection, message: Any) -> None:
        super().client_received(one, message)
        if message.get("method") == "notifications/tasks":
            self._learns(one, self._ids[message["params"]["taskId"]], message["params"])

    def receives_answer(self, one: Connection, id_: Any, message: Any) -> None:
        call = self._about.get((one.number, id_))
        if id_ in one.by_id:
            self._excuse("expire", one.by_id[id_].tag)
            return
        super().receives_answer(one, id_, message)
        if call is not None and one.names[id_] == "tasks/result":
            self._learns(one, call, {"status": "completed"})
        elif call is not None and one.is_modern:
            self._learns(one, call, message.get("result", {}))

    def _learns(self, one: Connection, call: Call, told: Any) -> None:
        soon = (
            self._now + 1.1 * self._poll + 4 * self._world["weather"]["delay"] + 2 * (call.plan["cancel"] is not None)
        )
        for question in call.asked.values() if "inputRequests" in told else ():
            if question.machine.state == "open":
                self._must("show", question.text, at=soon, by=True)
            elif question.machine.state == "stopped":
                self._must("show", question.text, at=float("inf"), by=True)  # if the client does not know it yet
        if told.get("status") in ENDED and call.side.state == "sent":
            call.sent.step("answer")
            call.side.step("answer")
            self._must("end", call.tag, at=soon, by=True)

    def client_ends(self, call: Call, data: Any) -> None:
        self._did("end", call.tag)
        call.side.step("over")
        is_stopped = self._tasks[call.tag].state == "cancelled" and data["how"] in ("InternalError", "TaskFailed")
        found = {"text": data["text"]} if data["how"] == "result" else {"code": data["code"]}
        if not is_stopped and found != call.answer:
            self.fault(f"{call.tag} ended as {data}, not as {call.answer}")

    def client_is_idle(self, one: Connection, data: Any) -> None:
        super().client_is_idle(one, data)
        for call in one.calls:
            if call.side.state != "over":
                self.fault(f"{call.tag} has not ended")

    def client_holds(self, one: Connection, data: Any) -> None:
        """Tasks are kept for a while after they have ended."""
