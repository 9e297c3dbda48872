"""Authenticated encryption of what a client carries: AES-256-GCM, with key rotation."""

import asyncio
import json
import logging
import secrets
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any, Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from mcp_runtime.connection.background import bounded
from mcp_runtime.connection.calls import Call
from mcp_runtime.connection.connection import Connection, Exchange
from mcp_runtime.connection.requester import Effect, Handler, Requester, run_once
from mcp_runtime.errors import LocalProtocolError, PeerError, clipped
from mcp_runtime.features.inputs.questions import Record, digest_of, read_answers, unknown_state
from mcp_runtime.features.inputs.replay import Run
from mcp_runtime.handlers import Context
from mcp_runtime.method import AnyMethod, RequestMethod, WireType
from mcp_runtime.options import CallOptions
from mcp_runtime.protocol.jsonrpc import INTERNAL_ERROR
from mcp_runtime.settings import InputState, SpentStates

_FORMAT: Final = b"\x01"
_ID: Final = 8
_NONCE: Final = 12
_HEAD: Final = len(_FORMAT) + _ID
_TAG: Final = 16


class Unsealable(Exception):
    """A text was not sealed with these keys; the reason is only for this side's log."""


class Seal:
    """Seals texts, and opens those that were sealed with one of its keys.

    The result is URL-safe: a format, the id of a key, a random nonce, and the encrypted text. Nonces of 96 bits are
    random, so one key must not seal more than 2**32 texts (NIST SP 800-38D, section 8.3).

    Args:
        keys: 32 bytes each; the first one seals.
    """

    def __init__(self, keys: Sequence[bytes]) -> None:
        self._ciphers = {_id_of(key): AESGCM(key) for key in keys}
        self._current = _id_of(keys[0])

    def close(self, text: bytes, bound: bytes) -> str:
        """Return a text sealed so that only holders of the key can read or create it.

        Args:
            text: what is encrypted.
            bound: what the text belongs to; needed to open it.
        """
        head, nonce = _FORMAT + self._current, secrets.token_bytes(_NONCE)
        sealed = self._ciphers[self._current].encrypt(nonce, text, head + bound)
        return urlsafe_b64encode(head + nonce + sealed).rstrip(b"=").decode()

    def open(self, sealed: str, bound: bytes) -> bytes:
        """Return the text that was sealed.

        Raises:
            Unsealable: it was not sealed with one of the keys, belongs to something else, or was altered.
        """
        data = _decoded(sealed)
        head, nonce, text = data[:_HEAD], data[_HEAD : _HEAD + _NONCE], data[_HEAD + _NONCE :]
        if len(text) < _TAG or not head.startswith(_FORMAT):
            raise Unsealable("not a sealed state")
        cipher = self._ciphers.get(head[len(_FORMAT) :])
        if cipher is None:
            raise Unsealable("sealed with an unknown key; all processes need the same InputState(keys=...)")
        try:
            return cipher.decrypt(nonce, text, head + bound)
        except InvalidTag:
            raise Unsealable("altered, or belongs to another request") from None


def _id_of(key: bytes) -> bytes:
    return blake2b(key, digest_size=_ID, person=b"mcp sealed state").digest()


def _decoded(sealed: str) -> bytes:
    try:
        data = urlsafe_b64decode(sealed + "=" * (-len(sealed) % 4))
    except ValueError:
        raise Unsealable("not a sealed state") from None
    # Several encodings decode to the same bytes; only one of them is ours.
    if urlsafe_b64encode(data).rstrip(b"=") != sealed.encode("utf-8", "replace"):
        raise Unsealable("not a sealed state")
    return data


SPENT_TIMEOUT: Final = 5.0
"""Seconds in which it must be known whether a state was used."""


class SealedInputs:
    """The handlers of one server that ask over one connection.

    Args:
        connection: the connection.
        name: the server's name: servers that share keys do not accept each other's states.
        settings: the keys and limits.
    """

    def __init__(self, connection: Connection, name: str, settings: InputState) -> None:
        self._connection = connection
        self._name = name
        self._settings = settings
        self._seal = Seal(settings.keys)
        self._runs: dict[Call, Run] = {}

    def install(self) -> None:
        """Make the handlers registered so far replay what is recorded."""
        answers = self._connection.requester.answers
        answers.ask_inside, answers.go_on, answers.record = self.ask, self.go_on, self.record
        for method, handler in tuple(answers.handlers.values()):
            if _asking_record(method, self._connection.requester) is not None:
                self._connection.handle(method, self._replaying(handler))

    async def ask(
        self,
        work: Call,
        method: RequestMethod[Any, Any],
        type_: WireType[Any],
        params: bytes | None,
        options: CallOptions | None,
    ) -> Any:
        """Ask the client, or return its recorded answer; see `connection.answers`."""
        run = self._runs.get(work)
        if run is None:
            reason = f"the handler of {work.method.name} has ended, or was added after the connection began"
            raise LocalProtocolError(revision=work.requester.revision, method=method.name, pointer="", reason=reason)
        return await run.ask(method, type_, params, options.key if options is not None else None)

    def go_on(self, received: Call, state: Any) -> bool:
        """Check a state and its answers; the handler is then replayed. See `connection.answers`.

        Raises:
            PeerError: the state belongs to another call or has expired, or an answer is not valid.
        """
        requester, params = received.requester, received.message.params or {}
        record = self._opened(state, received.message.method, params, requester)
        waiting = {key: _type_of(asked.method, requester) for key, asked in record.questions.items() if asked.is_open}
        given: Any = params.get("inputResponses")
        # Answers to other questions are ignored, so they need not be valid.
        params["inputResponses"] = {key: given[key] for key in read_answers(waiting, params, requester)}
        return False

    async def record(self, work: Call, name: str, effect: Effect) -> Any:
        """Do a piece of work, or return its recorded result; see `connection.answers`."""
        run = self._runs.get(work)
        return await (run.recorded(name, effect) if run is not None else run_once(work, name, effect))

    def _replaying(self, handler: Handler) -> Handler:
        async def replay(params: Any, ctx: Context[Any]) -> Any:
            exchange = ctx.exchange
            run = Run(exchange, await self._recorded(exchange))
            self._runs[exchange] = run
            task = asyncio.ensure_future(handler(params, ctx))
            try:
                await asyncio.wait((task, run.stopped), return_when=asyncio.FIRST_COMPLETED)
                return task.result() if task.done() else self._asked(run, exchange)
            finally:
                await _ended(task)
                run.end()
                del self._runs[exchange]

        return replay

    async def _recorded(self, exchange: Exchange) -> Record:
        """Return the record of the call, with the answers that `go_on` accepted.

        Raises:
            PeerError: the state was used before, or whether it was cannot be determined.
        """
        params, spent = exchange.raw_params, self._settings.spent
        state: Any = params.get("requestState")
        if state is None:
            return Record()
        record = self._opened(state, exchange.method.name, params, exchange.requester)
        answers: dict[str, Any] = params["inputResponses"]
        for key, answer in answers.items():
            record.answered(key, answer)
        if spent is not None and not await self._spend(spent, exchange, state, record.until):
            raise unknown_state()
        return record

    async def _spend(self, spent: SpentStates, exchange: Exchange, state: str, until: float) -> bool:
        """Mark a state as used; return whether this is the first time.

        Raises:
            PeerError: that cannot be determined.
        """
        try:
            return await bounded(spent.spend(digest_of({"state": state}).hex(), until), SPENT_TIMEOUT)
        except Exception as error:
            reason = clipped(f"{type(error).__name__}: {error}" if str(error) else type(error).__name__)
            text = "whether the requestState of %s was used cannot be found out: %s"
            self._connection.complain(logging.ERROR, text, exchange.method.name, reason)
            raise PeerError(INTERNAL_ERROR, "used requestStates cannot be checked now; try again later") from None

    def _opened(self, state: Any, method: str, params: Mapping[str, Any], requester: Requester) -> Record:
        try:
            if not isinstance(state, str) or len(state) > self._settings.max_bytes:
                raise Unsealable("not a sealed state")
            record = Record.decode(self._seal.open(state, self._bound(method, params, requester)))
        except Unsealable as error:
            self._connection.complain(logging.WARNING, "the requestState of %s was refused: %s", method, error)
            raise unknown_state() from None
        if record.until <= time.time():
            raise unknown_state()
        return record

    def _asked(self, run: Run, exchange: Exchange) -> Any:
        """Return the result that asks the client.

        Raises:
            PeerError: the handler asks different questions than before, asks too often, or has too much to remember.
        """
        settings, record = self._settings, run.record
        if reason := run.stopped.result():
            text = "the replay of the handler of %s diverged: %s"
            raise self._failed(exchange, "the handler asks different questions than before", text, reason)
        if record.rounds >= settings.rounds:
            text = "the handler of %s asks its client more than %d times"
            raise self._failed(exchange, "the handler asks for input too often", text, settings.rounds)
        questions = run.asked()
        record.rounds += 1
        record.until = time.time() + settings.expiry
        state = self._seal.close(
            record.encode(), self._bound(exchange.method.name, exchange.raw_params, exchange.requester)
        )
        if len(state) > settings.max_bytes:
            text = "the state of %s has %d bytes, the limit is %d"
            raise self._failed(exchange, "the recorded answers are too large", text, len(state), settings.max_bytes)
        asked = {key: json.loads(question.request) for key, question in questions.items()}
        tag, spoken = "input_required", _asking_record(exchange.method, exchange.requester)
        assert spoken is not None
        exchange.method = spoken  # Over a bridge, the outgoing params are already those of the client's revision.
        return spoken.results[tag].build({"resultType": tag, "inputRequests": asked, "requestState": state})

    def _failed(self, exchange: Exchange, reason: str, text: str, *args: object) -> PeerError:
        self._connection.complain(logging.ERROR, text, exchange.method.name, *args)
        return PeerError(INTERNAL_ERROR, f"internal error: {reason}")

    def _bound(self, method: str, params: Mapping[str, Any], requester: Requester) -> bytes:
        """Return what a state is bound to."""
        return json.dumps(
            [self._name, requester.revision, requester.principal, method, digest_of(params).hex()]
        ).encode()


def _asking_record(method: AnyMethod, requester: Requester) -> RequestMethod[Any, Any] | None:
    """Return the record of a method in the negotiated revision; None if its results cannot ask there."""
    spoken = requester.spoken.methods.get(method.name) if requester.spoken is not None else None
    return spoken if isinstance(spoken, RequestMethod) and spoken.multi_round_trip else None


def _type_of(name: str, requester: Requester) -> tuple[RequestMethod[Any, Any], WireType[Any]]:
    """Return the method of a question, and the type of its answer."""
    assert requester.binding is not None
    method = requester.binding.methods[name]
    assert isinstance(method, RequestMethod)
    return method, method.result


async def _ended(task: "asyncio.Future[Any]") -> None:
    """Cancel a handler's task unless it has ended, and wait for its end; its outcome no longer matters."""
    if not task.done():
        task.cancel("the handler is replayed when the client has answered")
        await asyncio.wait((task,))
    if not task.cancelled():
        task.exception()  # or asyncio logs that nobody has retrieved it
