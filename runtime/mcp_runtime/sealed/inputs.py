"""Handlers that run again when their client comes back, with the recorded answers from a sealed state."""

import asyncio
import heapq
import json
import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any, Final, Protocol

from mcp_runtime.core import sources
from mcp_runtime.core.asking.questions import digest_of, read_answers, unknown_state
from mcp_runtime.core.connection.background import bounded
from mcp_runtime.core.connection.calls import Call
from mcp_runtime.core.connection.connection import Connection, Exchange
from mcp_runtime.core.connection.requester import Effect, Handler, Requester, ResultQuestions
from mcp_runtime.core.errors import PeerError, clipped
from mcp_runtime.core.handlers import Context
from mcp_runtime.core.method import AnyMethod, RequestMethod, WireType, request_of
from mcp_runtime.core.options import CallOptions
from mcp_runtime.core.protocol.jsonrpc import INTERNAL_ERROR
from mcp_runtime.sealed.replay import Record, Replay
from mcp_runtime.sealed.seal import Seal, Unsealable

KEY_BYTES: Final = 32
"""The length of a key in bytes: AES-256."""
_INSTALL: Final = "sealed states need cryptography: pip install 'mcp-bindings[sealed]'"
SPENT_TIMEOUT: Final = 5.0
"""Seconds in which it must be known whether a state was used."""


class SpentStates(Protocol):
    """Remembers which sealed states were used, across all processes that share the keys."""

    async def spend(self, state: str, until: float, peer: str | None) -> bool:
        """Mark a state as used; return whether this is the first time.

        If two calls race, exactly one returns True.

        Args:
            state: identifies the state: 32 hexadecimal digits.
            until: when the state expires, as Unix time in seconds. It may be forgotten after that.
            peer: who uses it: a principal, or else an address; None if there is only one peer.

        Raises:
            Exception: whether the state was used cannot be determined. The call then fails, as it does if the answer
                takes longer than 5 seconds.
        """
        ...


class MemorySpentStates:
    """Remembers used states in this process only: for tests and single-process servers.

    Args:
        limit: how many states are remembered at once, at most half of them for one peer. Unexpired states are never
            evicted.
    """

    def __init__(self, limit: int = 100_000) -> None:
        self._limit = limit
        self._known: dict[str, str | None] = {}
        self._per_peer: Counter[str | None] = Counter()
        self._ends: list[tuple[float, str]] = []

    def __len__(self) -> int:
        return len(self._known)

    async def spend(self, state: str, until: float, peer: str | None = None) -> bool:
        """Mark a state as used; return whether this is the first time. See `SpentStates.spend`.

        Raises:
            OverflowError: the limit, or the peer's share of it, is reached.
        """
        now = sources.wall()
        while self._ends and self._ends[0][0] <= now:
            owner = self._known.pop(heapq.heappop(self._ends)[1])
            self._per_peer[owner] -= 1
            if not self._per_peer[owner]:
                del self._per_peer[owner]
        if state in self._known:
            return False
        if len(self._known) >= self._limit:
            raise OverflowError(f"the limit of {self._limit:,} remembered states is reached")
        if peer is not None and self._per_peer[peer] >= (share := (self._limit + 1) // 2):
            raise OverflowError(f"one peer has used {share:,} states, half of those that can be remembered")
        self._known[state] = peer
        self._per_peer[peer] += 1
        heapq.heappush(self._ends, (until, state))
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class InputState:
    """Let any process that has the keys continue: the answers so far travel with the client, encrypted.

    No handler stays suspended. When the client comes back, its handler runs again from the beginning and receives the
    recorded answers. Everything before a question is repeated, except work done through `Context.recorded`. Without
    `spent`, a client can replay a state, and the handler continues from it each time.

    Attributes:
        keys: secrets of 32 random bytes each (``secrets.token_bytes(32)``), the same in all processes. The first one
            encrypts; all of them decrypt.
        expiry: seconds within which a client must come back.
        rounds: how often a handler may ask before it answers.
        max_bytes: the maximum size of a state in bytes.
        spent: lets each state be used only once; None allows reuse until it expires.

    Raises:
        ModuleNotFoundError: `cryptography` is not installed (``mcp-bindings[sealed]``).
        TypeError: a key is not bytes.
        ValueError: there is no key, a key has the wrong length or is repeated, or a limit is not positive.
    """

    keys: Sequence[bytes] = field(repr=False)
    expiry: float = 600.0
    rounds: int = 16
    max_bytes: int = 65_536
    spent: SpentStates | None = None

    def __post_init__(self) -> None:
        keys: Any = self.keys
        if isinstance(keys, bytes | str) or not all(isinstance(key, bytes) for key in keys):
            raise TypeError("keys: must be a sequence of bytes objects")
        if not self.keys:
            raise ValueError("keys: at least one key is needed; secrets.token_bytes(32) makes one")
        for number, key in enumerate(self.keys):
            if len(key) != KEY_BYTES:
                raise ValueError(f"keys[{number}]: a key must have {KEY_BYTES} bytes, not {len(key)}")
        if len(set(self.keys)) < len(self.keys):
            raise ValueError("keys: the same key is given twice")
        for name, limit in (("expiry", self.expiry), ("rounds", self.rounds), ("max_bytes", self.max_bytes)):
            if not limit > 0:
                raise ValueError(f"{name}: must be more than 0, not {limit:g}")
        if find_spec("cryptography") is None:
            raise ModuleNotFoundError(_INSTALL)

    def install(self, connection: Connection, name: str) -> None:
        """Let the handlers that are registered so far be replayed; see `Inputs.install`."""
        SealedInputs(connection, name, self).install()


class SealedInputs(ResultQuestions):
    """The handlers of one server that ask over one connection.

    Args:
        connection: the connection.
        name: the server's name: servers that share keys do not accept each other's states.
        settings: the keys and limits.
    """

    are_possible = True

    def __init__(self, connection: Connection, name: str, settings: InputState) -> None:
        self._connection = connection
        self._name = name
        self._settings = settings
        self._seal = Seal(settings.keys)
        self._runs: dict[Call, Replay] = {}

    def install(self) -> None:
        """Make the handlers registered so far replay what is recorded."""
        answers = self._connection.requester.answers
        answers.questions = self
        for method, handler in tuple(answers.handlers.values()):
            if _asking_record(method, self._connection.requester) is not None:
                self._connection.handle(method, self._replaying(handler))

    async def ask(
        self,
        call: Call,
        method: RequestMethod[Any, Any],
        type_: WireType[Any],
        params: bytes | None,
        options: CallOptions | None,
    ) -> Any:
        """Ask the client, or return its recorded answer; see `ResultQuestions`."""
        run = self._runs.get(call)
        if run is None:
            reason = f"the handler of {call.method.name} has ended, or was added after the connection began"
            raise call.requester.forbids(method, reason)
        return await run.ask(method, type_, params, options.key if options is not None else None)

    def resume(self, received: Call, state: Any) -> bool:
        """Check a state and its answers; the handler is then replayed. See `ResultQuestions`.

        Raises:
            PeerError: the state belongs to another call or has expired, or an answer is not valid.
        """
        params: Any = received.raw_params
        requester = received.requester
        record = self._opened(state, received.name, params, requester)
        waiting = {key: _type_of(asked.method, requester) for key, asked in record.questions.items() if asked.is_open}
        given: Any = params.get("inputResponses")
        # Answers to other questions are ignored, so they need not be valid.
        params["inputResponses"] = {key: given[key] for key in read_answers(waiting, params, requester)}
        return False

    async def recorded(self, call: Call, name: str, effect: Effect) -> Any:
        """Do a piece of work, or return its recorded result; see `ResultQuestions`."""
        run = self._runs.get(call)
        return await (run.recorded(name, effect) if run is not None else super().recorded(call, name, effect))

    def _replaying(self, handler: Handler) -> Handler:
        async def replay(params: Any, ctx: Context[Any]) -> Any:
            exchange = ctx.exchange
            run = Replay(exchange, await self._recorded(exchange))
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
        """Return the record of the call, with the answers that `resume` accepted.

        Raises:
            PeerError: the sender lacks a scope, the state was used before, or whether it was cannot be determined.
        """
        params, spent = exchange.raw_params, self._settings.spent
        state: Any = params.get("requestState")
        if state is None:
            return Record()
        record = self._opened(state, exchange.method.name, params, exchange.requester)
        if spent is not None:  # A retry that is refused for its scopes must not use up the state.
            exchange.require(sorted(exchange.requester.answers.needed(exchange.method.name, params)))
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
            return await bounded(
                spent.spend(digest_of({"state": state}).hex(), until, exchange.requester.peer), SPENT_TIMEOUT
            )
        except Exception as error:
            reason = clipped(f"{type(error).__name__}: {error}" if str(error) else type(error).__name__)
            text = "whether the requestState of %s was used cannot be found out: %s"
            self._connection.log_limited(logging.ERROR, text, exchange.method.name, reason)
            raise PeerError(INTERNAL_ERROR, "used requestStates cannot be checked now; try again later") from None

    def _opened(self, state: Any, method: str, params: Mapping[str, Any], requester: Requester) -> Record:
        try:
            if not isinstance(state, str) or len(state) > self._settings.max_bytes:
                raise Unsealable("not a sealed state")
            record = Record.decode(self._seal.open(state, self._bound(method, params, requester)))
        except Unsealable as error:
            self._connection.log_limited(logging.WARNING, "the requestState of %s was refused: %s", method, error)
            raise unknown_state() from None
        if record.until <= sources.wall():
            raise unknown_state()
        return record

    def _asked(self, run: Replay, exchange: Exchange) -> Any:
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
        record.until = sources.wall() + settings.expiry
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
        self._connection.log_limited(logging.ERROR, text, exchange.method.name, *args)
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
    method = request_of(requester.binding.methods, name)
    return method, method.result


async def _ended(task: "asyncio.Future[Any]") -> None:
    """Cancel a handler's task unless it has ended, and wait for its end; its outcome no longer matters."""
    if not task.done():
        task.cancel("the handler is replayed when the client has answered")
        await asyncio.wait((task,))
    if not task.cancelled():
        task.exception()  # or asyncio logs that nobody has retrieved it
