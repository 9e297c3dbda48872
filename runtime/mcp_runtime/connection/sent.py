"""Whether outgoing messages are what the protocol allows, for `Limits.check_sent`."""

import json
from typing import Any

from mcp_runtime.connection.requester import Requester
from mcp_runtime.errors import LocalProtocolError, RemoteProtocolError
from mcp_runtime.method import AnyMethod, WireType
from mcp_runtime.protocol.validation import Reader


def check_sent(
    types: tuple[WireType[Any], ...], encoded: bytes, sent: AnyMethod, part: str, requester: Requester
) -> None:
    """Validate an outgoing part as a strict peer would.

    Args:
        types: one of them must accept it.
        encoded: the encoded part.
        sent: the method that it belongs to.
        part: ``params`` or ``result``.
        requester: what is known of the peer.

    Raises:
        LocalProtocolError: no type accepts it.
    """
    method = sent.name
    if requester.wire is not None:
        types = requester.wire.types(sent, part)
    reader = Reader(requester.revision, lenient=False, report=_nobody)
    failures: list[RemoteProtocolError] = []
    for type_ in types:
        try:
            reader.read(type_, json.loads(encoded), method)
        except RemoteProtocolError as error:
            failures.append(error)
        else:
            return
    first = failures[0]
    raise LocalProtocolError(revision=first.revision, method=method, pointer=first.pointer, reason=first.reason)


def _nobody(error: RemoteProtocolError) -> None:
    """Ignore a report: a strict reader repairs nothing."""
