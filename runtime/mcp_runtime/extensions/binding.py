"""What a generated extension passes to the runtime."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mcp_runtime.core.binding import FORMAT
from mcp_runtime.core.errors import BindingFormatError
from mcp_runtime.core.method import AnyMethod, MethodTable, WireType, by_name

__all__ = ["ExtensionBinding"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtensionBinding:
    """One generated extension of a revision.

    Attributes:
        format: the version of the bindings format it was generated in, that of `Binding`.
        package: the package that contains it.
        id: its identifier in the capabilities of both sides, such as ``com.acme/orders``.
        revision: the revision that it extends; empty for any.
        methods: the methods that it adds, by name.
        results: the results that it adds to requests of the revision: their types by ``resultType``, by method.
        filters: the type of the properties that it adds to the filter of subscriptions, by the method of the message.
        settings: the type of its settings in the capabilities; None if it has none.

    Raises:
        BindingFormatError: it was generated for another version of the runtime.
    """

    format: int
    package: str
    id: str
    revision: str
    methods: MethodTable
    results: Mapping[str, Mapping[str, WireType[Any]]] = field(default_factory=dict[str, Mapping[str, WireType[Any]]])
    filters: Mapping[str, WireType[Any]] = field(default_factory=dict[str, WireType[Any]])
    settings: WireType[Any] | None = None

    def __post_init__(self) -> None:
        if self.format != FORMAT:
            raise BindingFormatError(self.package, self.revision, found=self.format, expected=FORMAT)

    @classmethod
    def of(cls, id: str, *methods: AnyMethod) -> "ExtensionBinding":
        """Return an extension of any revision that adds `vendor_request` and `vendor_notification` records.

        Args:
            id: its identifier, such as ``com.acme/orders``.
            methods: the methods that it adds.
        """
        return cls(format=FORMAT, package="", id=id, revision="", methods=by_name(methods))

    @property
    def headers(self) -> Mapping[str, str]:
        """The property of the params that is repeated in the header ``Mcp-Name``, by method."""
        return {name: method.named for name, method in self.methods.items() if method.named}
