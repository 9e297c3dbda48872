"""What a generated revision passes to the runtime."""

from collections.abc import Mapping
from typing import Any, Final

from mcp_runtime.errors import BindingFormatError, PeerError
from mcp_runtime.method import MethodTable

FORMAT: Final = 2
"""The bindings format that this runtime reads. Bindings in any other format must be regenerated."""


class Binding:
    """One generated revision.

    Args:
        format: the version of the bindings format they were generated in.
        package: the package that contains them.
        revision: the revision of the protocol.
        era: how conversations begin: ``legacy`` (with a handshake) or ``modern`` (without one).
        has_batches: whether messages may arrive in JSON arrays.
        has_errors_without_id: whether an error response may omit the id of its request.
        result_tag: the property that distinguishes the kinds of result of one request; may be empty.
        methods: the methods, by name.
        errors: the exception class for each error code.

    Raises:
        BindingFormatError: the bindings were generated for another version of the runtime.
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
        """Return the exception for an error response, of the class registered for its code.

        Args:
            code: the JSON-RPC error code.
            message: the peer's error message.
            data: what the peer added, any JSON value; None if nothing.
        """
        return self.errors.get(code, PeerError)(code, message, data)

    def __repr__(self) -> str:
        return f"Binding({self.package}, revision={self.revision!r})"
