"""What the client transports read of the messages that they receive; most they only carry."""

import re
from typing import Any, Final

from mcp_runtime.protocol.jsonrpc import MalformedMessage, is_object, parse

_VISIBLE: Final = re.compile(r"[\x21-\x7e]{1,64}")


def is_answer_to(message: bytes, id_: int | str) -> bool:
    """Whether a message answers a request."""
    value = object_in(message)
    return value.get("id") == id_ and ("result" in value or "error" in value)


def error_of(message: bytes) -> str:
    """Return the text of an error response; empty if the message is none."""
    error: Any = object_in(message).get("error")
    said: Any = error.get("message") if is_object(error) else None
    return said if isinstance(said, str) else ""


def revision_of(message: bytes) -> str:
    """Return the revision in the answer to `initialize`; empty if there is none."""
    result: Any = object_in(message).get("result")
    revision: Any = result.get("protocolVersion") if is_object(result) else None
    return revision if isinstance(revision, str) and _VISIBLE.fullmatch(revision) else ""


def object_in(message: bytes) -> dict[str, Any]:
    """Return a message as an object; empty if it is not one."""
    try:
        value: Any = parse(message)
    except MalformedMessage:
        return {}
    return value if is_object(value) else {}
