"""Methods without a schema: records of them from pydantic models, and their requests."""

from collections.abc import Mapping
from typing import Any, TypeVar, cast, overload

from pydantic import BaseModel

from mcp_runtime.core.connection.connection import Connection
from mcp_runtime.core.method import Direction, NotificationMethod, RequestMethod, typed_wire
from mcp_runtime.core.options import CallOptions

__all__ = ["send_request", "vendor_notification", "vendor_request"]

P = TypeVar("P")
R = TypeVar("R")


@overload
def vendor_request(name: str, params: None, result: type[R]) -> RequestMethod[None, R]: ...
@overload
def vendor_request(name: str, params: type[P], result: type[R]) -> RequestMethod[P, R]: ...
def vendor_request(name: str, params: type[Any] | None, result: type[R]) -> RequestMethod[Any, R]:
    """Return the record of a request, which either side may send.

    Args:
        name: the method, which includes the vendor: ``acme/order``.
        params: the type of its params, a pydantic model; None if it has none.
        result: the type of its result, a pydantic model.
    """
    return RequestMethod(
        name,
        message=name,
        direction=Direction.BOTH,
        params=None if params is None else typed_wire(params),
        params_required=params is not None,
        result=typed_wire(result),
    )


def vendor_notification(name: str, params: type[P] | None) -> NotificationMethod[P]:
    """Return the record of a notification, which either side may send: ``connection.notify(record, params)``.

    Args:
        name: the method, which includes the vendor: ``acme/smell``.
        params: the type of its params, a pydantic model; None if it has none.
    """
    return NotificationMethod(
        name,
        message=name,
        direction=Direction.BOTH,
        params=None if params is None else typed_wire(params),
        params_required=params is not None,
    )


async def send_request(
    connection: Connection,
    method: RequestMethod[P, R],
    params: P | Mapping[str, Any],
    options: CallOptions | None = None,
) -> R:
    """Send a vendor request, with the `_meta` that requests of the modern era carry; raises like `Connection.request`.

    Args:
        connection: the connection to the peer.
        method: the record of the request.
        params: its params, a pydantic model or a mapping.
        options: timeouts and progress; None for the defaults.
    """
    dumped = params.model_dump(mode="json", by_alias=True) if isinstance(params, BaseModel) else params
    given = cast("dict[str, Any]", dumped or {})
    if required := connection.request_meta():
        said: Mapping[str, Any] = given.get("_meta") or {}
        given = {**given, "_meta": {**required, **said}}
    record = vendor_request(method.name, dict[str, Any], cast("type[R]", method.result.load()))
    return await connection.request(record, given, options)
