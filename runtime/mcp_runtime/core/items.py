"""Lists of what a peer offers are read item by item: an item that is not valid is left out and named.

A page is first read as a whole, which is all that usually happens. If that fails, halves of its list are read, down to
single items, so that a page with few invalid items costs few readings. Content blocks, sampling messages and params are
not such lists: one invalid item there refuses the message.
"""

from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from typing import Any, Final, TypeVar, get_origin

from mcp_runtime.core.errors import RemoteProtocolError, Unusable, clipped
from mcp_runtime.core.json.values import is_array, is_object
from mcp_runtime.core.method import RequestMethod
from mcp_runtime.core.model import Page
from mcp_runtime.core.protocol.jsonrpc import Result, parse

T = TypeVar("T")

MAX_UNUSABLE: Final = 500
"""How many invalid items of a page are named one by one; what remains of the list then counts as one."""
_NAMES: Final = ("name", "uri", "uriTemplate", "title")
"""The properties that identify an item, the first choice first."""


def read_items(
    method: RequestMethod[Any, Any],
    error: RemoteProtocolError,
    read: Callable[[dict[str, Any]], tuple[T, Any, Any]],
    report: Callable[[RemoteProtocolError], None],
    *,
    strict: bool = False,
) -> T | None:
    """Return a page without its invalid items; None if it is not a page, or if more than items is wrong.

    Args:
        method: the method of the request.
        error: why the result is not valid, with the result.
        read: reads a result as `read_result` does, and may change it; raises `RemoteProtocolError`.
        report: called with each invalid item, or with the error.
        strict: whether an invalid item makes the page invalid.
    """
    name = _list_of(method) if method.paginated and not strict else ""
    page: dict[str, Any] = error.raw if is_object(error.raw) else {}
    items: Any = page.get(name)
    if not is_array(items):
        report(error)
        return None
    # What surrounds the items is read with each of them, and must be neither large nor wrong.
    around = {key: value for key, value in page.items() if not isinstance(value, dict | list)}
    usable: list[Any] = []
    unusable: list[Unusable] = []
    try:
        read({**around, name: []})
        for start, size in _parts(items, lambda part: read({**around, name: deepcopy(part)}), unusable, f"/{name}/"):
            usable += items[start : start + size]
        found, *_ = read({**page, name: deepcopy(usable)})
    except RemoteProtocolError:
        report(error)
        return None
    if isinstance(found, Page):
        object.__setattr__(found, "__pydantic_private__", {"unusable": tuple(unusable)})
    for item in unusable:
        reason = f"an item of the list is left out: {clipped(item.reason)}"
        report(RemoteProtocolError(revision=error.revision, method=error.method, pointer=item.pointer, reason=reason))
    return found


def received(text: bytes, result: Result) -> Any:
    """Return a result as it was received, alone or in a batch; bridges change what was parsed before."""
    message: Any = parse(text)
    for each in message if is_array(message) else (message,):
        if is_object(each) and each.get("id") == result.call.id and "result" in each:
            return each["result"]
    return result.result


def _list_of(method: RequestMethod[Any, Any]) -> str:
    """Return the property of a paginated result that has the items."""
    fields = method.result.compile().load().__pydantic_fields__
    return next((str(field.alias) for field in fields.values() if get_origin(field.annotation) is list), "")


def _parts(
    items: Sequence[Any], read: Callable[[list[Any]], Any], unusable: list[Unusable], where: str
) -> Iterator[tuple[int, int]]:
    """Iterate over the parts of a list that can be read, by their first index and length."""
    waiting = [(0, len(items))]
    while waiting:
        start, size = waiting.pop()
        try:
            read(list(items[start : start + size]))
        except RemoteProtocolError as error:
            if size > 1 and len(unusable) < MAX_UNUSABLE:
                half = size // 2
                waiting += [(start + half, size - half), (start, half)]
                continue
            reason = f"this and {size - 1:,} more: too many items are not valid"
            if size == 1:  # the item was read as the first of its list
                reason = f"{error.pointer}: {error.reason}".replace(f"{where}0", "").removeprefix(": ")
            unusable.append(Unusable(pointer=f"{where}{start}", name=name_of(items[start]), reason=reason))
        else:
            yield start, size


def name_of(item: object) -> str:
    """Return what identifies an item of a list; empty if nothing does."""
    found = (item.get(name) for name in _NAMES) if is_object(item) else ()
    return next((name for name in found if isinstance(name, str)), "")
