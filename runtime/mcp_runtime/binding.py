"""What a generated revision hands to the runtime."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Final

from mcp_runtime.errors import BindingFormatError, PeerError
from mcp_runtime.method import MethodTable

FORMAT: Final = 1
"""The format of bindings that this runtime reads; bindings of another format must be generated anew."""


class Binding:
    """One generated revision: its name, its era (``legacy`` or ``modern``), its methods, the classes of its errors.

    Raises:
        BindingFormatError: the bindings were generated for another runtime.
    """

    __slots__ = ("_has_batches", "era", "errors", "format", "methods", "package", "revision")

    def __init__(
        self,
        *,
        format: int,
        package: str,
        revision: str,
        era: str,
        methods: MethodTable,
        errors: Mapping[int, type[PeerError]],
    ) -> None:
        if format != FORMAT:
            raise BindingFormatError(package, revision, found=format, expected=FORMAT)
        self.format = format
        self.package = package
        self.revision = revision
        self.era = era
        self.methods = methods
        self.errors = errors
        self._has_batches: bool | None = None

    def error(self, code: int, message: str, data: Any = None) -> PeerError:
        """Make the exception for an error that a peer answered, of the class that stands for its code."""
        return self.errors.get(code, PeerError)(code, message, data)

    @property
    def has_batches(self) -> bool:
        """Whether messages may come as arrays: whether the revision defines what such an array is."""
        if self._has_batches is None:
            self._has_batches = "JSONRPCBatchRequest" in dir(import_module(self.package))
        return self._has_batches

    @property
    def has_answers_without_id(self) -> bool:
        """Whether an error may answer a message whose id nobody knows: the type of such an answer came with it."""
        return "JSONRPCErrorResponse" in dir(import_module(self.package))

    def __repr__(self) -> str:
        return f"Binding({self.package}, revision={self.revision!r})"
