"""What a generated revision passes to the runtime."""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, TypeAlias

from mcp_runtime.core.errors import BindingFormatError, PeerError, UnsupportedRevision
from mcp_runtime.core.method import AnyMethod, MethodTable, WireType

if TYPE_CHECKING:
    from mcp_runtime.core.protocol.dispatch import Side
    from mcp_runtime.core.protocol.validation import Reader

FORMAT: Final = 3
"""The bindings format that this runtime reads. Bindings in any other format must be regenerated."""


@dataclass(slots=True, eq=False, repr=False, kw_only=True)
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
        bridging: how implementations of this revision talk to peers of others, unless a program says otherwise.

    Raises:
        BindingFormatError: the bindings were generated for another version of the runtime.
    """

    format: int
    package: str
    revision: str
    era: str
    has_batches: bool = False
    has_errors_without_id: bool = False
    result_tag: str = ""
    methods: MethodTable
    errors: Mapping[int, type[PeerError]]
    bridging: "Bridging"

    def __post_init__(self) -> None:
        if self.format != FORMAT:
            raise BindingFormatError(self.package, self.revision, found=self.format, expected=FORMAT)

    def bridges(self, revisions: "Revisions") -> "Bridges | None":
        """Return the bridges of an implementation of this revision; None if it speaks no other.

        Args:
            revisions: which revisions it speaks.

        Raises:
            ValueError: a string that is neither ``all`` nor ``own``; or its package has no conversions.
            UnsupportedRevision: a revision is not installed.
            BindingFormatError: the conversions were generated for another version of the runtime.
        """
        if isinstance(revisions, Sequence) and not isinstance(revisions, str):
            revisions = tuple(revisions)
        return _bridges(self, revisions)

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


@lru_cache(maxsize=64)
def _bridges(binding: Binding, revisions: "str | tuple[str, ...] | Bridging") -> "Bridges | None":
    """Return the same bridges for the same question: each session over HTTP asks, and they share conversions."""
    match revisions:
        case "own":
            return None
        case "all":
            with suppress(ValueError, UnsupportedRevision):
                return binding.bridging.bridges(binding)
            return None  # a package of one revision has no conversions
        case str():
            raise ValueError(f"revisions: 'all', 'own', a list or a Bridging, not {revisions!r}")
        case tuple():
            return binding.bridging.limited(revisions).bridges(binding)
        case _:
            return revisions.bridges(binding)


StandIn: TypeAlias = Callable[[Any], Coroutine[Any, Any, Any]]
"""Takes the params of a request and returns its result, both as in the implementation's revision."""


class Wire(Protocol):
    """One conversation in a revision other than the implementation's.

    Attributes:
        binding: the bindings of the revision in use.
        adds_meta: whether the implementation is of the legacy era and the peer of the modern one.
        stand_ins: what replaces client requests that the revision in use does not have, by method.
        listen: listens for changes of lists and resources in a session; None where the peer's era has a request for it.
    """

    binding: Binding
    adds_meta: bool
    stand_ins: Mapping[str, StandIn]
    listen: Callable[[Sequence[str], Sequence[str]], Coroutine[Any, Any, Any]] | None

    def spoken(self, method: AnyMethod) -> AnyMethod:
        """Return a method's record in the revision in use; its own if only the implementation's has it."""
        ...

    def has(self, method: AnyMethod) -> bool:
        """Whether the revision in use has a method; those of extensions belong to every revision."""
        ...

    def check(self, method: AnyMethod) -> None:
        """Raise a `MissingCapability` unless the revision in use has a method."""

    def outgoing(self, method: AnyMethod, part: str, encoded: bytes) -> bytes:
        """Return outgoing params or an outgoing result, converted to the revision in use."""
        ...

    def incoming(self, method: AnyMethod, part: str, value: dict[str, Any], text: bytes, reader: "Reader") -> Any:
        """Return an incoming part as the implementation's revision has it; takes ownership of `value`."""
        ...

    def addressed(self, method: AnyMethod, params: bytes, meta: Mapping[str, Any]) -> bytes:
        """Return outgoing params with or without the `_meta` that only the modern era has."""
        ...

    def incoming_code(self, code: int, method: str, data: object) -> int:
        """Return the code of a peer's error as the implementation's revision has it."""
        ...

    def outgoing_code(self, code: int, method: str, data: object) -> int:
        """Return the code of a handler's error, converted to the revision in use."""
        ...

    def is_needless(self, method: AnyMethod) -> bool:
        """Whether the peer's era has no use for a notification."""
        ...

    def types(self, method: AnyMethod, part: str) -> tuple[WireType[Any], ...]:
        """Return the types that a part of a method's messages may have in the revision in use."""
        ...

    def declarable(self, side: "Side", capabilities: dict[str, Any]) -> dict[str, Any]:
        """Return those of this side's capabilities that the revision in use has."""
        ...

    def declared(self, side: "Side", capabilities: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return those of the peer's capabilities that the revision in use has."""
        ...

    async def begin_client(self, connection: Any, named: Mapping[str, str], timeout: float) -> None:
        """Provide what the server's era does differently, once a client's conversation has begun.

        Args:
            connection: the `Connection`.
            named: the client's identity.
            timeout: seconds to wait until the server confirms that it reports changes of its lists.
        """

    def begin_session(self, connection: Any, info: Mapping[str, Any], capabilities: Mapping[str, Any]) -> None:
        """Let a modern-era server answer a legacy-era session.

        Args:
            connection: the `Connection`, before features are installed.
            info: the client's name and version, keyed by wire names.
            capabilities: what the client declared.
        """

    def begin_stateless(self, connection: Any, listeners: Any) -> None:
        """Let a legacy-era server answer stateless requests, for whose requester a `Connection` is set up.

        Args:
            connection: the `Connection`.
            listeners: its `Listeners`.
        """


class Bridges(Protocol):
    """The bridges of one implementation to other revisions.

    Attributes:
        binding: the revision that it is written against.
        revisions: the offered revisions, oldest first.
    """

    binding: Binding
    revisions: tuple[str, ...]

    def era(self, revision: str) -> str:
        """Return how conversations of an offered revision begin: ``legacy`` or ``modern``."""
        ...

    def wire(self, revision: str) -> Wire | None:
        """Return a bridge to an offered revision for one conversation; None if it is the implementation's own."""
        ...


class Bridging(Protocol):
    """Which revisions to offer besides an implementation's own; `mcp_runtime.Bridging` is what programs use."""

    def __hash__(self) -> int: ...

    def limited(self, revisions: tuple[str, ...]) -> "Bridging":
        """Return the same for these revisions only."""
        ...

    def bridges(self, binding: Binding) -> Bridges:
        """Return the bridges of an implementation that is written against a revision."""
        ...


Revisions: TypeAlias = Literal["all", "own"] | Sequence[str] | Bridging
"""The revisions that an implementation speaks: all that are installed, its own only, or a list beside its own."""
