"""Since when the names of a revision exist, and until when.

History comes from the names in all revisions; no revision is compared with another here. What replaces something that
was removed is a row of schema/replacements.toml.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from mcp_bindgen.ir.names import ENVELOPE
from mcp_bindgen.ir.nodes import Protocol, Struct


@dataclass(frozen=True, slots=True, kw_only=True)
class Lifetime:
    """The first revision with something, the first one without it again, and what replaces it; each may be empty."""

    since: str = ""
    removed: str = ""
    use: str = ""


class History:
    """The history of definitions, methods and properties.

    Args:
        every: all revisions, oldest first.
        replacements: what to use instead of something that a later revision removed, by name or place.
    """

    def __init__(self, every: Sequence[Protocol], replacements: Mapping[str, str]) -> None:
        self._every = every
        self._oldest = every[0].revision if every else ""
        self._names = {protocol.revision: names(protocol) for protocol in every}
        self._replacements = {
            name: replacements[method.name]
            for protocol in every
            for method in protocol.methods
            if method.name in replacements
            for name in (method.message, method.params, method.result)
            if name
        } | {**replacements}

    def revisions(self, name: str) -> list[str]:
        """Return the revisions that have a method or a definition of this name."""
        return [revision for revision, known in self._names.items() if name in known]

    def of(self, name: str) -> Lifetime:
        """Return the lifetime of a method or a definition."""
        return self._lifetime(name, [name in known for known in self._names.values()])

    def of_property(self, struct: str, name: str) -> Lifetime:
        """Return the lifetime of a property: `removed` only where its object remains, and does not admit it anyway.

        A message has the properties of its envelope whether a revision declares them or not.
        """
        found = [protocol.definitions.get(struct) for protocol in self._every]
        if name in ENVELOPE and any(isinstance(each, Struct) and each.field("method") for each in found):
            return Lifetime(since=self.of(struct).since)
        having = [isinstance(each, Struct) and each.field(name) is not None for each in found]
        lifetime = self._lifetime(f"{struct}.{name}", having)
        without = (
            each for each, protocol in zip(found, self._every, strict=True) if protocol.revision == lifetime.removed
        )
        remains = any(isinstance(each, Struct) and not each.indexed for each in without)
        return lifetime if remains else Lifetime(since=lifetime.since)

    def noted(self, name: str) -> Lifetime:
        """Return what the documentation of a name says: nothing of the oldest revision."""
        lifetime = self.of(name)
        return replace(lifetime, since="") if lifetime.since == self._oldest else lifetime

    def noted_property(self, struct: str, name: str) -> Lifetime:
        """Return what the documentation of a property says: nothing that is the same of its object."""
        lifetime = self.of_property(struct, name)
        return replace(lifetime, since="") if lifetime.since == self.of(struct).since else lifetime

    def _lifetime(self, name: str, having: Sequence[bool]) -> Lifetime:
        if True not in having:
            return Lifetime()
        since = self._every[having.index(True)].revision
        end = len(having) - having[::-1].index(True)
        if end == len(having):
            return Lifetime(since=since)
        return Lifetime(since=since, removed=self._every[end].revision, use=self._replacements.get(name, ""))


NO_HISTORY = History((), {})
"""The history of what no revision of the protocol has: of extensions, and of the tools of a server."""


def names(protocol: Protocol) -> set[str]:
    """Return the names of the definitions and methods of a revision."""
    return {*protocol.definitions, *(method.name for method in protocol.methods)}
