"""Whether outgoing messages are what the capabilities and the protocol allow."""

import json
from functools import lru_cache
from typing import Any

from pydantic import BaseModel

from mcp_runtime.connection.requester import Requester
from mcp_runtime.errors import LocalProtocolError, MissingCapability, RemoteProtocolError
from mcp_runtime.method import AnyMethod, WireType
from mcp_runtime.protocol.validation import Reader


def check_capabilities(method: AnyMethod, params: Any, requester: Requester) -> None:
    """Check the capabilities that an outgoing message needs.

    Args:
        method: the method of the message.
        params: its params; None if it has none.
        requester: the recipient.

    Raises:
        MissingCapability: one of them was not declared.
        LocalProtocolError: the revision in use has no such message.
    """
    if requester.wire is not None:
        requester.wire.check(method)
    if method.capability and method.name not in requester.may_send:
        raise MissingCapability(method.capability, method.name)
    if method.gated and params is not None:
        for attribute, member, path in _gated(method, params.__class__):
            if getattr(params, attribute) is not None and not requester.is_open(path, requester.side):
                raise MissingCapability(path, f"{member} of {method.name}")


@lru_cache(maxsize=256)
def _gated(method: AnyMethod, params: type[BaseModel]) -> tuple[tuple[str, str, str], ...]:
    """Return the attribute, the property and the capability for each property that needs one."""
    return tuple(
        (attribute, wire_name, method.gated[wire_name])
        for attribute, field in params.model_fields.items()
        if (wire_name := field.alias or attribute) in method.gated
    )


def check_sent(
    types: tuple[WireType[Any], ...], encoded: bytes, sent: AnyMethod, part: str, requester: Requester
) -> None:
    """Validate an outgoing part as a strict peer would, for `Limits.check_sent`.

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
