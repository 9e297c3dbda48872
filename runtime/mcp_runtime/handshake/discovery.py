"""Detects the era of a server by asking which revisions it supports (2026-07-28, basic/transports/stdio).

A client of both eras asks once, before anything else. Legacy servers refuse the question with any error code, stay
silent, or crash; all of that only means that they are legacy servers.
"""

from collections.abc import Collection, Mapping
from typing import Any, Final

from mcp_runtime.connection.connection import Connection
from mcp_runtime.errors import PeerError, RemoteProtocolError, RequestTimeout, UnsupportedRevision, clipped
from mcp_runtime.method import RequestMethod
from mcp_runtime.options import CallOptions
from mcp_runtime.protocol import modern
from mcp_runtime.protocol.jsonrpc import is_array, is_object
from mcp_runtime.protocol.names import SERVER_DISCOVER

MODERN_ERRORS: Final = frozenset((modern.HEADER_MISMATCH, modern.MISSING_CAPABILITY, modern.UNSUPPORTED_VERSION))
"""The error codes that only modern-era servers use."""


class NotModern(Exception):
    """The server did not answer like a modern-era server; the text says what it did instead.

    Attributes:
        is_answer: whether it answered at all.
    """

    def __init__(self, text: str, *, is_answer: bool = True) -> None:
        super().__init__(text)
        self.is_answer = is_answer


async def discover(connection: Connection, meta: Mapping[str, Any], timeout: float | None) -> Mapping[str, Any]:
    """Ask a server for its revisions and capabilities; return the result, keyed by wire names.

    Args:
        connection: the connection, bound to the revision of the question.
        meta: the `_meta` of the request.
        timeout: seconds to wait; None for the default of the connection.

    Raises:
        NotModern: the server is of the legacy era.
        PeerError: the server is of the modern era, and refuses the request.
        ConnectionClosed: the connection ended.
    """
    assert connection.requester.spoken is not None
    method = connection.requester.spoken.methods[SERVER_DISCOVER]
    assert isinstance(method, RequestMethod) and method.params is not None
    try:
        found = await connection.request(
            method, method.params.build({"_meta": dict(meta)}), CallOptions(timeout=timeout)
        )
    except PeerError as error:
        if error.code in MODERN_ERRORS:
            raise
        raise NotModern(f"the server answered {SERVER_DISCOVER} with an error: {clipped(str(error), 200)}") from error
    except RequestTimeout as error:
        reason = f"the server did not answer {SERVER_DISCOVER} within {error.seconds:g} s"
        raise NotModern(reason, is_answer=False) from error
    except RemoteProtocolError as error:
        raise NotModern(f"the server's answer to {SERVER_DISCOVER} is not valid: {error.reason}") from error
    result: dict[str, Any] = found.model_dump(mode="json")
    return result


def supported(data: object, name: str = "supported") -> tuple[str, ...]:
    """Return the revisions that a server lists, in a result or in the data of an error."""
    listed: Any = data.get(name) if is_object(data) else None
    if not is_array(listed):
        return ()
    return tuple(clipped(item, 64) for item in listed if isinstance(item, str))


def newest(offered: Collection[str], spoken: Collection[str], wanted: Collection[str]) -> str:
    """Return the newest common revision.

    Args:
        offered: the revisions that the server supports.
        spoken: the revisions that this side may choose from now.
        wanted: all revisions that this side supports.

    Raises:
        UnsupportedRevision: there is none.
    """
    common = set(offered) & set(spoken)
    if not common:
        raise UnsupportedRevision(tuple(sorted(wanted)), tuple(offered))
    return max(common)
