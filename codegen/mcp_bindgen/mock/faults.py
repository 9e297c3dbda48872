"""What a mock does wrong on request, such as ``delay=2:search`` or ``disconnect@3``: KIND[=SECONDS][:TARGET][@N]."""

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from mcp_bindgen.ir.diagnostics import InputError, clip
from mcp_bindgen.ir.json_values import is_object
from mcp_bindgen.mock.exact import exact

if TYPE_CHECKING:
    from mcp_runtime.core.handlers import ServerHandlers

KINDS: Final = ("changed", "delay", "disconnect", "error", "lost-session", "malformed")
MAX_DELAY: Final = 3600.0
"""The longest delay, in seconds."""
_SPELLED: Final = re.compile(r"([a-z-]+)(?:=([0-9.]{1,9}))?(?::(\S{1,256}?))?(?:@([1-9][0-9]{0,8})(\+?))?")
_CALL: Final = "tools/call"
_BREAKING: Final = frozenset(("disconnect", "malformed"))
_IN_HTTP: Final = _BREAKING | {"lost-session"}
_MALFORMED: Final = b'{"jsonrpc":"2.0","id":%b,"result":{"content":[{"type":"te'
_LOST: Final = b'{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}'
_SESSION: Final = b"mcp-session-id"
App = Callable[[Any, Callable[[], Awaitable[Any]], Callable[[Any], Awaitable[None]]], Awaitable[None]]


@dataclass(slots=True)
class Fault:
    """One fault, and how often its target was called.

    Attributes:
        kind: what goes wrong.
        seconds: of a delay.
        target: a tool or a method.
        first: the number of the first call that it happens to.
        last: the number of the last one.
        seen: how many calls there were.
    """

    kind: str
    seconds: float
    target: str
    first: int
    last: float
    seen: int = 0

    @classmethod
    def of(cls, text: str) -> "Fault":
        """Read a fault.

        Raises:
            InputError: it is none.
        """
        match = _SPELLED.fullmatch(text)
        if match is None or match[1] not in KINDS or (match[2] is not None) is not (match[1] == "delay"):
            form = f"KIND[:TOOL][@N], with a KIND of {', '.join(KINDS)}; a delay is delay=SECONDS"
            raise InputError.at("--fault", f"{clip(text, 60)!r} is not {form}")
        try:
            seconds = float(match[2] or 0)
        except ValueError:
            seconds = MAX_DELAY + 1
        if seconds > MAX_DELAY:
            raise InputError.at("--fault", f"{match[2]} is not a number of seconds up to {MAX_DELAY:g}")
        first = int(match[4] or 1)
        return cls(match[1], seconds, match[3] or _CALL, first, first if match[4] and not match[5] else float("inf"))


class Faults:
    """All faults of one mock.

    Args:
        faults: the faults.
        over_http: whether the mock is served over HTTP, where `over` breaks what is below messages.
    """

    def __init__(self, faults: Sequence[Fault], *, over_http: bool = False) -> None:
        self._faults = faults
        self._gone: set[str] = set()
        self._lost: set[bytes] = set()
        self._here = frozenset(KINDS) - (_IN_HTTP if over_http else {"lost-session"})
        self.changes = any(fault.kind == "changed" for fault in faults)

    @classmethod
    def of(cls, texts: Sequence[str], *, over_http: bool = False) -> "Faults":
        """Read faults.

        Raises:
            InputError: one of them is none, or needs HTTP.
        """
        found = [Fault.of(text) for text in texts]
        if not over_http and any(fault.kind == "lost-session" for fault in found):
            raise InputError.at("--fault", "lost-session is for --http; there are no sessions over stdio")
        return cls(found, over_http=over_http)

    def _due(self, kinds: Collection[str], method: str, tool: str | None) -> list[Fault]:
        """Count a call for each fault that it is the target of, and return those that happen to it."""
        targets = (method, tool) if method == _CALL else (method,)
        meant = [fault for fault in self._faults if fault.kind in kinds and fault.target in targets]
        for fault in meant:
            fault.seen += 1
        return [fault for fault in meant if fault.first <= fault.seen <= fault.last]

    async def around(self, server: "ServerHandlers", exchange: Any, proceed: Callable[[], Awaitable[Any]]) -> Any:
        """Answer one request of a client, or let it go wrong."""
        from mcp_runtime.core.changes.subscriptions import list_changed
        from mcp_runtime.core.errors import PeerError
        from mcp_runtime.core.protocol.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS

        method, tool = exchange.method.name, getattr(exchange.params, "name", None)
        tag = server.__binding__.result_tag
        for fault in self._due(self._here, method, tool):
            match fault.kind:
                case "delay":
                    await asyncio.sleep(fault.seconds)
                case "error":
                    content = [{"type": "text", "text": f"{tool or method} failed, as --fault says"}]
                    return exact({**({tag: "complete"} if tag else {}), "content": content, "isError": True})
                case "changed":
                    self._gone.add(str(tool))
                    await list_changed(server, "tools")
                case "malformed":
                    exchange.channel.send(_MALFORMED % json.dumps(exchange.id).encode())
                    await asyncio.Event().wait()
                case _:
                    await exchange.connection.aclose("disconnected, as --fault says")
                    raise PeerError(INTERNAL_ERROR, "disconnected")  # which nobody gets
        if method == _CALL and tool in self._gone:
            raise PeerError(INVALID_PARAMS, f"Unknown tool: {clip(str(tool), 100)}")
        result = await proceed()
        if method == "tools/list" and self._gone:
            tools = [each for each in result.root["tools"] if each.get("name") not in self._gone]
            return exact({**result.root, "tools": tools})
        return result

    def over(self, app: App) -> App:
        """Return an ASGI application whose connections, sessions and answers break."""

        async def broken(
            scope: Any, receive: Callable[[], Awaitable[Any]], send: Callable[[Any], Awaitable[None]]
        ) -> None:
            if scope["type"] != "http":
                await app(scope, receive, send)
                return
            events = [await receive()]
            while events[-1].get("more_body"):
                events.append(await receive())
            session = dict(scope["headers"]).get(_SESSION, b"")
            kinds, id_ = self._kinds(b"".join(event.get("body", b"") for event in events))
            if "lost-session" in kinds and session:
                self._lost.add(session)
            if session and session in self._lost:
                await _answer(send, 404, _LOST, len(_LOST))
            elif kinds & _BREAKING:
                text = _MALFORMED % id_
                # An answer that is shorter than it says ends with the connection.
                await _answer(send, 200, text, len(text) if "malformed" in kinds else 2 * len(text))
            else:
                await app(scope, _again(events, receive), send)

        return broken

    def _kinds(self, body: bytes) -> tuple[set[str], bytes]:
        """Return what goes wrong with a message below the messages, and its id."""
        try:
            message: Any = json.loads(body)
        except (ValueError, RecursionError):
            return set(), b""
        if not is_object(message) or "id" not in message:
            return set(), b""
        params = message.get("params")
        tool = params.get("name") if is_object(params) else None
        kinds = {fault.kind for fault in self._due(_IN_HTTP, str(message.get("method")), tool)}
        return kinds, json.dumps(message["id"]).encode()


def _again(events: list[Any], receive: Callable[[], Awaitable[Any]]) -> Callable[[], Awaitable[Any]]:
    """Return what receives events again that were received before."""

    async def received() -> Any:
        return events.pop(0) if events else await receive()

    return received


async def _answer(send: Callable[[Any], Awaitable[None]], status: int, body: bytes, length: int) -> None:
    headers = [(b"content-type", b"application/json"), (b"content-length", str(length).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": length > len(body)})
