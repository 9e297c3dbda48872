"""What a request of the modern era repeats of its body in HTTP headers (2026-07-28, basic/transports/streamable-http).

Proxies and balancers read these headers in place of the body. A server checks that both say the same.
"""

import base64
import binascii
import re
from collections.abc import Mapping
from typing import Any, Final

from mcp_runtime.protocol import modern
from mcp_runtime.protocol.names import PROMPTS_GET, RESOURCES_READ, TOOLS_CALL

VERSION: Final = "mcp-protocol-version"
METHOD: Final = "mcp-method"
NAME: Final = "mcp-name"
NAMED_BY: Final[Mapping[str, str]] = {TOOLS_CALL: "name", PROMPTS_GET: "name", RESOURCES_READ: "uri"}
"""The methods that have an `Mcp-Name` header, and the property of the params that it repeats."""

_PLAIN: Final = re.compile(r"(?:[!-~](?:[ -~]*[!-~])?)?")
"""A value that a header carries as it is: visible ASCII, with blanks inside only."""
_SENDABLE: Final = re.compile(r"[\t -~]*")
_ENCODED: Final = re.compile(r"=\?base64\?(.*)\?=", re.DOTALL)


def standard_headers(method: str, params: Mapping[str, Any]) -> dict[str, str]:
    """Return the headers that every request has, by their names in lower case."""
    headers = {VERSION: str(params["_meta"][modern.VERSION]), METHOD: method}
    name = params.get(NAMED_BY[method]) if method in NAMED_BY else None
    if isinstance(name, str):
        headers[NAME] = encoded(name)
    return headers


def encoded(value: str) -> str:
    """Return a text as the value of `Mcp-Name` or of a header for a parameter: in base64 if HTTP does not carry it."""
    if _PLAIN.fullmatch(value) and not _ENCODED.fullmatch(value):
        return value
    return f"=?base64?{base64.b64encode(value.encode()).decode('ascii')}?="


def decoded(value: str) -> str:
    """Return the text that a header carries.

    Raises:
        ValueError: it has characters that headers must not have, or is said to be base64 of a text and is not.
    """
    if not _SENDABLE.fullmatch(value):
        raise ValueError("the value has characters that a header must not have")
    found = _ENCODED.fullmatch(value)
    if found is None:
        return value
    try:
        data = base64.b64decode(found[1], validate=True)
        text = data.decode()
    except (binascii.Error, UnicodeDecodeError):
        raise ValueError("the value is not base64 of UTF-8") from None
    if base64.b64encode(data).decode("ascii") != found[1]:
        raise ValueError("the value is not base64 in its usual form")
    return text
