"""The revisions that an implementation is bridged to."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from mcp_runtime.bridge.policy import LossAction, OnLoss
from mcp_runtime.core.binding import Binding
from mcp_runtime.core.errors import BindingFormatError, UnsupportedRevision

if TYPE_CHECKING:
    from mcp_runtime.bridge.revisions import Conversions
    from mcp_runtime.bridge.wire import Wire


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Bridging:
    """How to talk to peers of other revisions: ``ServerOptions(revisions=Bridging(...))``, and ClientOptions likewise.

    Attributes:
        revisions: the revisions to offer; that of the implementation is always among them. None for all that are
            installed.
        policy: the action for each kind of value that a revision cannot express; `LossAction.FALLBACK` by default.
        on_loss: called with each loss, once per kind, connection, method and place. Losses are also logged.
    """

    revisions: tuple[str, ...] | None = None
    policy: Mapping[str, LossAction] = field(default_factory=dict[str, LossAction])
    on_loss: OnLoss | None = None

    def limited(self, revisions: tuple[str, ...]) -> "Bridging":
        """Return the same for these revisions only.

        Args:
            revisions: the revisions to offer besides that of the implementation.
        """
        return replace(self, revisions=revisions)

    def bridges(self, binding: Binding) -> "Bridges":
        """Return the bridges of an implementation.

        Args:
            binding: the revision that it is written against.

        Raises:
            ValueError: its package has no conversions, or the policy names an unknown kind.
            UnsupportedRevision: a requested revision cannot be bridged.
            BindingFormatError: the conversions were generated for another version of the runtime.
        """
        return Bridges(binding, self)


class Bridges:
    """The bridges of one implementation; it implements `Bridges`.

    Args:
        binding: the revision that it is written against.
        bridging: which revisions to offer, and what to do with values that they cannot express.

    Attributes:
        revisions: the offered revisions, oldest first.

    Raises:
        ValueError: its package has no conversions, or the policy names an unknown kind.
        UnsupportedRevision: a requested revision cannot be bridged.
        BindingFormatError: the conversions were generated for another version of the runtime.
    """

    def __init__(self, binding: Binding, bridging: Bridging) -> None:
        self.binding = binding
        self.bridging = bridging
        self._package = binding.package.rpartition(".")[0]
        self._conversions: dict[str, tuple[Conversions, Conversions]] = {}
        self._index = _index(self._package)
        known: Mapping[str, str] = self._index.REVISIONS
        if not hasattr(self._index, "ERAS"):
            from mcp_runtime.bridge.table import FORMAT

            raise BindingFormatError(f"{self._package}.bridges", binding.revision, found=1, expected=FORMAT)
        if binding.revision not in known:
            reason = f"bridges are available only between {', '.join(known)}"
            raise UnsupportedRevision((binding.revision,), tuple(known), reason)
        there = {revision for revision, folder in known.items() if find_spec(f"{self._package}.{folder}")}
        wanted = there if bridging.revisions is None else {*bridging.revisions, binding.revision}
        if not wanted <= there:
            raise UnsupportedRevision(tuple(sorted(wanted - there)), tuple(sorted(there)))
        self.revisions = tuple(sorted(wanted))
        strange = sorted(set(bridging.policy) - set(self._index.KINDS))
        if strange:
            raise ValueError(f"policy: unknown kind {', '.join(strange)}; known kinds: {', '.join(self._index.KINDS)}")

    def era(self, revision: str) -> str:
        """Return how conversations of a revision begin: ``legacy`` or ``modern``."""
        found: str = self._index.ERAS[revision]
        return found

    def wire(self, revision: str) -> "Wire | None":
        """Return a bridge to an offered revision for one conversation; None if it is the implementation's own."""
        own, package, bridging = self.binding, self._package, self.bridging
        if revision == own.revision:
            return None
        # Conversions cost nothing where none is needed, and conversations in the same revision share them.
        from mcp_runtime.bridge.revisions import conversions
        from mcp_runtime.bridge.wire import Wire

        if revision not in self._conversions:
            out = conversions(package, own.revision, revision, bridging.policy)
            self._conversions[revision] = out, conversions(package, revision, own.revision, bridging.policy)
        spoken: Binding = import_module(f"{package}.{self._index.REVISIONS[revision]}").BINDING
        return Wire(own, spoken, *self._conversions[revision], bridging.on_loss)


def _index(package: str) -> Any:
    try:
        return import_module(".bridges", package or "-")  # a package at the top has no siblings
    except ModuleNotFoundError as error:
        reason = f"{package or 'the package'} has no conversions; generate two revisions or more: mcp-bindgen generate"
        raise ValueError(reason) from error
