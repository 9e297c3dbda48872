"""Methods outside the schema: a vendor's own requests and notifications."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Mapping
from functools import lru_cache
from typing import Any, TypeVar, cast

from pydantic import BaseModel

from mcp_runtime.method import AnyMethod, Direction, NotificationMethod, RequestMethod, WireType
from mcp_runtime.options import CallOptions

T = TypeVar("T")
P = TypeVar("P")


class TypedWire(WireType[T]):
    """A type that is available now, where a generated table only has its name."""

    __slots__ = ("_type",)

    def __init__(self, type_: type[T]) -> None:
        super().__init__(getattr(type_, "__module__", ""), getattr(type_, "__name__", repr(type_)))
        self._type = type_

    def load(self) -> Any:
        """Return the type."""
        return self._type


def typed_wire(type_: type[T]) -> WireType[T]:
    """Return the validator and serializer of a type, compiled once."""
    return cast("WireType[T]", _typed_wire(cast(Any, type_)))


@lru_cache(maxsize=256)
def _typed_wire(type_: type[Any]) -> WireType[Any]:
    return TypedWire(type_)


def vendor_request(name: str, params: type[P] | None, result: type[T]) -> RequestMethod[P, T]:
    """Return the record of a request that no schema has."""
    return RequestMethod(
        name,
        message=name,
        direction=Direction.BOTH,
        params=None if params is None else typed_wire(params),
        params_required=params is not None,
        result=typed_wire(result),
    )


def vendor_notification(name: str, params: type[P] | None) -> NotificationMethod[P]:
    """Return the record of a notification that no schema has."""
    return NotificationMethod(
        name,
        message=name,
        direction=Direction.BOTH,
        params=None if params is None else typed_wire(params),
        params_required=params is not None,
    )


class VendorMethods(ABC):
    """A connection's methods for vendor messages."""

    @abstractmethod
    async def request(self, method: RequestMethod[P, T], params: P | None, options: CallOptions | None) -> T:
        """Send a request and wait for its result."""

    @abstractmethod
    async def notify(self, method: NotificationMethod[P], params: P | None) -> None:
        """Send a notification."""

    @abstractmethod
    def request_meta(self) -> Mapping[str, Any]:
        """Return the `_meta` that every request must carry: none in the legacy era."""

    @abstractmethod
    def handle(self, method: AnyMethod, handler: Callable[[Any, Any], Any]) -> None:
        """Register the handler of a method."""

    async def send_request(
        self,
        method: str,
        params: BaseModel | Mapping[str, Any] | None,
        result_type: type[T],
        options: CallOptions | None = None,
    ) -> T:
        """Send a vendor request; raises like `request`.

        Args:
            method: its name, which includes the vendor: ``acme/order``.
            params: its params; None if it has none.
            result_type: the type of the result, a pydantic model.
            options: timeouts and progress; None for the defaults.
        """
        if required := self.request_meta():
            given = params.model_dump(mode="json", by_alias=True) if isinstance(params, BaseModel) else params or {}
            params = {**given, "_meta": {**required, **(given.get("_meta") or {})}}
        record = vendor_request(method, type(params) if params is not None else None, result_type)
        return await self.request(record, params, options)

    async def send_notification(self, method: str, params: BaseModel | Mapping[str, Any] | None = None) -> None:
        """Send a vendor notification; raises like `notify`.

        Args:
            method: its name, which includes the vendor: ``acme/order``.
            params: its params; None if it has none.
        """
        await self.notify(vendor_notification(method, type(params) if params is not None else None), params)

    def handle_request(
        self,
        method: str,
        params_type: type[P],
        handler: Callable[[P, Any], Coroutine[Any, Any, Any] | BaseModel | Mapping[str, Any]],
    ) -> None:
        """Register a handler for a vendor request.

        Args:
            method: its name, which includes the vendor: ``acme/order``.
            params_type: the type of its params, a pydantic model.
            handler: receives the params and the context; returns a pydantic model or a mapping. A plain function runs
                in a thread.
        """
        self.handle(vendor_request(method, params_type, dict), handler)

    def handle_notification(
        self, method: str, params_type: type[P], handler: Callable[[P, Any], Coroutine[Any, Any, None] | None]
    ) -> None:
        """Register a handler for a vendor notification.

        Args:
            method: its name, which includes the vendor: ``acme/order``.
            params_type: the type of its params, a pydantic model.
            handler: receives the params and the context. A plain function runs in a thread.
        """
        self.handle(vendor_notification(method, params_type), handler)
