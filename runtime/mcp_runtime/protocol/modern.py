"""The modern era (2026-07-28, basic/index): no handshake, and every request says what its sender speaks and can do.

Requests are independent of each other, so that an id means something only on the channel that it came over.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from mcp_runtime.errors import LocalProtocolError
from mcp_runtime.protocol.events import Cancelled, Incoming
from mcp_runtime.protocol.jsonrpc import Id, Key, Request, dump, is_object
from mcp_runtime.protocol.legacy import Side, State, Step
from mcp_runtime.protocol.names import NOTIFICATIONS_CANCELLED
from mcp_runtime.protocol.session import Session, progress_token

PREFIX: Final = "io.modelcontextprotocol/"
VERSION: Final = f"{PREFIX}protocolVersion"
CLIENT_INFO: Final = f"{PREFIX}clientInfo"
CLIENT_CAPABILITIES: Final = f"{PREFIX}clientCapabilities"
SERVER_INFO: Final = f"{PREFIX}serverInfo"
LOG_LEVEL: Final = f"{PREFIX}logLevel"
SUBSCRIPTION_ID: Final = f"{PREFIX}subscriptionId"
HEADER_MISMATCH: Final = -32020
"""The error code of a request whose HTTP headers do not say what its body says."""
MISSING_CAPABILITY: Final = -32021
"""The error code of a request that needs a capability which its sender did not declare."""
UNSUPPORTED_VERSION: Final = -32022
"""The error code of a request in a revision that the server does not speak."""


def pointer(name: str) -> str:
    """Return where in params a property of `_meta` is, as a JSON pointer."""
    return f"/_meta/{name.replace('~', '~0').replace('/', '~1')}"


def stamp(info: Mapping[str, Any]) -> bytes:
    """Return how each result of a server begins, as JSON up to its next property: with the server's name."""
    return b'{"_meta":%b,' % dump({SERVER_INFO: info})


def stamped(result: bytes, stamp: bytes, tag: str) -> bytes:
    """Return a result with the server's name in its `_meta`, beside whatever else is there.

    Args:
        result: the result as JSON.
        stamp: see `stamp`.
        tag: the property by which it says that it is complete, unless it says something else; empty to add none.
    """
    value: dict[str, Any] = json.loads(result)
    own: dict[str, Any] = json.loads(stamp[:-1] + b"}")["_meta"]
    given: Any = value.get("_meta")
    value["_meta"] = {**own, **given} if is_object(given) else own
    return dump({tag: "complete", **value} if tag else value)


def is_modern(value: Any) -> bool:
    """Whether a parsed message is a call of the modern era: one whose `_meta` says what its sender speaks."""
    if value.__class__ is not dict:
        return False
    params: Any = value.get("params")
    meta: Any = params.get("_meta") if params.__class__ is dict else None
    return meta.__class__ is dict and VERSION in meta


def merged(required: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the `_meta` of a request: what each must carry, and what is given for this one, which comes first.

    A request may name other capabilities than the ones before it, since it stands alone; but its answer is read in the
    revision of the connection.

    Raises:
        LocalProtocolError: another revision is given.
    """
    spoken, named = required.get(VERSION), given.get(VERSION)
    if named is not None and spoken is not None and named != spoken:
        reason = f"{named} is not the revision that is spoken; open a client of that revision, or leave this out"
        raise LocalProtocolError(revision=spoken, method=None, pointer=pointer(VERSION), reason=reason)
    return {**required, **given}


class ModernSession(Session):
    """The requests of the modern era that are open at a server, by channel and id."""

    outlives_channels = False

    def __init__(self) -> None:
        super().__init__(Side.SERVER)
        self.state = State.READY
        self.ids_may_be_absent = True

    def _step(self, step: Step) -> None:
        """Go on: a request of the legacy era's handshake is one like any other here."""
        if step is Step.CLOSE:
            super()._step(step)

    @staticmethod
    def key(id_: Id, line: object) -> Key:
        """Return what tells a request apart from those that came over other channels."""
        return (id(line), id_)

    def open(self, request: Request, line: object) -> Key:
        """Take a request whose id is that of no open one on its line; returns its key."""
        key = self.key(request.id, line)
        self.incoming[key] = Incoming(request.id, request.method, progress_token(request.params), None, line)
        return key

    def cancelled(self, value: dict[str, Any], line: object) -> Cancelled | None:
        """Return what a call cancels among the requests that came over the same channel, None if nothing."""
        if value["method"] != NOTIFICATIONS_CANCELLED or "id" in value:
            return None
        params: Any = value.get("params")
        id_: Any = params.get("requestId") if is_object(params) else None
        if type(id_) not in (int, str) or (key := self.key(id_, line)) not in self.incoming:
            return None
        reason: Any = params.get("reason")
        return Cancelled(key, reason if isinstance(reason, str) else None)
