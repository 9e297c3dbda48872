"""Judges the questions that handlers ask in the middle of their calls, in both eras."""

from typing import Any

from simulation.duties import Call, Connection, Duties, Machine, params_of
from simulation.model import QUESTION, SENT


class Question:
    """What is known of one question; several of a handler may be open at once."""

    def __init__(self, duties: Duties, call: Call, text: str) -> None:
        self.call, self.text = call, text
        self.machine = Machine(duties, QUESTION, f"the question {text}")
        self.is_shown = self.is_ignored = self.has_withdrawn = False


class Questions(Duties):
    """Judges what is asked, shown, replied and heard."""

    def handler_asks(self, call: Call, data: Any) -> None:
        question = call.questions[data["text"]] = Question(self, call, data["text"])
        call.one.questions.append(question)
        question.machine.step("ask")
        if call.received.state == "running":
            self.may_ask(call)

    def handler_hears(self, call: Call, data: Any) -> None:
        question = call.questions[data["asked"]]
        self._did("hear", question.text)
        question.machine.step("hear")
        if data["text"] != question.text:
            self.fault(f"a handler hears {data['text']!r} in answer to {question.text!r}")

    def client_is_asked(self, _: Connection, data: Any) -> None:
        question = self._question(data["text"])
        self._did("show", question.text)
        question.machine.step("show")
        question.is_shown = True

    def client_replies(self, one: Connection, data: Any) -> None:
        question = self._question(data["text"])
        question.machine.step("reply")
        question.is_shown = False
        self._excuse("interrupt", question.text)
        others = question.call.asked.values() if one.is_modern else ()
        if not question.is_ignored and not any(each.is_shown or ("show", each.text) in self._due for each in others):
            self._must("reply", question.call.tag if one.is_modern else question.text)

    def client_is_interrupted(self, _: Connection, data: Any) -> None:
        question = self._question(data["text"])
        self._did("interrupt", question.text)
        question.is_shown = False

    def questions(self, one: Connection, message: Any) -> None:
        """The server sends a request, or takes it back."""
        params = params_of(message)
        if "id" in message:
            one.by_question[message["id"]] = self.is_sent(params)
            return
        question = one.by_question[params["requestId"]]
        if question.call.received.state != "stopping" or question.has_withdrawn:
            self.fault(f"the question {question.text} was taken back")
        question.has_withdrawn = True

    def _suspends(self, call: Call, result: Any) -> None:
        """The server sends questions as the result of a request."""
        call.received.step("ask")
        call.request_state = result["requestState"]
        if call.one.queue or not call.one.is_lingering:
            self._free(call)
        call.asked = {key: self.is_sent(asked["params"]) for key, asked in result["inputRequests"].items()}

    def _free(self, call: Call) -> None:
        """Let the next request of the queue begin."""
        raise NotImplementedError

    def _question(self, text: str) -> Question:
        found: Question = self._calls[text.partition("|")[0]].questions[text]
        return found

    def is_sent(self, params: Any) -> Question:
        question = self._question(text_of_question(params))
        if question.call.one.ends == float("inf"):
            self._did("question", question.text)
        question.machine.step("request")
        return question

    def _is_questioned(self, one: Connection, message: Any) -> None:
        """The client receives a request, or that it is taken back."""
        if "client" in one.ended:
            return
        if "id" in message:
            self._must("show", one.by_question[message["id"]].text)
        else:
            self._ignore(one.by_question[params_of(message)["requestId"]])

    def _replies(self, one: Connection, question: Question, result: Any) -> None:
        """The client sends an answer."""
        if "client" not in one.ended and not one.is_modern:
            self._did("reply", question.text)
        question.machine.step("answer")
        if not result or result["content"]["text"] != question.text:
            self.fault(f"the reply to {question.text} has changed: {result}")

    def _asks_again(self, one: Connection, call: Call, params: Any) -> None:
        """The client sends the next request, with the answers to all questions."""
        self._did("reply", call.tag)
        responses = params.get("inputResponses", {})
        for key, question in call.asked.items():
            self._replies(one, question, responses.get(key))
        call.sent = Machine(self, SENT, call.tag)
        self._must("request", call.tag)
        if params.get("requestState") != call.request_state:
            self.fault(f"{call.tag}: the state has changed")

    def will_hear(self, question: Question) -> None:
        """The server receives an answer."""
        if question.machine.state == "answered":
            self._must("hear", question.text)

    def may_ask(self, call: Call) -> None:
        """The questions of a handler leave: its request is open."""
        one = call.one
        for question in call.questions.values():
            if question.machine.state == "asked":
                if one.is_modern and one.logs is not None:
                    one.logs.flush(self._now)
                if one.ends == float("inf"):
                    self._must("question", question.text)

    def _withdraw(self, call: Call) -> None:
        """A handler ends while it waits."""
        for question in call.questions.values():
            state = question.machine.state
            is_asked = state in ("open", "shown", "replied", "answered") and not call.one.is_modern
            is_asked = is_asked and ("hear", question.text) not in self._due and self._now < call.one.ends
            if is_asked and not question.has_withdrawn:
                self.fault(f"the question {question.text} was not taken back")
            self._excuse("hear", question.text)
            self._excuse("question", question.text)
            question.machine.step("stop")

    def _ignore(self, question: Question, linger: float = 0.0) -> None:
        """A client need not answer any more."""
        question.is_ignored = True
        self._excuse("show", question.text)
        self._excuse("reply", question.call.tag if question.call.asked else question.text)
        if question.machine.state != "asked":
            question.machine.step("withdraw")
        if question.is_shown:
            self._must("interrupt", question.text, at=self._now + linger)


def text_of_question(params: Any) -> str:
    """Return the text of a question, which begins with the tag of its call."""
    return str(params["messages"][0]["content"]["text"])
