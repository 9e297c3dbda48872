"""One run of a handler that is replayed for each request of its client, with the recorded answers and results."""

import asyncio
import json
from collections import Counter
from contextvars import ContextVar
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import count, islice
from typing import Any, Final

from pydantic_core import from_json, to_json

from mcp_runtime.core import sources
from mcp_runtime.core.asking.questions import Question
from mcp_runtime.core.connection.calls import Call
from mcp_runtime.core.connection.requester import Effect, json_of
from mcp_runtime.core.method import RequestMethod, WireType

PATIENCE: Final = 1.0
"""Seconds within which a handler must ask again what was answered, after it asks something new."""

_RECORDING: Final[ContextVar[str]] = ContextVar("mcp_recording", default="")
"""The name of the recorded work that is running."""


@dataclass(slots=True)
class Asked:
    """A question that the client was asked.

    Attributes:
        method: the method of the question.
        digest: identifies the question by its content.
        answer: the client's answer as received; None until it has arrived.
    """

    method: str
    digest: str
    answer: dict[str, Any] | None = None

    @property
    def is_open(self) -> bool:
        """Whether the client has not answered it yet."""
        return self.answer is None


@dataclass(slots=True)
class Record:
    """What was asked, answered and done in a call so far.

    Attributes:
        call: identifies the call; never revealed to anyone.
        rounds: how often the client was asked.
        until: when the client must have come back, as Unix time in seconds.
        questions: the questions by their keys; answered ones in the order in which they were answered.
        results: the results of recorded work, by its name and how often that name had occurred before.
    """

    call: str = field(default_factory=lambda: sources.token_hex(16))
    rounds: int = 0
    until: float = 0.0
    questions: dict[str, Asked] = field(default_factory=dict[str, Asked])
    results: dict[str, Any] = field(default_factory=dict[str, Any])

    def answered(self, key: str, answer: dict[str, Any]) -> None:
        """Record an answer."""
        asked = self.questions.pop(key)
        asked.answer = answer
        self.questions[key] = asked

    def idempotency_key(self, name: str) -> str:
        """Return the key that identifies a piece of recorded work to other systems, the same in each repetition."""
        key = name.encode("utf-8", "surrogatepass")
        return blake2b(key, key=bytes.fromhex(self.call), digest_size=16).hexdigest()

    def encode(self) -> bytes:
        """Encode the record as JSON."""
        questions = {key: [asked.method, asked.digest, asked.answer] for key, asked in self.questions.items()}
        value = [self.call, self.rounds, self.until, questions, self.results]
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "surrogatepass")

    @classmethod
    def decode(cls, data: bytes) -> "Record":
        """Decode what `encode` wrote."""
        call, rounds, until, questions, results = json.loads(data.decode("utf-8", "surrogatepass"))
        return cls(call, rounds, until, {key: Asked(*asked) for key, asked in questions.items()}, results)


class Replay:
    """One run of a handler.

    Args:
        work: the request.
        record: what was asked, answered and done before; results of recorded work are added to it.

    Attributes:
        record: the same record.
        open: the questions to ask the client, by their keys.
        stopped: done when the handler cannot continue, because it waits for an answer or diverged. Its result is the
            reason why it diverged, empty if it did not.
    """

    def __init__(self, work: Call, record: Record) -> None:
        self.record = record
        self.open: dict[str, Question] = {}
        self._work = work
        self._loop = asyncio.get_running_loop()
        self.stopped: asyncio.Future[str] = self._loop.create_future()
        self._keys: set[str] = set()
        self._times: Counter[str] = Counter()
        self._working = 0
        self._waiting: list[asyncio.Future[Any]] = []
        self._patience: asyncio.TimerHandle | None = None

    async def ask(
        self, method: RequestMethod[Any, Any], type_: WireType[Any], params: bytes | None, key: str | None
    ) -> Any:
        """Return the recorded answer to a question; without one, ask it, and never return.

        Raises:
            LocalProtocolError: the key was used for another question, or recorded work asks.
            RemoteProtocolError: the answer has the wrong type.
        """
        forbids = self._work.requester.forbids
        if name := _RECORDING.get():
            raise forbids(method, f"recorded({name!r}) cannot ask the client; ask before it, or after it")
        question = Question(method, type_, params, self._never())
        key = self._key(question) if key is None else key
        if key in self._keys:
            raise forbids(method, f"the key {key!r} belongs to another question of this call")
        self._keys.add(key)
        known = self.record.questions.get(key)
        if known is not None and known.digest != question.digest:
            await self._diverge(f"the question {key!r} has changed")
        if known is not None and known.answer is not None:
            self._stop_soon()
            return self._read(method, type_, known.answer)
        self.open[key] = question
        self._stop_soon()
        try:
            return await question.answered
        finally:
            self.open.pop(key, None)

    async def recorded(self, name: str, effect: Effect) -> Any:
        """Return the recorded result of a piece of work; without one, do the work now.

        Raises:
            TypeError: its result is not JSON.
        """
        self._times[name] += 1
        place = f"{self._times[name]}:{name}"
        if place in self.record.results:
            return self.record.results[place]
        if self.stopped.done():
            await self._never()  # It would be cancelled halfway.
        self._working += 1
        token = _RECORDING.set(name)
        try:
            result = self.record.results[place] = json_of(name, await effect(self.record.idempotency_key(place)))
        finally:
            _RECORDING.reset(token)
            self._working -= 1
            self._stop_soon()
        return result

    def asked(self) -> "dict[str, Question]":
        """Return what the client is asked now, and add it to the record."""
        for key, question in self.open.items():
            self.record.questions[key] = Asked(question.method.name, question.digest)
        return dict(self.open)

    def end(self) -> None:
        """Cancel whatever still waits, including tasks that the handler left behind."""
        for waiting in self._waiting:
            waiting.cancel()
        if self._patience is not None:
            self._patience.cancel()

    def _read(self, method: RequestMethod[Any, Any], type_: WireType[Any], answer: dict[str, Any]) -> Any:
        requester = self._work.requester
        if requester.wire is not None:
            text = to_json(answer)
            answer = requester.wire.incoming(method, "result", from_json(text), text, requester.reader)
        return requester.reader.read(type_, answer, method.name)

    def _key(self, question: Question) -> str:
        """Return the key of a question that was given none: its number among those with the same text.

        The first to ask a text gets the first answer to it, whatever key that had, and so on: concurrent branches may
        ask it in a different order than before. No other question counts, for the same reason.
        """
        area, digest = question.method.name.partition("/")[0], question.digest
        self._times[digest] += 1
        questions = self.record.questions
        answered = [key for key in questions if key.endswith(f"-{digest}") and not questions[key].is_open]
        left = self._times[digest] - len(answered)
        if left <= 0:
            return answered[left - 1]
        numbered = (f"{area}-{number}-{digest}" for number in count(1))
        return next(islice((key for key in numbered if key not in answered), left - 1, None))

    def _stop_soon(self) -> None:
        """Stop after this turn of the event loop, so that questions of the same turn are sent together."""
        self._loop.call_soon(self._stop)

    def _stop(self) -> None:
        # Wait for work that has begun, or it would be repeated.
        if not self.open or self._working or self.stopped.done():
            return
        if not self._unasked():
            self.stopped.set_result("")
        elif self._patience is None:
            # A concurrent branch may just not have come so far.
            self._patience = self._loop.call_later(PATIENCE, self._give_up)

    def _give_up(self) -> None:
        self._patience = None
        if self._working:
            self._stop_soon()
        elif self.open and not self.stopped.done() and (unasked := self._unasked()):
            self.stopped.set_result(f"it no longer asks {unasked[0]!r}, but something else")

    def _unasked(self) -> list[str]:
        """Return the questions that were answered before and have not been asked in this run."""
        return [key for key, asked in self.record.questions.items() if not asked.is_open and key not in self._keys]

    async def _diverge(self, reason: str) -> None:
        if not self.stopped.done():
            self.stopped.set_result(reason)
        await self._never()

    def _never(self) -> "asyncio.Future[Any]":
        """Return a future on which a question waits until the run ends."""
        self._waiting.append(waiting := self._loop.create_future())
        return waiting
