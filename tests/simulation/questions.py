"""Judges the questions that handlers ask in the middle of their calls, in both eras."""

from typing import Any

from simulation.duties import Call, Connection, Duties, Machine, params_of
from simulation.model import SENT


class Questions(Duties):
    """Judges what is asked, shown, replied and heard; a handler asks one question at a time."""

    def handler_asks(self, data: Any) -> None:
        call = self._calls[data["tag"]]
        call.question.step("ask")
        call.question_text = data["text"]
        one = self._connections[call.client]
        if one.is_modern and one.logs is not None:
            one.logs.flush(self._now)
        if call.received.state == "running" and one.ends == float("inf"):
            self._must("question", call.tag)

    def handler_hears(self, data: Any) -> None:
        call = self._calls[data["tag"]]
        self._did("hear", call.tag)
        call.question.step("hear")
        if data["text"] != call.question_text:
            self.fault(f"{call.tag} hears {data['text']!r} in answer to {call.question_text!r}")

    def client_is_asked(self, _: Connection, data: Any) -> None:
        call = self._calls[data["tag"]]
        self._did("show", call.tag)
        call.question.step("show")
        call.is_shown = True

    def client_replies(self, _: Connection, data: Any) -> None:
        call = self._calls[data["tag"]]
        call.question.step("reply")
        call.is_shown = False
        self._excuse("interrupt", call.tag)
        if not call.is_ignored:
            self._must("reply", call.tag)

    def client_is_interrupted(self, _: Connection, data: Any) -> None:
        call = self._calls[data["tag"]]
        self._did("interrupt", call.tag)
        call.is_shown = False

    def questions(self, one: Connection, message: Any) -> None:
        """The server sends a request, or takes it back."""
        params = params_of(message)
        if "id" not in message:
            call = one.by_question[params["requestId"]]
            if call.received.state != "stopping" or call.has_withdrawn:
                self.fault(f"{call.tag}: the question was taken back")
            call.has_withdrawn = True
            return
        call = self._calls[text_of_question(params).partition("|")[0]]
        one.by_question[message["id"]] = call
        call.question_id = message["id"]
        self._is_sent(call, params)

    def _suspends(self, call: Call, result: Any) -> None:
        """The server sends a question as the result of a request."""
        call.received.step("ask")
        call.request_state = result["requestState"]
        call.question_id, *others = result["inputRequests"]
        if others:
            self.fault(f"{call.tag}: more than the question is asked: {result}")
        if not self._connections[call.client].is_lingering:
            self._free(call)
        self._is_sent(call, result["inputRequests"][call.question_id]["params"])

    def _free(self, call: Call) -> None:
        """Let the next request of the queue begin."""
        raise NotImplementedError

    def _is_sent(self, call: Call, params: Any) -> None:
        if self._connections[call.client].ends == float("inf"):
            self._did("question", call.tag)
        call.question.step("request")
        if text_of_question(params) != call.question_text:
            self.fault(f"{call.tag}: the question has changed: {params}")

    def _is_questioned(self, one: Connection, message: Any) -> None:
        """The client receives a request, or that it is taken back."""
        if "client" in one.ended:
            return
        if "id" in message:
            self._must("show", one.by_question[message["id"]].tag)
        else:
            self._ignore(one.by_question[params_of(message)["requestId"]])

    def _replies(self, call: Call, result: Any) -> None:
        """The client sends an answer."""
        if "client" not in self._connections[call.client].ended:
            self._did("reply", call.tag)
        call.question.step("answer")
        if not result or result["content"]["text"] != call.question_text:
            self.fault(f"{call.tag}: the reply has changed: {result}")

    def _asks_again(self, call: Call, params: Any) -> None:
        """The client sends the next request, with the answer to the question."""
        self._replies(call, params.get("inputResponses", {}).get(call.question_id))
        call.sent = Machine(self, SENT, call.tag)
        self._must("request", call.tag)
        if params.get("requestState") != call.request_state:
            self.fault(f"{call.tag}: the state has changed")

    def _will_hear(self, call: Call) -> None:
        """The server receives the answer."""
        if call.question.state == "answered":
            self._must("hear", call.tag)

    def _withdraw(self, one: Connection, call: Call) -> None:
        """A handler ends while it waits."""
        is_asked = call.question.state in ("open", "shown", "replied", "answered") and not one.is_modern
        is_asked = is_asked and ("hear", call.tag) not in self._due and self._now < one.ends
        if is_asked and not call.has_withdrawn:
            self.fault(f"{call.tag}: the question was not taken back")
        self._excuse("hear", call.tag)
        self._excuse("question", call.tag)
        if call.question.state != "new":
            call.question.step("stop")

    def _ignore(self, call: Call, linger: float = 0.0) -> None:
        """A client need not answer any more."""
        call.is_ignored = True
        self._excuse("show", call.tag)
        self._excuse("reply", call.tag)
        if call.question.state not in ("new", "asked"):
            call.question.step("withdraw")
        if call.is_shown:
            self._must("interrupt", call.tag, at=self._now + linger)


def text_of_question(params: Any) -> str:
    """Return the text of a question, which begins with the tag of its call."""
    return str(params["messages"][0]["content"]["text"])
