"""The HTTP status of each error that a request of the modern era is answered with."""

import re
from collections.abc import Mapping
from typing import Final

from mcp_runtime.protocol import jsonrpc, modern

STATUSES: Final[Mapping[int, int]] = {
    jsonrpc.PARSE_ERROR: 400,
    jsonrpc.INVALID_REQUEST: 400,
    jsonrpc.INVALID_PARAMS: 400,
    jsonrpc.METHOD_NOT_FOUND: 404,
    modern.HEADER_MISMATCH: 400,
    modern.MISSING_CAPABILITY: 400,
    modern.UNSUPPORTED_VERSION: 400,
}
"""Codes of errors and their statuses; an answer with any other code has the status 200."""

_ERROR: Final = re.compile(rb'\{"jsonrpc":"2\.0",(?:"id":(?:-?\d+|null|"(?:[^"\\]|\\.)*"),)?"error":\{"code":(-?\d+)')


def status_of(answer: bytes) -> int:
    """Return the status of an answer, which the runtime itself has written."""
    found = _ERROR.match(answer)
    return STATUSES.get(int(found[1]), 200) if found else 200
