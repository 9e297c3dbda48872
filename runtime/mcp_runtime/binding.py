"""What a generated revision hands to the runtime."""

from collections.abc import Mapping
from typing import Any, Final

from mcp_runtime.errors import BindingFormatError, PeerError
from mcp_runtime.method import MethodTable

FORMAT: Final = 2
"""The format of bindings that this runtime reads; bindings of another format must be generated anew."""


class Binding:
    """One generated revision.

    Args:
        format: the format that the bindings were generated in.
        package: the package that holds them.
        revision: the revision of the protocol.
        era: how its conversations begin: ``legacy`` (with a handshake) or ``modern`` (without one).
        has_batches: whether messages may come in arrays.
        has_errors_without_id: whether an error response may leave out the id of its request.
        result_tag: the property that tells the results of a request apart; empty if there is none.
        methods: its methods by name.
        errors: the exceptions for its error codes.

    Raises:
        BindingFormatError: the bindings were generated for another runtime.
    """

    __slots__ = (
        "era",
        "errors",
        "format",
        "has_batches",
        "has_errors_without_id",
        "methods",
        "package",
        "result_tag",
        "revision",
    )

    def __init__(
        self,
        *,
        format: int,
        package: str,
        revision: str,
        era: str,
        has_batches: bool = False,
        has_errors_without_id: bool = False,
        result_tag: str = "",
        methods: MethodTable,
        errors: Mapping[int, type[PeerError]],
    ) -> None:
        if format != FORMAT:
            raise BindingFormatError(package, revision, found=format, expected=FORMAT)
        self.format = format
        self.package = package
        self.revision = revision
        self.era = era
        self.has_batches = has_batches
        self.has_errors_without_id = has_errors_without_id
        self.result_tag = result_tag
        self.methods = methods
        self.errors = errors

    def error(self, code: int, message: str, data: Any = None) -> PeerError:
        """Make the exception for an error that a peer answered, of the class that stands for its code."""
        return self.errors.get(code, PeerError)(code, message, data)

    def __repr__(self) -> str:
        return f"Binding({self.package}, revision={self.revision!r})"
