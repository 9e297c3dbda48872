"""Judges what the two ends of a connection send and receive."""

from collections import deque
from typing import Any

from simulation.duties import PREFIX, Call, Connection, Machine, meta_of, params_of
from simulation.model import SENT
from simulation.questions import Questions


class Wire(Questions):
    """Judges the messages of a world."""

    def client_sent(self, one: Connection, message: Any) -> None:
        self._passes(one, "client", message)

    def server_sent(self, one: Connection, message: Any) -> None:
        self._passes(one, "server", message)

    def _passes(self, one: Connection, side: str, message: Any) -> None:
        if side == "client" or not self._is_echo(one, "sent", message):
            self._is_next(one.handed[side], message, f"{side} {one.number}: the bytes sent")
            one.on_its_way[side].append(message)

    def _is_next(self, waiting: deque[Any], message: Any, what: str) -> None:
        if not waiting or waiting.popleft() != message:
            self.fault(f"{what} are not the next message: {message}")

    def client_sends(self, one: Connection, message: Any) -> None:
        one.handed["client"].append(message)
        self.speak(one, one.client, message, from_client=True)
        method, id_, params = message.get("method"), message.get("id"), params_of(message)
        if method == "notifications/cancelled":
            self.sends_cancelled(one, params)
        elif id_ is None:
            pass
        elif method is None:
            self._replies(one, one.by_question[id_], message["result"])
        elif id_ in one.requests:
            self.fault(f"client {one.number}: the id {id_!r} is used again")
        elif method == "tools/call":
            self._sends_call(one, id_, params)
        else:
            one.requests[id_] = Machine(self, SENT, f"{method} {id_}")
            one.names[id_] = method
            one.requests[id_].step("request")

    def _sends_call(self, one: Connection, id_: Any, params: Any) -> None:
        call = self._calls[params["arguments"]["tag"]]
        if call.side.state == "asked":
            self._asks_again(one, call, params)
        one.requests[id_], one.names[id_], one.by_id[id_] = call.sent, "tools/call", call
        call.id = id_
        self._did("request", call.tag)
        call.side.step("request")
        call.sent.step("request")
        meta = meta_of(params)
        token = meta.get("progressToken")
        if (token is not None) != call.plan["progress"] or token in one.by_token:
            self.fault(f"{call.tag}: the progress token is {token!r}")
        if token is not None:
            one.by_token[token] = call
        if params["arguments"]["steps"] != call.plan["steps"]:
            self.fault(f"{call.tag}: the arguments have changed")
        timeout, longest = self._patience(call)
        call.latest = self._now + longest
        self._wait(call, self._now + min(timeout, longest))

    def _patience(self, call: Call) -> tuple[float, float]:
        given = self._world["patience"]
        return call.plan["timeout"] or given["timeout"], call.plan["max_time"] or given["max_time"]

    def _wait(self, call: Call, deadline: float) -> None:
        call.deadline = deadline
        self._must("expire", call.tag, at=deadline)

    def sends_cancelled(self, one: Connection, params: Any) -> None:
        call = one.by_id.get(params.get("requestId"))
        if call is None:
            self.fault(f"client {one.number} cancels a request that is not a call: {params}")
            return
        call.sent.step("cancel")
        if call.side.state == "sent":
            self._expire(call)
        else:
            self._did("cancel", call.tag)

    def _is_echo(self, one: Connection, what: str, message: Any) -> bool:
        """Whether a server repeats what it has just sent, which clients ignore."""
        if not self._world.get("echo"):
            return False
        if one.echoes.pop(what, None) == message:
            return True
        one.echoes[what] = message
        return False

    def client_received(self, one: Connection, message: Any) -> None:
        if self._is_echo(one, "received", message):
            return
        self._is_next(one.on_its_way["server"], message, f"client {one.number}: the bytes received")
        self.speak(one, one.client, message, from_client=False)
        id_, params = message.get("id"), params_of(message)
        if "method" not in message:
            self.receives_answer(one, id_, message)
        elif id_ is not None or params.get("requestId") in one.by_question:
            self._is_questioned(one, message)
        elif message["method"] == "notifications/progress":
            self._receives_progress(one, params)

    def receives_answer(self, one: Connection, id_: Any, message: Any) -> None:
        if "client" in one.ended:
            return
        machine = one.requests.get(id_)
        if machine is None:
            self.fault(f"client {one.number} receives an answer to nothing: {message}")
            return
        call = one.by_id.get(id_)
        machine.step("answer")
        if call is None:
            return
        self._excuse("expire", call.tag)
        if message.get("result", {}).get("resultType") == "input_required":
            if call.side.state == "sent":
                call.side.step("ask")
                for question in call.asked.values():
                    self._must("show", question.text)
        elif call.side.state != "over":
            call.side.step("answer")
            if call.side.state == "answered":
                self._must("end", call.tag)

    def _receives_progress(self, one: Connection, params: Any) -> None:
        call = one.by_token.get(params["progressToken"])
        if call is None or "client" in one.ended:
            return
        call.sent.step("progress")
        if call.side.state == "sent":
            call.side.step("report")
            call.told.append([params["progress"], params.get("total")])
            # After a stall, the report and the end of the timeout come in the same moment.
            call.is_late = call.is_late or self._now >= call.deadline
            self._wait(call, min(self._now + self._patience(call)[0], call.latest))

    def server_received(self, one: Connection, message: Any) -> None:
        self._is_next(one.on_its_way["client"], message, f"server {one.number}: the bytes received")
        self.speak(one, one.server, message, from_client=True)
        method, id_, params = message.get("method"), message.get("id"), params_of(message)
        if method == "notifications/cancelled":
            call = one.by_id.get(params.get("requestId"))
            if call is not None:
                self._is_cancelled(one, call)
        elif method is None:
            self.will_hear(one.by_question[id_])
        elif method == "tools/call":
            self._receives_call(one, one.by_id[id_])
        elif id_ is not None and method is not None:
            self._must("answer", one.number, id_)

    def _is_cancelled(self, one: Connection, call: Call) -> None:
        before = call.received.state
        call.received.step("cancel")
        if before == "waiting" and call.is_running:  # its task has not begun
            self._excuse("begin", call.tag)
            self._excuse("stop", call.tag)
            self._free(call)
        elif call in one.queue:
            one.queue.remove(call)
            self._unload(call)
        elif before == "running":
            self._must("stop", call.tag)
        call.gate = None

    def _receives_call(self, one: Connection, call: Call) -> None:
        limits = self._world["limits"]
        if call.received.state != "suspended":
            call.received.step("request")
        call.token = next((token for token, other in one.by_token.items() if other is call), None)
        is_full = one.running >= limits["max_in_flight"]
        is_heavy = bool(call.plan.get("pad"))
        if (is_full and len(one.queue) >= limits["max_queued"]) or (is_heavy and one.heavy):
            call.answer = {"code": -32603}
            self._must("answer", call.tag)
            return
        one.heavy = call if is_heavy else one.heavy
        if is_full:
            one.queue.append(call)
        else:
            self._begin(one, call)

    def server_sends(self, one: Connection, message: Any) -> None:
        one.handed["server"].append(message)
        self.speak(one, one.server, message, from_client=False)
        params = params_of(message)
        if "method" not in message:
            self.sends_answer(one, message)
        elif message["method"] == "notifications/progress":
            self._sends_progress(one, params)
        elif message["method"] == "notifications/message":
            if one.logs is not None and self._now >= one.ends:
                one.logs.flush(self._now)
            if one.logs is None or not one.logs.took(self._now, [params["level"], params["data"]], self._slack):
                self.fault(f"server {one.number}: this log message is not due: {params}")
        else:
            self.questions(one, message)

    def sends_answer(self, one: Connection, message: Any) -> None:
        call = one.by_id.get(message["id"])
        if call is None:
            self._did("answer", one.number, message["id"])
            return
        if message.get("result", {}).get("resultType") == "input_required":
            self._suspends(call, message["result"])
            return
        self._did("answer", call.tag)
        call.received.step("answer")
        if "result" in message:
            found: dict[str, Any] = {"text": message["result"]["content"][0]["text"]}
            if one.is_modern and message["result"].get("resultType") != "complete":
                self.fault(f"{call.tag}: the result has no type: {message}")
        else:
            found = {"code": message["error"]["code"]}
        if found != call.answer:
            self.fault(f"{call.tag}: the answer is {found}, not {call.answer}")
        if call.gate is not None and call.gate.owes(self._now):
            self.fault(f"{call.tag}: the answer came before the last report")
        if one.logs is not None and one.logs.owes(self._now) and one.ends == float("inf"):
            self.fault(f"{call.tag}: the answer came before the last log message")

    def _sends_progress(self, one: Connection, params: Any) -> None:
        call = one.by_token.get(params["progressToken"])
        if call is None:
            self.fault(f"server {one.number} reports progress on nothing: {params}")
            return
        call.received.step("progress")
        if call.gate is None or not call.gate.took(self._now, [params["progress"], params.get("total")], self._slack):
            self.fault(f"{call.tag}: this report is not due: {params}")

    def speak(self, one: Connection, machine: Machine, message: Any, *, from_client: bool) -> None:
        """Hold a message against the lifecycle of the era."""
        method = message.get("method")
        meta = meta_of(params_of(message))
        is_modern = f"{PREFIX}protocolVersion" in meta
        if one.is_modern:
            if from_client and "id" in message and method and not is_modern:
                self.fault(f"client {one.number}: a request without its version: {message}")
            return
        if is_modern or method == "server/discover" or f"{PREFIX}subscriptionId" in meta:
            return
        if method is None:
            name = None if from_client else one.names.get(message.get("id"))
            if name == "initialize":
                machine.step("result" if "result" in message else "error")
            return
        special = {"initialize": "initialize", "notifications/initialized": "initialized", "ping": "ping"}
        asks = "request" if from_client else "question"
        machine.step(special.get(method) or (asks if "id" in message else "notification"))

    def _free(self, call: Call) -> None:
        """Let the next request of the queue begin."""
        one = call.one
        self._unload(call)
        if call.is_running:
            call.is_running = False
            one.running -= 1
        if one.queue and one.running < self._world["limits"]["max_in_flight"] and self._now < one.ends:
            self._begin(one, one.queue.pop(0))
        elif one.is_lingering and not any(c.received.state in ("waiting", "running") for c in one.calls):
            one.ends = min(one.ends, self._now)
            if one.logs is not None:
                one.logs.flush(self._now)
            self._close(one)

    def _unload(self, call: Call) -> None:
        call.one.heavy = None if call.one.heavy is call else call.one.heavy

    def _begin(self, one: Connection, call: Call) -> None:
        one.running += 1
        call.is_running = True
        if call.received.state == "suspended":
            call.received.step("request")
        if call.received.state == "waiting":
            self._must("begin", call.tag)
        else:
            for question in call.questions.values():
                self.will_hear(question)
            self.may_ask(call)
        if one.ends < float("inf"):
            self._must("stop", call.tag, at=one.ends)

    def _expire(self, call: Call) -> None:
        if call.is_late:
            self._excuse("expire", call.tag)
        else:
            self._did("expire", call.tag)
        call.side.step("timeout")
        self._must("end", call.tag)

    def _close(self, one: Connection) -> None:
        for call in one.calls:
            if call.received.state == "suspended":
                self._must("stop", call.tag, at=one.ends)
        resisting = max(map(resistance, one.calls), default=0)
        if resisting:  # a stall delays everything after it
            resisting += sum(seconds for _, seconds in self._stalled)
        self._must("close", one.number, at=one.ends + one.grace + resisting)


def resistance(call: Call) -> float:
    """Return for how many seconds a handler may continue after its cancellation."""
    steps = call.plan["steps"]
    return 2 * sum(s[1] for s in steps if s[0] in ("wait", "stubborn")) if ["stubborn", 1.0] in steps else 0
