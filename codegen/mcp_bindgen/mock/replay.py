"""A server made from a recorded session: it answers each call as the recorded server did."""

from collections import defaultdict
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from mcp_bindgen.ir.diagnostics import clip
from mcp_bindgen.ir.json_values import is_object
from mcp_bindgen.live.bindings import package_of
from mcp_bindgen.live.mask import message_mask
from mcp_bindgen.mock.exact import canonical, exact
from mcp_bindgen.mock.session import OWN, Round, Session

if TYPE_CHECKING:
    from mcp_runtime.core.handlers import ServerHandlers

MAX_SHOWN: Final = 200
"""How many characters of a call an error shows."""
_VOLATILE: Final = ("_meta", "inputResponses", "requestState")
"""The properties of params that do not tell calls apart."""
_INPUT: Final = "input_required"
_CHANGED: Final = "/list_changed"
_AREAS: Final = ("tools", "prompts", "resources")
_NAMED: Final = frozenset(("name", "version", "title"))


class Tape:
    """The recorded rounds, and which of them come next.

    Args:
        session: the session.
        unrecorded: gets why calls were refused that it does not have.
    """

    def __init__(self, session: Session, unrecorded: list[str]) -> None:
        from mcp_runtime.core.method import RequestMethod

        self._binding: Any = package_of(session.revision).BINDING
        self._mask = message_mask()
        self._unrecorded = unrecorded
        self._calls: dict[str, dict[str, list[list[Round]]]] = defaultdict(dict)
        self._played: dict[tuple[str, str], int] = defaultdict(int)
        self._suspended: dict[str, list[Round]] = {}
        for each in session.rounds:
            if not isinstance(self._binding.methods.get(each.method), RequestMethod):
                self._calls[each.method].setdefault("", []).append([each])
                continue
            calls = self._calls[each.method].setdefault(self._key(each.method, each.params), [])
            begun = [call for call in calls if _asks(call[-1], each.params)]
            if begun:  # a retry, with the input that the call asked for
                begun[0].append(each)
            else:
                calls.append([each])

    def __contains__(self, method: str) -> bool:
        return method in self._calls

    def begun(self, method: str) -> Round | None:
        """Return what a notification of the client led to."""
        calls = self._calls.get(method, {}).get("", [])
        number = self._played[method, ""]
        self._played[method, ""] += 1
        return calls[number][0] if number < len(calls) else None

    def next(self, method: str, params: Mapping[str, Any]) -> Round:
        """Return the recorded round for a request: that of the next equal call, or its last one if there are no more.

        Raises:
            PeerError: the session has no such call.
        """
        from mcp_runtime.core.errors import PeerError
        from mcp_runtime.core.protocol.jsonrpc import INVALID_PARAMS

        if (after := self.after(params)) is not None:
            return after
        key = self._key(method, params)
        calls = self._calls.get(method, {}).get(key)
        if calls is None:
            reason = self._reason(method, key)
            self._unrecorded.append(reason)
            raise PeerError(INVALID_PARAMS, reason)
        number = min(self._played[method, key], len(calls) - 1)
        self._played[method, key] += 1
        return self._playing(calls[number])

    def after(self, suspended: Mapping[str, Any]) -> Round | None:
        """Return the round that follows a result that asks for input, or the params of the retry; None if none does."""
        state = suspended.get("requestState")
        rest = self._suspended.pop(state, None) if isinstance(state, str) else None
        return None if rest is None else self._playing(rest)

    def _playing(self, rounds: list[Round]) -> Round:
        state: Any = rounds[0].result.get("requestState")
        if len(rounds) > 1:
            self._suspended[str(state)] = rounds[1:]
        return rounds[0]

    def _key(self, method: str, params: Mapping[str, Any]) -> str:
        """Return what equal calls have in common: their params, as the method's type reads and writes them."""
        spec = self._binding.methods[method]
        read: Any = params
        if spec.params is not None:
            from pydantic import ValidationError

            with suppress(ValidationError):
                read = spec.params.build(params).model_dump(mode="json")
        masked: dict[str, Any] = self._mask.mask({name: read[name] for name in read if name not in _VOLATILE})
        return canonical(masked)

    def _reason(self, method: str, key: str) -> str:
        recorded = self._calls.get(method, {})
        text = f"the session has no call of {method} with {clip(key, MAX_SHOWN)}"
        if not recorded:
            return f"{text}; it has none of this method"
        others = "; ".join(clip(other, MAX_SHOWN) for other in list(recorded)[:3])
        return f"{text}; it has {len(recorded)}: {others}"


def _asks(before: Round, params: Mapping[str, Any]) -> bool:
    """Whether a round asked for the input that these params have."""
    state = before.result.get("requestState")
    answers = "inputResponses" in params or "requestState" in params
    return before.result.get("resultType") == _INPUT and answers and params.get("requestState") == state


def session_server(session: Session, unrecorded: list[str]) -> "ServerHandlers":
    """Return a server that answers as in a recorded session.

    Args:
        session: the session.
        unrecorded: gets why calls were refused that the session does not have.
    """
    from mcp_runtime.core.method import RequestMethod
    from mcp_runtime.core.protocol.capabilities import declares
    from mcp_runtime.core.settings import ServerOptions

    package = package_of(session.revision)
    tape = Tape(session, unrecorded)
    capabilities = session.capabilities
    handlers: dict[str, Any] = {}
    for name, python in package.Server.__handlers__.items():
        method = package.BINDING.methods[name]
        is_request = isinstance(method, RequestMethod)
        needed = (method.capability or "").removeprefix("server.")
        is_declared = is_request and bool(needed) and declares(capabilities, needed)
        if name not in OWN and (name in tape or is_declared):
            handlers[python] = _answering(tape, name) if is_request else _listening(tape, name)
    server: ServerHandlers = type("Recorded", (package.Server,), handlers)()
    info = {name: str(session.info[name]) for name in _NAMED if name in session.info}
    server.options = ServerOptions(
        name=info.get("name", "recorded"),
        version=info.get("version", ""),
        title=info.get("title", ""),
        instructions=session.instructions,
        capabilities=capabilities,
        logging="logging" in capabilities,
        list_changed=frozenset(area for area in _AREAS if _flag(capabilities, area, "listChanged")),
        resource_updates=_flag(capabilities, "resources", "subscribe"),
        inputs=None if package.BINDING.era == "modern" else ServerOptions().inputs,
        progress_rate=None,
        log_rate=None,
    )
    return server


def _flag(capabilities: Mapping[str, Any], area: str, name: str) -> bool:
    found = capabilities.get(area)
    return is_object(found) and found.get(name) is True


def _answering(tape: Tape, name: str) -> Any:
    """Return the handler of a request."""

    async def answer(self: Any, params: Any, ctx: Any) -> Any:
        from asyncio import Event

        from mcp_runtime.core.errors import PeerError
        from mcp_runtime.core.protocol.jsonrpc import INTERNAL_ERROR

        recorded = tape.next(name, {} if params is None else params.model_dump(mode="json"))
        while not _is_askable(recorded, ctx) and (after := tape.after(recorded.result)) is not None:
            recorded = after
        for message in recorded.before:
            await _send(self, message, ctx)
        if recorded.after:
            ctx.connection.spawn(_send_all(self, recorded, ctx))
        error: Any = (recorded.answer or {}).get("error")
        if is_object(error):
            raise PeerError(error.get("code", INTERNAL_ERROR), str(error.get("message", "")), error.get("data"))
        if recorded.answer is None and recorded.is_cancelled:
            await Event().wait()
        if recorded.answer is None:
            raise PeerError(INTERNAL_ERROR, f"the session ends before the answer to line {recorded.line}")
        if recorded.result.get("resultType") == _INPUT and ctx.requester.wire is not None:
            return self.__binding__.methods[name].results[_INPUT].validate(recorded.result)
        return exact(recorded.result)

    return answer


def _is_askable(recorded: Round, ctx: Any) -> bool:
    """Whether the client's revision has the requests for input of a round; other clients get what came after it."""
    asked: Any = recorded.result.get("inputRequests")
    if recorded.result.get("resultType") != _INPUT or ctx.requester.wire is None or not is_object(asked):
        return True
    known = ctx.requester.wire.binding.methods
    return all(is_object(each) and each.get("method") in known for each in asked.values())


def _listening(tape: Tape, name: str) -> Any:
    """Return the handler of a notification."""

    async def listen(self: Any, params: Any, ctx: Any) -> None:
        if (recorded := tape.begun(name)) is not None:
            await _send_all(self, recorded, ctx)

    return listen


async def _send_all(server: Any, recorded: Round, ctx: Any) -> None:
    for message in recorded.after:
        await _send(server, message, ctx)


async def _send(server: Any, message: Mapping[str, Any], ctx: Any) -> None:
    """Send what the recorded server sent; a client that cannot receive it, or refuses, does not change the answer."""
    from mcp_runtime.core.changes.subscriptions import list_changed, resource_updated
    from mcp_runtime.core.errors import McpError

    given: Any = message.get("params")
    name, params = str(message.get("method")), dict(given) if is_object(given) else {}
    method = server.__binding__.methods.get(name)
    with suppress(McpError, ValueError, KeyError):
        if name == "notifications/progress":
            await ctx.report_progress(params["progress"], params.get("total"), params.get("message"))
        elif name == "notifications/message":
            await ctx.log(params["level"], params.get("data"), logger=params.get("logger"))
        elif name.endswith(_CHANGED):
            await list_changed(server, name.removesuffix(_CHANGED).removeprefix("notifications/"))
        elif name == "notifications/resources/updated":
            await resource_updated(server, params["uri"])
        elif method is not None and name != "notifications/cancelled":
            if is_object(meta := params.get("_meta")):
                params["_meta"] = {key: value for key, value in meta.items() if key != "progressToken"}
            typed = None if method.params is None or given is None else method.params.build(params)
            if "id" in message:
                await ctx.connection.request(method, typed, None)
            else:
                await ctx.connection.notify(method, typed)
