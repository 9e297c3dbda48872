"""The modern era (2026-07-28, basic/index): no handshake; every request carries its sender's information.

Requests are independent of each other, so an id has a meaning only on the channel that it came over.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from mcp_runtime.core.errors import LocalProtocolError
from mcp_runtime.core.json.values import is_object, spell_pointer
from mcp_runtime.core.protocol.jsonrpc import dump, meta_of

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
"""The error code for a request that needs a capability which its sender did not declare."""
UNSUPPORTED_VERSION: Final = -32022
"""The error code for a request in a revision that the server does not support."""


def pointer(name: str) -> str:
    """Return the location of a property of `_meta` in params, as a JSON pointer."""
    return spell_pointer(("_meta", name))


def stamp(info: Mapping[str, Any]) -> bytes:
    """Return the beginning of each result of a server as JSON, with the server's name."""
    return b'{"_meta":%b,' % dump({SERVER_INFO: info})


def stamped(result: bytes, stamp: bytes, tag: str) -> bytes:
    """Return a result with the server's name in its `_meta`, in addition to what is there.

    Args:
        result: the result as JSON.
        stamp: see `stamp`.
        tag: the property that marks it as complete, unless it is set already; empty to add none.
    """
    value: dict[str, Any] = json.loads(result)
    own: dict[str, Any] = json.loads(stamp[:-1] + b"}")["_meta"]
    given: Any = value.get("_meta")
    value["_meta"] = {**own, **given} if is_object(given) else own
    return dump({tag: "complete", **value} if tag else value)


def is_modern(value: Any) -> bool:
    """Whether a parsed message is a call of the modern era: one whose `_meta` names its sender's revision."""
    return value.__class__ is dict and VERSION in meta_of(value.get("params"))


def merged(required: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the `_meta` of a request: what each must carry, overridden by what is given for this one.

    A request may declare other capabilities than the ones before it, since it is independent; but its answer is read in
    the revision of the connection.

    Raises:
        LocalProtocolError: another revision is given.
    """
    spoken, named = required.get(VERSION), given.get(VERSION)
    if named is not None and spoken is not None and named != spoken:
        reason = f"{named} is not the revision in use; open a client of that revision, or omit this"
        raise LocalProtocolError(revision=spoken, method=None, pointer=pointer(VERSION), reason=reason)
    return {**required, **given}
