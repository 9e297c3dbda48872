"""The judge: holds the history of a world against the tables of `model` and against what the world should do.

It takes a world as JSON and events as tuples, and imports nothing of the runtime. What is late, missing, or was not due
is a fault.
"""

from typing import Any, Final

from simulation.duties import LEVELS, LINGER, MODERN, WRITE_LINGER, Call, Connection
from simulation.gates import Gate
from simulation.wire import Wire

GROWS: Final = ("Connection.features", "Connection._close_hooks")
"""What may hold more after some calls: what is set up when it is first used."""


class Judge(Wire):
    """Judges one history."""

    def verdict(self) -> list[str]:
        """Return the faults, in order; empty for a history as it should be."""
        for at, who, what, data in self._history:
            self._now = at
            self._overdue()
            kind, _, number = who.partition(" ")
            take = getattr(self, f"{kind}_{what.replace(' ', '_')}")
            call = self._calls.get(str(data.get("tag"))) if data.__class__ is dict else None
            if what in ("sends", "sent", "received") and data.__class__ is not dict:
                self.fault(f"not a message: {data}")
            elif call is not None:
                take(call, data)
            elif number:
                take(self._connections[int(number)], data)
            else:
                take(data)
        self._now = float("inf")
        self._overdue()
        return self._faults

    def client_opens(self, one: Connection, _: Any) -> None:
        self._must("open", one.number, at=1000.0)

    def client_is_open(self, one: Connection, data: Any) -> None:
        self._excuse("open", one.number)
        one.revision = data["revision"]
        if not one.is_modern and one.client.state != "ready":
            self.fault(f"client {one.number} is open in state {one.client.state}")
        if one.revision not in expected_revisions(self._world):
            self.fault(f"client {one.number} speaks {one.revision}, not {expected_revisions(self._world)}")

    def client_cannot_open(self, one: Connection, data: Any) -> None:
        self._excuse("open", one.number)
        slow = self._world["weather"]["delay"] > 0.5 or self._world["stalls"]
        may = {"UnsupportedRevision"} if not expected_revisions(self._world) else set[str]()
        if slow:
            may |= {"RequestTimeout", "UnsupportedRevision", "InvalidParamsError"}
        if "client" in one.ended or one.breaks < self._now:
            may.add("ConnectionClosed")
        if data["error"] not in may and not (slow and data["error"].startswith("Peer")):
            self.fault(f"client {one.number} cannot open: {data}")

    def client_closes(self, one: Connection, _: Any) -> None:
        one.ended.setdefault("client", self._now)
        self.lose(one, has_closed=True)
        grace = 2 if self._world["weather"]["capacity"] <= 300 else 0
        self._must("close client", one.number, at=self._now + grace)

    def client_is_closed(self, one: Connection, data: Any) -> None:
        one.client.step("end")
        self._excuse("close client", one.number)
        if data["open"]:
            self.fault(f"client {one.number}: {data['open']} requests are open after the end")
        calm = self._is_calm
        if one.handed["client"] and calm and not one.is_cut and one.breaks == float("inf"):
            self.fault(f"client {one.number}: {one.handed['client'][0]} was never sent")

    @property
    def _is_calm(self) -> bool:
        weather = self._world["weather"]
        return (weather["capacity"] > 300 or not weather["delay"]) and not self._world["stalls"]

    def server_stops(self, one: Connection, _: Any) -> None:
        weather = self._world["weather"]
        one.grace = 2 if weather["capacity"] <= 300 and weather["delay"] else 0
        self._end(one, self._now)

    def client_is_idle(self, one: Connection, data: Any) -> None:
        if data["open"] != [self._kept_open(one)] * 2:
            self.fault(f"client {one.number}: {data['open']} requests are open although nothing goes on")
        if not one.is_modern and data["state"] != ["ready", "ready"]:
            self.fault(f"client {one.number}: the states are {data['state']}")
        left = [message for waiting in (one.handed, one.on_its_way) for side in waiting.values() for message in side]
        if left and not one.is_cut:
            self.fault(f"client {one.number}: {len(left)} messages were lost, the first is {left[0]}")

    def client_holds(self, one: Connection, data: Any) -> None:
        one.held = one.held or (data if one.revision else {})
        if not one.revision or any(call.received.state == "suspended" for call in one.calls):
            return
        unanswered = sum(machine.state in ("cancelled", "ended") for machine in one.requests.values())
        unanswered += sum(question.has_withdrawn for question in one.questions)
        for place, size in data.items():
            least = unanswered if place == "Session._given_up" else one.held.get(place, 0)
            is_alive = not one.ended and one.ends > self._now
            if (
                size > least
                and place not in GROWS
                and (is_alive or not place.endswith((".used", "._timers", "._given_up")))
            ):
                self.fault(f"client {one.number}: {place} has grown to {size}")

    def _kept_open(self, one: Connection) -> int:
        """Return how many requests of a client stay open."""
        return 0

    def client_reads_the_end(self, one: Connection, _: Any) -> None:
        if "client" not in one.ended:
            one.ended["client"] = self._now
            self.lose(one)

    def lose(self, one: Connection, *, has_closed: bool = False) -> None:
        """Fail the open calls of a client."""
        for call in one.calls:
            self._excuse("cancel", call.tag)
            for question in call.questions.values():
                self._ignore(question, 0 if one.is_modern or has_closed or one.breaks < float("inf") else LINGER)
            if call.side.state in ("called", "sent", "asked"):
                call.side.step("lost")
                call.sent.step("end")
                self._excuse("expire", call.tag)
                self._excuse("request", call.tag)
                self._must("end", call.tag)

    def client_calls(self, call: Call, data: Any) -> None:
        call.side.step("call")
        if "client" in call.one.ended:
            call.side.step("lost")
            self._must("end", call.tag)
        else:
            self._must("request", call.tag)

    def client_cancels(self, call: Call, data: Any) -> None:
        if call.side.state == "sent" and "client" not in call.one.ended:
            self._must("cancel", call.tag)
        if call.side.state == "asked":
            for question in call.questions.values():
                self._ignore(question)
        self._excuse("request", call.tag)
        self._excuse("expire", call.tag)
        call.is_cancelled = True
        call.side.step("cancel")
        self._must("end", call.tag)

    def client_is_told(self, call: Call, data: Any) -> None:
        if not call.told or call.told.pop(0) != [data["progress"], data["total"]]:
            self.fault(f"{call.tag} is told of progress that did not arrive: {data}")

    def client_ends(self, call: Call, data: Any) -> None:
        self._excuse("lose", call.tag)
        self._did("end", call.tag)
        if call.told:
            self.fault(f"{call.tag} was not told of progress that arrived")
        state = call.side.state
        call.side.step("over")
        how = data["how"]
        if call.is_cancelled and how == "cancelled":
            return  # in the same moment as whatever else happened
        if state == "answered":
            expected = call.answer
            if (how == "result") != ("text" in expected) or data.get("text") != expected.get("text"):
                self.fault(f"{call.tag} ended as {data}, although the answer was {expected}")
            elif how != "result" and data["code"] != expected.get("code"):
                self.fault(f"{call.tag} ended as {data}, although the error was {expected}")
        elif how != {"stopping": "cancelled", "expired": "RequestTimeout", "lost": "ConnectionClosed"}.get(state):
            self.fault(f"{call.tag} ended as {how} in state {state}")

    def server_is_closed(self, one: Connection, _: Any) -> None:
        self._excuse("close", one.number)
        one.server.step("end")
        if one.logs is not None and one.logs.owes(self._now) and not self._stalled:
            self.fault(f"server {one.number} has not sent its last log message")
        if one.handed["server"] and not one.is_unread and not one.is_cut and self._is_calm:
            self.fault(f"server {one.number}: {one.handed['server'][0]} was never sent")
        for call in one.calls:
            if self._due.get(("answer", call.tag), 0) >= one.ends - 1e-3:
                self._excuse("answer", call.tag)  # it ended in the same moment
            if call.received.state == "waiting":
                self._excuse("begin", call.tag)
                self._excuse("stop", call.tag)
                call.received.step("end")
            elif call.received.state in ("running", "suspended"):
                self.fault(f"{call.tag} is still running after the end of the server")

    def server_reads_the_end(self, one: Connection, _: Any) -> None:
        one.ended["server"] = self._now
        one.is_lingering = one.ends == float("inf")
        self._end(one, self._now + (LINGER if one.is_lingering else 0))

    def server_cannot_write(self, one: Connection, _: Any) -> None:
        one.is_unread = True
        if one.ends == float("inf"):
            self._end(one, self._now + WRITE_LINGER)

    def _end(self, one: Connection, at: float) -> None:
        """Expect the end of a server, and of what it is doing."""
        if one.is_lingering and not any(call.received.state in ("waiting", "running") for call in one.calls):
            at = self._now
        one.ends = min(one.ends, at)
        if one.logs is not None and one.ends <= self._now:
            one.logs.flush(self._now)
        self._close(one)
        for call in one.calls:
            if (call.is_running or call.received.state == "running") and call.received.state != "stopping":
                self._must("stop", call.tag, at=one.ends)

    def client_cannot_write(self, one: Connection, _: Any) -> None:
        one.breaks = self._now + WRITE_LINGER
        for call in one.calls:
            if call.side.state == "sent":
                self._must("lose", call.tag, at=one.breaks)

    def net_cut(self, one: Connection, _: Any) -> None:
        one.is_cut = True

    def client_is_lost(self, one: Connection, data: Any) -> None:
        if data is not None:
            self.client_reads_the_end(one, None)
            for question in one.questions:
                if question.is_shown:
                    self._must("interrupt", question.text)

    def server_is_lost(self, one: Connection, data: Any) -> None:
        if data is not None and "middle of a message" in data:
            self._end(one, self._now)

    def world_ends(self, data: Any) -> None:
        if any(data.values()):
            self.fault(f"something is left at the end: {data}")

    def world_fails(self, data: Any) -> None:
        self.fault(f"a program fails: {data}")

    def world_is_stuck(self, _: Any) -> None:
        self.fault("nothing will ever happen any more")

    def log_WARNING(self, text: str) -> None:
        reported = "reported progress that does not increase", "failed", "raised error -32000"
        if self._world.get("echo") or (self._world.get("web", {}).get("away") and "cannot be found out" in text):
            return
        if not text.startswith(tuple(f"the handler of tools/call {what}" for what in reported)):
            self.fault(f"the log complains: {text}")

    log_ERROR = log_WARNING

    # What the handlers do.

    def handler_begins(self, call: Call, data: Any) -> None:
        self._did("begin", call.tag)
        call.received.step("begin")
        call.is_running = True

    def handler_ends(self, call: Call, data: Any) -> None:
        self._finish(call, {"text": text_of(call.plan)}, data)

    def handler_fails(self, call: Call, data: Any) -> None:
        code = data["code"]
        is_gone = code is None or (call.one.is_modern and code == -32000)
        self._finish(call, {"code": -32603 if is_gone else code}, data)

    def _finish(self, call: Call, answer: dict[str, Any], data: Any) -> None:
        state = call.received.step("finish")
        self._excuse("stop", call.tag)
        if state == "finished":
            call.answer = answer
            if data.get("told"):
                self.fault(f"{call.tag}: the handler was told of a cancellation that did not happen")
            for gate in (call.gate, call.one.logs):
                if gate is not None:
                    gate.flush(self._now)
            if call.one.ends > self._now or call.one.is_lingering:
                self._must("answer", call.tag)
        elif data.get("told") is False:
            self.fault(f"{call.tag}: the handler was not told of its cancellation")
        self._free(call)

    def handler_is_cancelled(self, call: Call, data: Any) -> None:
        self._stop(call)
        self._withdraw(call)
        call.received.step("stop")
        if not data["told"]:
            self.fault(f"{call.tag}: the handler was not told of its cancellation")
        self._free(call)

    def handler_resists(self, call: Call, _: Any) -> None:
        self._stop(call)

    def _stop(self, call: Call) -> None:
        if call.received.state in ("running", "suspended"):
            call.received.step("end")
        elif call.has_resisted:
            self._excuse("stop", call.tag)
            return  # at the end of the server
        self._did("stop", call.tag)
        call.has_resisted = True

    def handler_reports(self, call: Call, data: Any) -> None:
        if call.received.state != "running" or (call.reported is not None and data["progress"] <= call.reported):
            return
        call.reported = data["progress"]
        if call.token is not None:
            call.gate = call.gate or Gate(self._world["limits"]["progress_rate"], self._now)
            call.gate.put(self._now, [data["progress"], data["total"]])

    def handler_logs(self, call: Call, data: Any) -> None:
        """Clients hear all log messages in the legacy era, and those they ask for in the modern one."""
        one, wanted, rank = call.one, call.plan["log_level"], LEVELS.index(data["level"])
        is_asked = wanted is not None and self._world["client"] == MODERN and call.received.state == "running"
        is_wanted = not one.is_modern or (is_asked and rank >= LEVELS.index(wanted))
        if is_wanted and self._now < one.ends + self._slack(one.ends):
            one.logs = one.logs or Gate(self._world["limits"]["log_rate"], self._now)
            one.logs.put(self._now, [data["level"], data["line"]], rank)


def text_of(plan: dict[str, Any]) -> str:
    """Return the text that the tool returns."""
    return str(plan["tag"]) + "".join("x" * step[1] for step in plan["steps"] if step[0] == "big")


def expected_revisions(world: dict[str, Any]) -> set[str]:
    """Return the revisions that the two ends may agree on."""
    own, server, era = world["client"], world["server"], world["era"]
    if world["speaks"] == "own":
        return {server} if era == "auto" or (era == "modern") == (server == MODERN) else set()
    if era != "auto":
        return {MODERN if era == "modern" else "2025-11-25" if own == MODERN else own}
    is_slow = world["weather"]["delay"] > 0.5 or world["stalls"]
    return {own, "2025-11-25"} if is_slow else {own}
