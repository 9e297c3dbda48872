"""The session alone: bytes in, events out, bytes back."""

import json
from typing import Any

import pytest

from mcp_runtime.core.errors import LocalProtocolError
from mcp_runtime.core.json.values import is_array
from mcp_runtime.core.protocol.dispatch import NEVER, Event, Progressed, SentCall, Side, State
from mcp_runtime.core.protocol.jsonrpc import Fault, Id, Notification, classify, parse
from mcp_runtime.core.protocol.session import MAX_REMEMBERED
from mcp_runtime.core.protocol.session import Session as AnySession
from mcp_runtime.observe.ends import Received


class Session(AnySession):
    """A session that reads texts."""

    def __init__(self, side: Side) -> None:
        super().__init__(side, Received)

    def receive(self, text: bytes, channel: object = None) -> list[Event]:
        try:
            value = parse(text)
            if is_array(value):
                return self.receive_batch(value, channel)
            return [self.receive_message(classify(value), channel)]
        except Fault as error:
            return [self.malformed(error)]


def text(**members: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **members}).encode()


def one(session: Session, **members: Any) -> Event:
    (event,) = session.receive(text(**members))
    return event


def violation(session: Session, **members: Any) -> tuple[str, Any]:
    """Receive something that must be refused; return the reason and the answer, if there is one."""
    event = one(session, **members)
    assert isinstance(event, Fault)
    return event.reason, json.loads(event.answer) if event.answer else None


def ask(session: Session, name: str, params: bytes | None = None, *, progress: bool = False) -> tuple[Any, bytes]:
    """Begin a request; return its id and the bytes to send."""
    call = SentCall(name, NEVER if progress else None)
    sent = session.request(call, params)
    return call.id, sent


def finish(session: Session, id_: Id) -> bytes:
    """Answer a request of the peer; return the bytes to send."""
    return session.answer(session.incoming[id_], b"{}")


def client() -> Session:
    """A client whose session is ready."""
    session = Session(Side.CLIENT)
    id_, _ = ask(session, "initialize", b"{}")
    session.receive(text(id=id_, result={}))
    session.notify("notifications/initialized", None)
    return session


def server(*, batches: bool = False) -> Session:
    """A server whose session is ready."""
    session = Session(Side.SERVER)
    session.receive(text(id=0, method="initialize", params={}))
    finish(session, 0)
    session.receive(text(method="notifications/initialized"))
    session.accepts_batches = batches
    return session


def report(token: int, progress: float) -> dict[str, Any]:
    """Return the params of a progress report."""
    return {"progressToken": token, "progress": progress}


class TestLifecycle:
    def test_a_refused_client_may_ask_again(self) -> None:
        here, there = Session(Side.CLIENT), Session(Side.SERVER)
        id_, asked = ask(here, "initialize", b"{}")
        there.receive(asked)
        here.receive(there.refuse(there.incoming[id_], -32602, "no"))
        assert here.state is there.state is State.NEW
        again, asked = ask(here, "initialize", b"{}")
        assert again != id_ and isinstance(there.receive(asked)[0], Received)

    def test_initialize_comes_first(self) -> None:
        session = Session(Side.SERVER)
        reason, answer = violation(session, id=1, method="tools/list")
        assert "initialize first" in reason
        assert (answer["id"], answer["error"]["code"]) == (1, -32600)
        with pytest.raises(LocalProtocolError, match="not allowed in state 'new'"):
            ask(Session(Side.CLIENT), "tools/list", None)

    def test_initialize_comes_once(self) -> None:
        reason, answer = violation(server(), id=1, method="initialize", params={})
        assert "once" in reason and answer["error"]["code"] == -32600
        assert violation(client(), id="x", method="initialize")[1] == {**answer, "id": "x"}, "a server sends none"
        with pytest.raises(LocalProtocolError, match="does not follow"):
            ask(client(), "initialize", b"{}")

    def test_a_server_waits_for_the_confirmation(self) -> None:
        session = Session(Side.SERVER)
        session.receive(text(id=0, method="initialize", params={}))
        finish(session, 0)
        session.notify("notifications/message", b"{}")
        with pytest.raises(LocalProtocolError, match="state 'initialized'"):
            ask(session, "roots/list", None)
        session.receive(text(method="notifications/initialized"))
        ask(session, "roots/list", None)

    @pytest.mark.parametrize("side", [client, server])
    def test_a_second_confirmation_is_a_violation(self, side: Any) -> None:
        reason, answer = violation(side(), method="notifications/initialized")
        assert "not allowed in state 'ready'" in reason and answer is None

    def test_nothing_is_sent_after_the_end(self) -> None:
        session = client()
        session.close()
        with pytest.raises(LocalProtocolError, match="closed"):
            ask(session, "ping", None)
        assert session.cancel(1) == b""


class TestCorrelation:
    @pytest.mark.parametrize("id_", ["2", 99])
    def test_an_answer_without_a_request(self, id_: Any) -> None:
        """An id is the same only if its type is: "2" does not answer 2."""
        session = client()
        assert ask(session, "ping", None)[0] == 2
        reason, answer = violation(session, id=id_, result={})
        assert "not an open request" in reason and answer is None
        assert 2 in session.outgoing

    def test_a_duplicate_id(self) -> None:
        """The first one stays open and can be answered; an error with its id would be taken for its answer."""
        session = server()
        assert isinstance(one(session, id=1, method="tools/list"), Received)
        reason, answer = violation(session, id=1, method="tools/call")
        assert "still open" in reason and answer["id"] is None
        assert json.loads(finish(session, 1))["id"] == 1

    def test_an_answer_is_given_once(self) -> None:
        session = server()
        call = one(session, id=1, method="tools/list")
        assert isinstance(call, Received)
        session.answer(call, b"{}")
        with pytest.raises(LocalProtocolError, match="no request 1 is open"):
            session.answer(call, b"{}")
        with pytest.raises(LocalProtocolError, match="no request 1 is open"):
            session.refuse(call, -1, "m")

    def test_a_malformed_answer_ends_the_request_and_is_not_answered(self) -> None:
        session = client()
        id_, _ = ask(session, "ping", None)
        event = one(session, id=id_, result="text")
        assert isinstance(event, Fault)
        assert event.failed is not None
        assert (event.failed.id, event.answer, event.method) == (id_, b"", "ping")
        assert not session.outgoing

    def test_an_error_without_an_id_is_reported_and_not_answered(self) -> None:
        reason, answer = violation(client(), id=None, error={"code": -32700, "message": "m"})
        assert reason == "the peer could not read a message: m (-32700)" and answer is None


class TestCancellation:

    def test_cancelled_requests_are_forgotten_eventually(self) -> None:
        session = client()
        for _ in range(MAX_REMEMBERED + 10):
            session.cancel(ask(session, "ping", None)[0])
        assert isinstance(one(session, id=2, result={}), Fault)
        assert one(session, id=MAX_REMEMBERED, result={}) is None

    def test_initialize_is_never_cancelled(self) -> None:
        session = Session(Side.CLIENT)
        id_, _ = ask(session, "initialize", b"{}")
        assert session.cancel(id_) == b""
        there = Session(Side.SERVER)
        there.receive(text(id=1, method="initialize", params={}))
        reason, answer = violation(there, method="notifications/cancelled", params={"requestId": 1})
        assert "must not be cancelled" in reason and answer is None

    @pytest.mark.parametrize("params", [{"requestId": [1]}, {}])
    def test_cancelling_without_an_id_is_a_violation_without_an_answer(self, params: dict[str, Any]) -> None:
        reason, answer = violation(server(), method="notifications/cancelled", params=params)
        assert "requestId must be a string or an integer" in reason and answer is None


class TestProgress:
    def begun(self) -> tuple[Session, int]:
        session = client()
        token = session.next_id
        id_, _ = ask(session, "tools/call", b"{}", progress=True)
        assert id_ == token
        return session, id_

    @pytest.mark.parametrize("progress", [1, "2"])
    def test_non_increasing_reports(self, progress: Any) -> None:
        session, id_ = self.begun()
        one(session, method="notifications/progress", params={"progressToken": id_, "progress": 1})
        violation(session, method="notifications/progress", params={"progressToken": id_, "progress": progress})

    @pytest.mark.parametrize("token", ["2", 3])
    def test_an_unknown_token(self, token: Any) -> None:
        session, _ = self.begun()
        reason, _ = violation(session, method="notifications/progress", params={"progressToken": token, "progress": 1})
        assert "does not belong to an open request" in reason

    def test_a_report_that_crosses_the_answer(self) -> None:
        session, id_ = self.begun()
        one(session, id=id_, result={})
        late = one(session, method="notifications/progress", params={"progressToken": id_, "progress": 1})
        assert isinstance(late, Notification)

    def test_our_reports(self) -> None:
        session = server()
        call = one(session, id=1, method="tools/call", params={"_meta": {"progressToken": "t"}})
        assert isinstance(call, Received)
        sent = json.loads(session.progress(call, 1, 2, "m"))
        assert sent["params"] == {"progressToken": "t", "progress": 1, "total": 2, "message": "m"}
        with pytest.raises(LocalProtocolError, match="progress must increase: 1 after 1"):
            session.progress(call, 1)
        session.answer(call, b"{}")
        assert session.progress(call, 2) == b""

    def test_progress_may_be_an_integer_of_any_size(self) -> None:
        session = client()
        token, _ = ask(session, "tools/call", b"{}", progress=True)
        assert isinstance(one(session, method="notifications/progress", params=report(token, 10**400)), Progressed)
        reason, answer = violation(session, method="notifications/progress", params=report(token, 1))
        assert reason.startswith("progress must increase: 1 after 1000") and len(reason) < 200 and answer is None

    @pytest.mark.parametrize("meta", [None, {"progressToken": 1.5}])
    def test_no_reports_without_a_token(self, meta: Any) -> None:
        session = server()
        one(session, id=1, method="tools/call", params={"_meta": meta})
        assert session.progress(session.incoming[1], 1) == b""


class TestBatches:
    def receive(self, session: Session, *messages: dict[str, Any]) -> list[Event]:
        return session.receive(json.dumps([{"jsonrpc": "2.0", **message} for message in messages]).encode())

    def test_answers_to_a_batch_are_sent_together(self) -> None:
        session = server(batches=True)
        notification = {"method": "notifications/roots/list_changed"}
        events = self.receive(session, {"id": 1, "method": "a"}, notification, {"id": 2, "method": "b"})
        assert [type(event) for event in events] == [Received, Notification, Received]
        assert session.answer(session.incoming[2], b'{"b":1}') == b""
        assert json.loads(session.refuse(session.incoming[1], -1, "m")) == [
            {"jsonrpc": "2.0", "id": 2, "result": {"b": 1}},
            {"jsonrpc": "2.0", "id": 1, "error": {"code": -1, "message": "m"}},
        ]

    def test_errors_are_answered_with_the_rest_of_the_batch(self) -> None:
        session = server(batches=True)
        events = self.receive(session, {"id": 1, "method": 2}, {"id": 3, "method": "a"})
        assert isinstance(events[0], Fault) and not events[0].answer
        answers = json.loads(finish(session, 3))
        assert [answer["id"] for answer in answers] == [1, 3]

    def test_a_batch_of_invalid_messages(self) -> None:
        events = server(batches=True).receive(b"[1, 2]")
        last = events[-1]
        assert isinstance(last, Fault)
        assert [answer["error"]["code"] for answer in json.loads(last.answer)] == [-32600, -32600]

    def test_refused_messages_are_reported_once(self) -> None:
        (event,) = server(batches=True).receive(json.dumps(list(range(1_000))).encode())
        assert isinstance(event, Fault)
        assert event.reason == "a message must be an object; 999 more messages of the batch were refused"
        assert len(json.loads(event.answer)) == 1_000

    def test_a_batch_that_is_too_long_gets_one_answer(self) -> None:
        (event,) = server(batches=True).receive(json.dumps([0] * 300_000).encode())
        assert isinstance(event, Fault) and event.reason == "a batch may have at most 1,000 messages"
        assert json.loads(event.answer)["error"]["code"] == -32600

    def test_answers_that_are_refused_fail_their_calls(self) -> None:
        session = client()
        session.accepts_batches = True
        ids = [ask(session, "ping", None)[0] for _ in range(3)]
        events = self.receive(session, *({"id": id_, "result": id_} for id_ in ids))
        assert [event.failed.id for event in events if isinstance(event, Fault) and event.failed] == ids

    @pytest.mark.requirement("batches.initialize-alone")
    def test_initialize_in_a_batch_is_refused(self) -> None:
        session = Session(Side.SERVER)
        session.accepts_batches = True
        events = self.receive(session, {"id": 1, "method": "initialize", "params": {}})
        assert isinstance(events[-1], Fault)
        assert json.loads(events[-1].answer)[0]["error"]["code"] == -32600
        assert session.state is State.NEW

    def test_a_cancelled_request_is_missing_from_the_answers(self) -> None:
        session = server(batches=True)
        self.receive(session, {"id": 1, "method": "a"}, {"id": 2, "method": "b"})
        assert finish(session, 1) == b""
        one(session, method="notifications/cancelled", params={"requestId": 2})
        assert [answer["id"] for answer in json.loads(session.drop(session.incoming[2]))] == [1]

    @pytest.mark.parametrize(("batches", "reason"), [(True, "must not be empty"), (False, "has no batches")])
    def test_empty_and_unsupported_batches_are_refused(self, batches: bool, reason: str) -> None:
        session = server(batches=batches)
        session.revision = "R"
        (event,) = session.receive(b"[]")
        assert isinstance(event, Fault) and reason in event.reason
        assert json.loads(event.answer)["error"]["code"] == -32600
