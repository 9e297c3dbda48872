"""The state that a client carries between requests of a replayed handler, and its limits: `InputState`."""

import asyncio
import logging
import time
from typing import Any, ClassVar

import pytest

from mcp_runtime.core import sources
from mcp_runtime.core.settings import ServerOptions
from mcp_runtime.sealed import InputState, MemorySpentStates, inputs
from support.asking import Known, Line, altered, asked, line, text
from support.till import KEY, OTHER, Till, again, answered

pytestmark = pytest.mark.usefixtures("virtual_time")

USED: dict[str, Any] = {"pointer": "/requestState"}


class TestStates:
    @pytest.mark.requirement("input.state-verified", "input.state-bound")
    async def test_a_state_is_good_for_one_request_of_one_peer(self, caplog: pytest.LogCaptureFixture) -> None:
        async with line(Till()) as client:
            message = await client.call("same", channel=Known("ada"), args={"n": "1"})
            again_ = answered(message)
            state = again_["requestState"]

            async def retry(
                name: str = "same", *, by: Any = "ada", n: str = "1", by_: Line = client, **more: Any
            ) -> Any:
                channel = Known(by) if by else None
                return await by_.call(name, channel=channel, args={"n": n}, **{**again_, **more})

            wrong = [
                retry(by="bob"),
                retry(by=None),
                retry("together"),
                retry(n="2"),
                retry(method="prompts/get"),
                *(retry(requestState=altered(state, place)) for place in range(len(state))),
                *(
                    retry(requestState=wrong)
                    for wrong in (state + "=", state + "A", state[:-1], "", "é", "\ud83d\ude00")
                ),
                retry(requestState=7),
                retry(requestState="A" * 100_000),
            ]
            for error in [(await each)["error"] for each in wrong]:
                assert (error["code"], error["data"]) == (-32602, USED)
            assert "Sure? accept" in text(await retry(**answered(await retry())))
            other = Till(keys=[OTHER])
            async with line(other) as there:
                assert (await retry(by_=there))["error"]["code"] == -32602
            assert "all processes need the same InputState(keys=...)" in caplog.text
            named = Till()
            named.options = ServerOptions(name="another", inputs=InputState(keys=[KEY]))
            async with line(named) as there:
                assert (await retry(by_=there))["error"]["code"] == -32602

    async def test_only_one_spelling_of_a_state_is_accepted(self) -> None:
        """The last character of base64 may have unused bits."""
        for length in range(3):
            message = await again(Till(), "changing", args={"pad": "x" * length})
            retry = answered(message)
            for last in "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_":
                changed = retry["requestState"][:-1] + last
                if changed != retry["requestState"]:
                    got = await again(
                        Till(), "changing", args={"pad": "x" * length}, **{**retry, "requestState": changed}
                    )
                    assert got["error"]["code"] == -32602

    @pytest.mark.requirement("input.state-bound")
    async def test_a_state_expires(self, monkeypatch: pytest.MonkeyPatch) -> None:
        message = await again(Till(expiry=60), "changing")
        monkeypatch.setattr(sources, "in_use", sources.Sources(wall=lambda: time.time() + 61))
        error = (await again(Till(), "changing", **answered(message)))["error"]
        assert (error["code"], error["data"]) == (-32602, USED)

    async def test_keys_change_one_after_the_other(self) -> None:
        message = await again(Till(keys=[KEY]), "same")
        message = await again(Till(keys=[OTHER, KEY]), "same", **answered(message))
        retry = answered(message)
        assert (await again(Till(keys=[KEY]), "same", **retry))["error"]["code"] == -32602
        assert text(await again(Till(keys=[OTHER]), "same", **retry)) == "Sure? accept Sure? accept"

    @pytest.mark.requirement("input.state-once")
    async def test_a_state_can_be_used_twice_unless_a_store_says_no(self) -> None:
        message = await again(Till(), "changing")
        for _ in range(2):
            assert text(await again(Till(), "changing", **answered(message))) == "How much? accept"
        spent = MemorySpentStates()
        message = await again(Till(spent=spent), "changing")
        wrong = {**answered(message), "inputResponses": dict.fromkeys(asked(message)[0].values(), 7)}
        assert (await again(Till(spent=spent), "changing", **wrong))["error"]["data"]["pointer"].startswith("/inputR")
        assert text(await again(Till(spent=spent), "changing", **answered(message))) == "How much? accept"
        error = (await again(Till(spent=spent), "changing", **answered(message)))["error"]
        assert (error["code"], error["data"]) == (-32602, USED)
        assert len(spent) == 1

    @pytest.mark.requirement("input.validated")
    @pytest.mark.parametrize(("wrong", "where"), [({"action": "maybe"}, "/action"), (7, "")])
    async def test_an_answer_that_is_not_valid_is_refused(self, wrong: Any, where: str) -> None:
        message = await again(Till(), "named")
        retry = answered(message)
        error = (await again(Till(), "named", **{**retry, "inputResponses": {"amount": wrong}}))["error"]
        assert error["code"] == -32602 and error["data"]["pointer"] == f"/inputResponses/amount{where}"
        assert text(await again(Till(), "named", **retry)) == "How much? accept"


class TestLimits:
    @pytest.mark.parametrize("name", ["changing", "named"])
    async def test_a_handler_that_diverges_is_refused(self, name: str, caplog: pytest.LogCaptureFixture) -> None:
        message = await again(Till(), name)
        server = Till()
        server.question = "How many?"
        error = (await again(server, name, **answered(message)))["error"]
        assert error["code"] == -32603 and "asks different questions than before" in error["message"]
        assert "diverged" in caplog.text

    async def test_rounds_are_bounded(self, caplog: pytest.LogCaptureFixture) -> None:
        async with line(Till(rounds=3)) as client:
            message = await client.call("endless")
            for _ in range(2):
                message = await client.call("endless", **answered(message))
            error = (await client.call("endless", **answered(message)))["error"]
            assert error["code"] == -32603 and "asks its client more than 3 times" in caplog.text

    async def test_size_is_bounded(self, caplog: pytest.LogCaptureFixture) -> None:
        error = (await again(Till(), "large"))["error"]
        assert error["code"] == -32603 and "bytes, the limit is 65536" in caplog.text
        assert list(asked(await again(Till(max_bytes=100_000), "large"))[0]) == ["q"]

    @pytest.mark.parametrize(
        ("name", "reason"),
        [("twice the key", "the key 'k' belongs to another question"), ("asks inside", "cannot ask the client")],
    )
    async def test_ambiguous_questions_fail(self, name: str, reason: str) -> None:
        assert reason in (await again(Till(), name))["error"]["message"]

    async def test_recorded_work_returns_json(self, caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level(logging.ERROR)
        assert (await again(Till(), "not json"))["error"]["code"] == -32603
        assert "the work must return JSON" in caplog.text

    async def test_used_states_are_forgotten_when_they_expire(self, monkeypatch: pytest.MonkeyPatch) -> None:
        now = 1000.0
        monkeypatch.setattr(sources, "in_use", sources.Sources(wall=lambda: now))
        spent = MemorySpentStates(limit=2)
        assert await spent.spend("a", now + 5) and await spent.spend("b", now + 60)
        with pytest.raises(OverflowError, match="limit of 2 remembered states"):
            await spent.spend("c", now + 60)
        assert not await spent.spend("b", now + 60)
        now += 6
        assert await spent.spend("c", now + 60) and len(spent) == 2

    async def test_one_peer_uses_at_most_half_of_what_is_remembered(self, monkeypatch: pytest.MonkeyPatch) -> None:
        now = 1000.0
        monkeypatch.setattr(sources, "in_use", sources.Sources(wall=lambda: now))
        spent = MemorySpentStates(limit=5)
        assert [await spent.spend(state, now + 5, "mallory") for state in "abc"] == [True] * 3
        with pytest.raises(OverflowError, match="one peer has used 3 states, half of those that can be remembered"):
            await spent.spend("d", now + 5, "mallory")
        assert await spent.spend("d", now + 60, "alice") and not await spent.spend("a", now + 60, "alice")
        now += 6
        assert await spent.spend("e", now + 60, "mallory") and len(spent) == 2

    async def test_a_state_is_used_by_its_sender(self) -> None:
        class Noting(MemorySpentStates):
            peers: ClassVar[list[str | None]] = []

            async def spend(self, state: str, until: float, peer: str | None = None) -> bool:
                self.peers.append(peer)
                return await super().spend(state, until, peer)

        async with line(Till(spent=Noting())) as client:
            for name in ("ada", "bob"):
                message = await client.call("same", channel=Known(name), args={"n": "1"})
                await client.call("same", channel=Known(name), args={"n": "1"}, **answered(message))
        [ada, bob] = Noting.peers
        assert ada is not None and bob is not None and "ada" in ada and "bob" in bob

    @pytest.mark.parametrize(
        ("settings", "error", "match"),
        [
            ({"keys": []}, ValueError, "at least one key"),
            ({"keys": ["x" * 32]}, TypeError, "sequence of bytes objects"),
            ({"keys": b"x" * 32}, TypeError, "a sequence of bytes objects"),
            ({"keys": [b"short"]}, ValueError, r"keys\[0\]: a key must have 32 bytes, not 5"),
            ({"keys": [KEY, KEY]}, ValueError, "twice"),
            ({"keys": [KEY], "rounds": 0}, ValueError, "rounds"),
        ],
    )
    def test_settings_are_checked(self, settings: Any, error: type[Exception], match: str) -> None:
        with pytest.raises(error, match=match):
            InputState(**settings)

    def test_keys_are_not_shown(self) -> None:
        assert str(KEY) not in repr(InputState(keys=[KEY])) and "keys" not in repr(InputState(keys=[KEY]))

    @pytest.mark.parametrize("error", [OverflowError("it is full"), TimeoutError()], ids=["raises", "hangs"])
    async def test_a_failing_store_refuses_the_state_which_may_be_sent_again(
        self, error: Exception, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        class Away(MemorySpentStates):
            is_away = True

            async def spend(self, state: str, until: float, peer: str | None = None) -> bool:
                if self.is_away and isinstance(error, TimeoutError):
                    await asyncio.sleep(1000)
                if self.is_away:
                    raise error
                return await super().spend(state, until, peer)

        monkeypatch.setattr(inputs, "SPENT_TIMEOUT", 0.05)
        spent = Away()
        message = await again(Till(spent=spent), "changing")
        refused = (await again(Till(spent=spent), "changing", **answered(message)))["error"]
        assert refused == {"code": -32603, "message": "used requestStates cannot be checked now; try again later"}
        [record] = caplog.records
        assert record.getMessage().startswith("whether the requestState of tools/call was used cannot be found out: ")
        assert record.exc_info is None
        spent.is_away = False
        assert text(await again(Till(spent=spent), "changing", **answered(message))) == "How much? accept"
