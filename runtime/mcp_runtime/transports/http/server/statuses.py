"""The checks of a modern-era request, in order, and the HTTP status for each failure."""

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from mcp_runtime.protocol import jsonrpc, modern


class Check(NamedTuple):
    """A check of a request.

    Attributes:
        fault: what is wrong with a request that fails it.
        status: the HTTP status of the answer.
        code: the error code in the answer; -32600 where no message was read yet.
    """

    fault: str
    status: int
    code: int = jsonrpc.INVALID_REQUEST


CHECKS: Final = (
    Check("the headers are too large", 431),
    Check("`Host` or `Origin` is not allowed", 403),
    Check("the endpoint does not support the HTTP method", 405),
    Check("`Content-Type` is not JSON", 415),
    Check("`Accept` does not name both types", 406),
    Check("the body is too large", 413),
    Check("the body is not JSON", 400, jsonrpc.PARSE_ERROR),
    Check("the body is not one request or notification", 400, jsonrpc.INVALID_REQUEST),
    Check("`_meta` names no revision", 400, jsonrpc.INVALID_PARAMS),
    Check("`MCP-Protocol-Version` is missing or differs from `_meta`", 400, modern.HEADER_MISMATCH),
    Check("the revision is not supported", 400, modern.UNSUPPORTED_VERSION),
    Check("the rest of `_meta` is not valid", 400, jsonrpc.INVALID_PARAMS),
    Check("`Mcp-Method` or `Mcp-Name` is missing or differs from the body", 400, modern.HEADER_MISMATCH),
    Check("there is no such method", 404, jsonrpc.METHOD_NOT_FOUND),
    Check("the params are not valid", 400, jsonrpc.INVALID_PARAMS),
    Check("an `Mcp-Param-*` is missing or differs from the arguments", 400, modern.HEADER_MISMATCH),
    Check("the client lacks a capability", 400, modern.MISSING_CAPABILITY),
)
"""The checks in order: if a request has several faults, the first one is answered.

Until the revision is known to be supported, only what future revisions will have as well is checked.
"""

STATUSES: Final[Mapping[int, int]] = {check.code: check.status for check in CHECKS if check.status in (400, 404)}
"""Error codes and their statuses, wherever they were raised; answers with any other code have the status 200."""

_ID: Final = rb'-?\d++|null|"[^"\\]*+(?:\\.[^"\\]*+)*+"'
"""Possessive, since what a regular expression keeps to go back takes a hundred times as much memory as a long id."""
_ERROR: Final = re.compile(rb'\{"jsonrpc":"2\.0",(?:"id":(?:%b),)?"error":\{"code":(-?\d+)' % _ID)


def status_of(answer: bytes) -> int:
    """Return the status of an answer that the runtime has written."""
    found = _ERROR.match(answer)
    return STATUSES.get(int(found[1]), 200) if found else 200
