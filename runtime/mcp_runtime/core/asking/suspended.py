"""Handlers that wait in this process between two requests of their client: nothing runs twice.

A handler that waits for input has no open request: the question was the answer to the last one, and the client may
never come back. So only a timeout or the end of the connection ends it, and a quota limits their number.
"""

import asyncio
import hmac
import logging
import os
from collections import Counter
from collections.abc import Callable
from contextvars import Context
from functools import lru_cache
from hashlib import blake2b
from typing import Any, Final

from mcp_runtime.core import sources
from mcp_runtime.core.asking.questions import Question, digest_of, input_required, read_answers, unknown_state
from mcp_runtime.core.connection.calls import Call
from mcp_runtime.core.connection.connection import Exchange
from mcp_runtime.core.connection.requester import ResultQuestions
from mcp_runtime.core.connection.timers import log
from mcp_runtime.core.errors import RequestTimeout
from mcp_runtime.core.handlers import ServerHandlers, Serving
from mcp_runtime.core.method import AnyRequest, WireType
from mcp_runtime.core.options import CallOptions
from mcp_runtime.core.settings import Suspended

_NONCE: Final = 24


class Suspensions(ResultQuestions):
    """The suspended handlers of one server, over all its connections.

    Args:
        settings: the quotas, and whether a handler may continue over another connection.
    """

    are_possible = True

    def __init__(self, settings: Suspended) -> None:
        self._settings = settings
        self._asking: dict[Call, _Asking] = {}
        self._waiting: dict[str, _Asking] = {}
        self._per_peer: Counter[object] = Counter()

    @classmethod
    def of(cls, server: ServerHandlers, settings: Suspended) -> "Suspensions":
        """Return those of a server object."""
        serving = Serving.of(server)
        serving.suspensions = serving.suspensions or cls(settings)
        found: Suspensions = serving.suspensions
        return found

    async def ask(
        self, call: Any, method: AnyRequest, type_: WireType[Any], params: bytes | None, options: CallOptions | None
    ) -> Any:
        """Ask the client, with all questions asked in the same turn of the event loop; see `ResultQuestions`."""
        asking = self._asking.get(call)
        if asking is None:
            asking = self._asking[call] = _Asking(call, self._forget)
        key = asking.key(method, options.key if options is not None else None)
        question = asking.open[key] = Question(method, type_, params, asking.loop.create_future())
        self._ask_soon(asking)
        timeout = options.timeout if options is not None else None
        try:
            # The user is asked: only this call's own timeout applies.
            async with asyncio.timeout(timeout):
                return await question.answered
        except TimeoutError:
            raise RequestTimeout(method.name, timeout or 0) from None
        finally:
            asking.open.pop(key, None)
            self._settle(asking)

    def _ask_soon(self, asking: "_Asking") -> None:
        if not asking.is_scheduled:
            asking.is_scheduled = True
            asking.loop.call_soon(self._send, asking, context=Context())

    def _send(self, asking: "_Asking") -> None:
        """Answer the open request with the open questions."""
        asking.is_scheduled = False
        exchange = asking.exchange
        # What is answered is open until its handler goes on.
        unanswered = {key: question for key, question in asking.open.items() if not question.answered.done()}
        if not exchange.is_open or not unanswered:
            return
        # A peer that is not known shares its limit with nobody but its connection.
        peer: object = exchange.requester.peer or (None if self._settings.shared else exchange.connection)
        if self._per_peer[peer] >= self._settings.per_peer:
            self._evict(peer)
        elif len(self._waiting) >= self._settings.overall:
            self._evict(max(self._per_peer, key=self._per_peer.__getitem__))
        nonce = sources.token_urlsafe(_NONCE)
        asking.handle, asking.peer = nonce + _mac(nonce), peer
        self._per_peer[peer] += 1
        self._waiting[asking.handle] = asking
        result = input_required(unanswered, asking.handle, exchange.requester.answers.stamp)
        asking.task = exchange.connection.inbound.suspend(exchange, result, keep=not self._settings.shared)
        asking.task.add_done_callback(asking.ended)
        asking.timer = asking.loop.call_later(self._settings.expiry, self._expire, asking, context=Context())

    def _evict(self, peer: object) -> None:
        """Cancel the oldest handler of a peer, which makes room for another one."""
        oldest = next(asking for asking in self._waiting.values() if asking.peer == peer)
        text = "too many handlers wait for input; cancelling the oldest of %s"
        oldest.exchange.connection.log_limited(logging.WARNING, text, oldest.exchange.method.name)
        self._cancel(oldest, "too many later requests of this peer wait for input")

    def resume(self, received: Exchange, state: Any) -> bool:
        """Resume the handler that issued a handle; see `ResultQuestions`.

        Raises:
            PeerError: the handle expired, was used, belongs to another request, or was not issued by this process; or
                an answer is not valid.
        """
        connection, asking = received.connection, self._waiting.get(state) if isinstance(state, str) else None
        if asking is None:
            if not _is_own(state):
                text = "received a requestState that this process did not issue; with several workers, use InputState"
                connection.log_limited(logging.WARNING, text)
            raise unknown_state()
        requester, params = received.requester, received.raw_params
        task, exchange = asking.task, asking.exchange
        is_same = exchange.method.name == received.name and asking.digest == digest_of(params)
        # Only the event loop of a handler can run it.
        is_here = self._settings.shared and asking.loop is asyncio.get_running_loop()
        may_come = exchange.connection is connection or is_here
        if task is None or not may_come or requester.principal != exchange.requester.principal or not is_same:
            raise unknown_state()
        received.require(exchange.scopes)
        answers = read_answers({key: (q.method, q.type) for key, q in asking.open.items()}, params, requester)
        self._forget(asking)
        connection.inbound.resume(exchange, received)
        for key, answer in answers.items():
            question = asking.open[key]
            if not question.answered.done():
                question.answered.set_result(answer)
        # Unanswered questions are asked again.
        self._ask_soon(asking)
        return True

    def _expire(self, asking: "_Asking") -> None:
        reason = f"the client did not come back within {self._settings.expiry:g} s"
        log.info("cancelling %s: %s", asking.exchange.method.name, reason)
        self._cancel(asking, reason)

    def _cancel(self, asking: "_Asking", reason: str) -> None:
        self._forget(asking)
        asking.exchange.mark_cancelled(reason)
        if asking.task is not None:
            asking.task.cancel(reason)

    def _forget(self, asking: "_Asking") -> None:
        """Revoke a handle, since it was used or no handler waits any more."""
        handle, asking.handle = asking.handle, ""
        if self._waiting.pop(handle, None) is None:
            return
        if asking.timer is not None:
            asking.timer.cancel()
        if asking.task is not None:
            asking.task.remove_done_callback(asking.ended)
        self._per_peer[asking.peer] -= 1
        if not self._per_peer[asking.peer]:
            del self._per_peer[asking.peer]
        asking.peer = None
        self._settle(asking)

    def _settle(self, asking: "_Asking") -> None:
        if not asking.open and not asking.handle:
            self._asking.pop(asking.exchange, None)


class _Asking:
    """The questions of one handler, and its handle."""

    def __init__(self, exchange: Exchange, forget: "Callable[[_Asking], None]") -> None:
        self.exchange = exchange
        self.loop = asyncio.get_running_loop()
        self.digest = digest_of(exchange.raw_params)
        self.open: dict[str, Question] = {}
        self._keys: set[str] = set()
        self.handle = ""
        self.peer: object = None
        self.is_scheduled = False
        self.task: asyncio.Task[None] | None = None
        self.timer: asyncio.TimerHandle | None = None
        self._forget = forget

    def key(self, method: AnyRequest, given: str | None) -> str:
        """Return the key of a question: the given one, otherwise a number.

        Raises:
            LocalProtocolError: the given key belongs to another question.
        """
        if given in self._keys:
            reason = f"the key {given!r} belongs to another question of this call"
            raise self.exchange.requester.forbids(method, reason)
        area, number = method.name.partition("/")[0], len(self._keys) + 1
        while given is None and f"{area}-{number}" in self._keys:
            number += 1
        key = given or f"{area}-{number}"
        self._keys.add(key)
        return key

    def ended(self, _: "asyncio.Task[None]") -> None:
        """React to the cancellation of a handler while it waited."""
        self._forget(self)


def _is_own(state: object) -> bool:
    """Whether this process issued a handle, even if it was used or expired."""
    if not isinstance(state, str) or not state.isascii():
        return False
    nonce, mac = state[: -len(_mac(""))], state[-len(_mac("")) :]
    return hmac.compare_digest(_mac(nonce), mac)


@lru_cache(maxsize=1)
def _secret(process: int) -> bytes:
    """Return what distinguishes the handles of a process from those of others, even of the one it was forked from."""
    return sources.token_bytes(32)


def _mac(nonce: str) -> str:
    return blake2b(nonce.encode(), key=_secret(os.getpid()), digest_size=16).hexdigest()
