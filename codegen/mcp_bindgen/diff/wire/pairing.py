"""Two objects at the same place: which of their properties correspond, and what kind of objects they are."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from mcp_bindgen.diff.sites import Ground
from mcp_bindgen.ir.leaves import forms, is_json_schema, members, rest_of
from mcp_bindgen.ir.nodes import ANY, Field, MapOf, Protocol, Struct, TypeRef

Object = Struct | MapOf
Same = Callable[[TypeRef, TypeRef], bool]
"""Whether an old and a new type admit the same values."""


@dataclass(frozen=True)
class Pairing:
    """Two objects and the properties that each declares, except some that are compared elsewhere."""

    old: Object
    new: Object
    skipped: frozenset[str] = frozenset()

    @cached_property
    def before(self) -> Mapping[str, Field]:
        """The properties that the old object declares."""
        return {name: field for name, field in members(self.old).items() if name not in self.skipped}

    @cached_property
    def after(self) -> Mapping[str, Field]:
        """The properties that the new object declares."""
        return {name: field for name, field in members(self.new).items() if name not in self.skipped}

    def gone(self) -> list[Field]:
        """Return the properties that only the old object declares."""
        return [self.before[name] for name in sorted(self.before.keys() - self.after.keys())]

    def come(self) -> list[Field]:
        """Return the properties that only the new object declares."""
        return [self.after[name] for name in sorted(self.after.keys() - self.before.keys())]

    def undeclared(self, name: str) -> TypeRef | None:
        """Return the type that the other side admits for a property that it does not declare, None if it rejects it."""
        return rest_of(self.new if name in self.before else self.old)

    def ground(self, name: str, protocols: tuple[Protocol, Protocol], *, in_capabilities: bool) -> Ground:
        """Return the kind of object that contains a property which only one side declares."""
        lacking, having, protocol = (
            (self.new, self.old, protocols[1]) if name in self.before else (self.old, self.new, protocols[0])
        )
        undeclared = rest_of(lacking)
        if undeclared is None and rest_of(having) is None:
            return Ground.CLOSED
        if undeclared is not None and forms(undeclared, protocol) != (ANY,):
            return Ground.OPEN
        if in_capabilities:
            return Ground.CAPABILITIES
        return Ground.SCHEMA if is_json_schema(name, self.old, self.new) else Ground.OPEN

    def moves(self, inner: "Pairing", same: Same) -> Iterator[tuple[Field, Field, bool]]:
        """Iterate over the properties that moved into or out of a sibling object.

        Yields:
            The property outside, the property inside, and whether it moved inwards.
        """
        for outside, inside, inwards in ((self.gone(), inner.come(), True), (self.come(), inner.gone(), False)):
            for outer in outside:
                found = next((field for field in inside if _is_moved(outer, field, same, inwards=inwards)), None)
                if found is not None:
                    yield outer, found, inwards


def _is_moved(outer: Field, inner: Field, same: Same, *, inwards: bool) -> bool:
    """Whether a property outside corresponds to one inside; names in `_meta` have a prefix."""
    if outer.wire_name != inner.wire_name.rpartition("/")[2] or outer.required != inner.required:
        return False
    return same(outer.type, inner.type) if inwards else same(inner.type, outer.type)
