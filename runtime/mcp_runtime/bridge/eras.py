"""What the two eras say in different places: the modern one in each request, the legacy one when a session begins."""

import json
from collections.abc import Mapping
from typing import Any, Final

from mcp_runtime.protocol import modern, names
from mcp_runtime.protocol.jsonrpc import INVALID_PARAMS, dump, is_object

_RESOURCE_NOT_FOUND: Final = -32002
"""The error code for it in the legacy era; the modern one has -32602, for whatever is wrong with params."""
NEEDLESS: Final = frozenset(
    (
        names.NOTIFICATIONS_INITIALIZED,
        names.NOTIFICATIONS_ROOTS_LIST_CHANGED,
        names.NOTIFICATIONS_ELICITATION_COMPLETE,
    )
)
"""The notifications of the legacy era that tell a peer of the modern one nothing."""
_SAID: Final = frozenset((modern.VERSION, modern.CLIENT_INFO, modern.CLIENT_CAPABILITIES, modern.LOG_LEVEL))
_MARK: Final = f'"{modern.PREFIX}'.encode()


def modern_code(code: int) -> int:
    """Return the code that an error of the legacy era has in the modern one."""
    return INVALID_PARAMS if code == _RESOURCE_NOT_FOUND else code


def legacy_code(code: int, method: str, data: object) -> int:
    """Return the code that an error of the modern era has in the legacy one: a resource that it names is missing."""
    is_missing = code == INVALID_PARAMS and method == names.RESOURCES_READ and is_object(data) and "uri" in data
    return _RESOURCE_NOT_FOUND if is_missing else code


def with_meta(params: bytes, meta: Mapping[str, Any]) -> bytes:
    """Return params, as JSON, with what every request of the modern era says of its sender."""
    if b'"_meta"' not in params:
        return b'{"_meta":%b%b%b' % (dump(meta), b"," if params != b"{}" else b"", params[1:])
    value: dict[str, Any] = json.loads(params)
    given: Any = value.get("_meta")
    value["_meta"] = {**(given if is_object(given) else {}), **meta}
    return dump(value)


def said_in(params: dict[str, Any], meta: Mapping[str, Any]) -> dict[str, Any]:
    """Return params that arrived in a session, with what a request of the modern era would say of its sender."""
    given: Any = params.get("_meta", {})
    return {**params, "_meta": {**given, **meta}} if is_object(given) else params


def without_meta(params: bytes) -> tuple[bytes, str]:
    """Return params, as JSON, without what only requests of the modern era say, and the log level that was among it.

    A server of both eras would take a request that says it for one of the modern era.
    """
    if _MARK not in params:
        return params, ""
    value: dict[str, Any] = json.loads(params)
    given: Any = value.get("_meta")
    if not is_object(given):
        return params, ""
    level: Any = given.get(modern.LOG_LEVEL)
    rest = {name: said for name, said in given.items() if name not in _SAID}
    value["_meta"] = rest
    if not rest:
        del value["_meta"]
    return dump(value), level if isinstance(level, str) else ""
