"""What the modern era sends with each request and the legacy era at the start of a session."""

import json
from collections.abc import Mapping
from typing import Any, Final

from mcp_runtime.core.json.values import is_object
from mcp_runtime.core.protocol import names
from mcp_runtime.core.protocol.jsonrpc import INVALID_PARAMS, dump

_RESOURCE_NOT_FOUND: Final = -32002
"""The error code for it in the legacy era; the modern one uses -32602 for any invalid params."""
NEEDLESS: Final = frozenset(
    (
        names.NOTIFICATIONS_INITIALIZED,
        names.NOTIFICATIONS_ROOTS_LIST_CHANGED,
        names.NOTIFICATIONS_ELICITATION_COMPLETE,
    )
)
"""The notifications of the legacy era that have no meaning in the modern one."""
_SAID: Final = frozenset((names.VERSION, names.CLIENT_INFO, names.CLIENT_CAPABILITIES, names.LOG_LEVEL))
_MARK: Final = f'"{names.PREFIX}'.encode()


def modern_code(code: int) -> int:
    """Return the modern-era code of an error of the legacy era."""
    return INVALID_PARAMS if code == _RESOURCE_NOT_FOUND else code


def legacy_code(code: int, method: str, data: object) -> int:
    """Return the legacy-era code of an error of the modern era, which uses another one for missing resources."""
    is_missing = code == INVALID_PARAMS and method == names.RESOURCES_READ and is_object(data) and "uri" in data
    return _RESOURCE_NOT_FOUND if is_missing else code


def with_meta(params: bytes, meta: Mapping[str, Any]) -> bytes:
    """Return params as JSON, with the sender's information that every request of the modern era carries."""
    if b'"_meta"' not in params:
        return b'{"_meta":%b%b%b' % (dump(meta), b"," if params != b"{}" else b"", params[1:])
    value: dict[str, Any] = json.loads(params)
    given: Any = value.get("_meta")
    value["_meta"] = {**(given if is_object(given) else {}), **meta}
    return dump(value)


def said_in(params: dict[str, Any], meta: Mapping[str, Any]) -> dict[str, Any]:
    """Return params that arrived in a session, with the sender's information of the modern era."""
    given: Any = params.get("_meta", {})
    return {**params, "_meta": {**given, **meta}} if is_object(given) else params


def without_meta(params: bytes) -> tuple[bytes, str]:
    """Return params as JSON without what only modern requests carry, and the log level that was among it.

    A server of both eras would take a request with this information for one of the modern era.
    """
    if _MARK not in params:
        return params, ""
    value: dict[str, Any] = json.loads(params)
    given: Any = value.get("_meta")
    if not is_object(given):
        return params, ""
    level: Any = given.get(names.LOG_LEVEL)
    rest = {name: said for name, said in given.items() if name not in _SAID}
    value["_meta"] = rest
    if not rest:
        del value["_meta"]
    return dump(value), level if isinstance(level, str) else ""
