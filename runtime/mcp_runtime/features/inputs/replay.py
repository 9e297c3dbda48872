"""One run of a handler that begins anew with each request of its client, and gets what is recorded from before."""

import asyncio
from collections import Counter
from contextvars import ContextVar
from typing import Any, Final

from mcp_runtime.connection.recorded import Effect, json_of
from mcp_runtime.connection.work import Work
from mcp_runtime.errors import LocalProtocolError
from mcp_runtime.features.inputs.questions import Question
from mcp_runtime.features.inputs.record import Asked, Record
from mcp_runtime.method import RequestMethod, WireType

_RECORDING: Final[ContextVar[str]] = ContextVar("mcp_recording", default="")
"""The name of the recorded work that is being done."""


class Run:
    """One run of a handler.

    Args:
        work: the request.
        record: what was asked, answered and done before; results of recorded work are added to it.

    Attributes:
        record: see above.
        open: what the client is to be asked, by the keys of the questions.
        stopped: is done when the handler cannot go on: it has asked what is not answered yet, or diverged. Its result
            is why it diverged, empty if it did not.
    """

    def __init__(self, work: Work, record: Record) -> None:
        self.record = record
        self.open: dict[str, Question] = {}
        self._work = work
        self._loop = asyncio.get_running_loop()
        self.stopped: asyncio.Future[str] = self._loop.create_future()
        self._keys: set[str] = set()
        self._times: Counter[str] = Counter()
        self._working = 0
        self._waiting: list[asyncio.Future[Any]] = []

    async def ask(
        self, method: RequestMethod[Any, Any], type_: WireType[Any], params: bytes | None, key: str | None
    ) -> Any:
        """Return the recorded answer to a question; without one, it is asked, and the handler never goes on.

        Raises:
            LocalProtocolError: the key was used for another question, or recorded work asks.
            RemoteProtocolError: the answer is of another type.
        """
        if name := _RECORDING.get():
            raise self._misused(method, f"recorded({name!r}) cannot ask the client; ask before it, or after it")
        question = Question(method, type_, params, self._never())
        key = self._key(question) if key is None else key
        if key in self._keys:
            raise self._misused(method, f"the key {key!r} is that of another question of this call")
        self._keys.add(key)
        known = self.record.questions.get(key)
        if known is not None and known.digest != question.digest:
            await self._diverge(f"the question {key!r} has changed")
        if known is not None and known.answer is not None:
            return self._work.requester.reader.read(type_, known.answer, method.name)
        self.open[key] = question
        self._stop_soon()
        try:
            return await question.answered
        finally:
            self.open.pop(key, None)

    async def recorded(self, name: str, effect: Effect) -> Any:
        """Return the recorded result of a piece of work; without one, do it now.

        Raises:
            TypeError: what it returned is not JSON.
        """
        self._times[name] += 1
        place = f"{self._times[name]}:{name}"
        if place in self.record.results:
            return self.record.results[place]
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
        """Return what the client is asked now, and note it in the record."""
        for key, question in self.open.items():
            self.record.questions[key] = Asked(question.method.name, question.digest)
        return dict(self.open)

    def end(self) -> None:
        """Cancel what still waits for an answer in a task that the handler has left behind."""
        for waiting in self._waiting:
            waiting.cancel()

    def _key(self, question: Question) -> str:
        """Return the key of a question that has none: which of those with the same text it is.

        It does not count other questions, since those that are asked at the same time may come in another order.
        """
        self._times[question.digest] += 1
        return f"{question.method.name.partition('/')[0]}-{self._times[question.digest]}-{question.digest}"

    def _stop_soon(self) -> None:
        """Stop after this turn of the event loop, so that questions of the same turn leave together."""
        self._loop.call_soon(self._stop)

    def _stop(self) -> None:
        # Work that has begun is waited for, or it would be done once more.
        if not self.open or self._working or self.stopped.done():
            return
        answered = {key for key, asked in self.record.questions.items() if not asked.is_open}
        is_new = not self.open.keys() <= self.record.questions.keys()
        unasked = sorted(answered - self._keys) if is_new else []
        self.stopped.set_result(f"it no longer asks {unasked[0]!r}, but something else" if unasked else "")

    async def _diverge(self, reason: str) -> None:
        if not self.stopped.done():
            self.stopped.set_result(reason)
        await self._never()

    def _never(self) -> "asyncio.Future[Any]":
        """Return what whoever asks waits for until the run ends."""
        self._waiting.append(waiting := self._loop.create_future())
        return waiting

    def _misused(self, method: RequestMethod[Any, Any], reason: str) -> LocalProtocolError:
        revision = self._work.requester.revision
        return LocalProtocolError(revision=revision, method=method.name, pointer="", reason=reason)
