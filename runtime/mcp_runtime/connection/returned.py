"""Encodes what handlers return; an invalid result is the author's mistake, and never reaches the peer."""

import json
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, TypeAlias

from pydantic import ValidationError

from mcp_runtime.caching import CacheHint
from mcp_runtime.connection.requester import Requester
from mcp_runtime.json_text import finite, write_long
from mcp_runtime.method import RequestMethod, WireType
from mcp_runtime.model import WireModel
from mcp_runtime.protocol.binary import LONG, PLAIN, content_lists, has_long_binary
from mcp_runtime.protocol.jsonrpc import dump
from mcp_runtime.protocol.modern import stamped
from mcp_runtime.protocol.rules import judge_of
from mcp_runtime.protocol.text import clipped


class WrongResult(Exception):
    """A handler returned something that is not a valid result; the text continues from the handler's name."""


More: TypeAlias = Callable[[RequestMethod[Any, Any]], Mapping[str, WireType[Any]]]
"""Returns the result types of extensions for a method."""


def write_result(method: RequestMethod[Any, Any], result: object, more: More | None = None) -> bytes:
    """Encode what the handler of a method returned.

    Args:
        method: the method.
        result: an object of one of its result types, a value that validates as its usual one, or another pydantic
            model, which is written as it is.
        more: returns the result types of extensions.

    Raises:
        WrongResult: it matches none of them, a number in it is not finite, or it breaks a rule beyond the schema.
    """
    write = method.writers.get(type(result)) or _writer(method, result, more)
    try:
        return write(result)
    except ValueError as error:
        raise WrongResult(f"returned a value that JSON cannot express: {error}") from None


def introduced(encoded: bytes, result: Any, requester: Requester) -> bytes:
    """Return a result with this server's name in its `_meta` (2026-07-28, basic/index).

    Args:
        encoded: the encoded result.
        result: what it was encoded from: usually a model whose `_meta` is absent, so that nothing is parsed.
        requester: the recipient; its answers have a stamp.
    """
    stamp = requester.answers.stamp
    if _has_meta(result.__class__) and getattr(result, "meta", None) is None:
        return stamp + encoded[1:]
    tag = requester.result_tag if isinstance(result, dict) else ""
    return stamped(encoded, stamp, tag)


@lru_cache(maxsize=256)
def _has_meta(kind: type[Any]) -> bool:
    """Whether instances of a class have their `_meta` in the field of that name."""
    field = kind.model_fields.get("meta") if issubclass(kind, WireModel) else None
    return field is not None and field.alias == "_meta"


def hinted(result: Any, hint: CacheHint) -> Any:
    """Return a result with the caching hint, unless its author set one."""
    if not isinstance(result, WireModel):
        return result
    said = {"ttl_ms": hint.milliseconds, "cache_scope": hint.scope}
    unsaid = {n: v for n, v in said.items() if n in type(result).model_fields and n not in result.model_fields_set}
    return result.model_copy(update=unsaid) if unsaid else result


def said(encoded: bytes, hint: CacheHint) -> bytes:
    """Return an encoded result with the caching hint, although its own revision has no property for that."""
    return dump({"ttlMs": hint.milliseconds, "cacheScope": hint.scope, **json.loads(encoded)})


def _writer(method: RequestMethod[Any, Any], result: Any, more: More | None) -> Callable[[Any], bytes]:
    kind: type[Any] = result.__class__
    serializer: Any = getattr(kind, "__pydantic_serializer__", None)
    of_extensions = more(method).values() if more else ()
    expected = [type_.load() for type_ in (method.result, *method.alternatives, *of_extensions)]
    classes = tuple(one for one in expected if isinstance(one, type))
    if serializer is None:
        try:
            value = method.result.validate(result)
        except ValidationError:
            pass
        else:
            write_valid = _judged(value.__class__, method.result.encode)
            return lambda _: write_valid(value)
    elif method.payload or not issubclass(kind, WireModel) or issubclass(kind, classes):
        to_json: Callable[[Any], bytes] = serializer.to_json

        def write(value: Any) -> bytes:
            return finite(to_json(value))

        writer = _judged(kind, write)
        if not of_extensions:  # Extensions belong to one connection, the method is shared by all.
            method.writers[kind] = writer
        return writer
    names = " or ".join(str(getattr(one, "__name__", one)) for one in expected)
    raise WrongResult(f"returned {clipped(repr(result), 60)} ({kind.__name__}), not {names}")


def _judged(kind: type[Any], write: Callable[[Any], bytes]) -> Callable[[Any], bytes]:
    """Return a writer for results of a class that refuses those that break a rule beyond the schema."""
    judge = judge_of(kind)
    if judge is None:
        return write

    lists = content_lists(kind)
    serializer: Any = getattr(kind, "__pydantic_serializer__", None)

    def write_judged(value: Any) -> bytes:
        # Most results contain only text, and need no further check.
        is_plain, is_long = bool(lists), False
        for name in lists:
            for block in getattr(value, name, None) or ():
                if type(block) not in PLAIN:
                    is_plain, is_long = False, is_long or has_long_binary(block)
                elif isinstance(text := getattr(block, "text", None), str) and len(text) > LONG:
                    is_long = True
        written = write_long(serializer, value) if is_long else write(value)
        if is_plain:
            return written
        if (broken := judge(value, written)) is not None:
            raise WrongResult(f"returned a result with an error at {broken.pointer}: {broken.reason}")
        return written

    return write_judged
