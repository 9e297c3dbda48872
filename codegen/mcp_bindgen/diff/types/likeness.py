"""Match union members and renamed properties between two sides."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import SequenceMatcher

from mcp_bindgen.ir.leaves import constants
from mcp_bindgen.ir.nodes import Field, Kind, ListOf, Literal, MapOf, Primitive, Protocol, Ref, Struct, TypeRef
from mcp_bindgen.ir.scalars import fits
from mcp_bindgen.ir.spell import spell

SIMILAR = 0.6
"""How similar two names must be to count as a rename (0 to 1)."""
ALIKE = 0.5
"""The share of properties that two objects must have in common to match (0 to 1)."""
MAX_PAIRS = 150
"""The maximum number of member pairs compared in depth; in larger unions only names and kinds are compared."""

_NUMBERS = (Kind.INTEGER, Kind.NUMBER)

Same = Callable[[TypeRef, TypeRef], bool]
"""Whether an old and a new type admit the same values."""


class Likeness:
    """Rates how certain it is that two union members correspond.

    Same name and shape ranks highest, then same shape, then same name, then similarity.
    """

    def __init__(self, old: Protocol, new: Protocol, same: Same) -> None:
        self._old = old
        self._new = new
        self._same = same

    def pairs(
        self, old: Sequence[TypeRef], new: Sequence[TypeRef]
    ) -> tuple[list[tuple[TypeRef, TypeRef]], list[TypeRef], list[TypeRef]]:
        """Pair the members of two unions, the most certain first, and return those without a partner on each side.

        The result depends neither on the order of the members nor on which side is the old one.
        """
        judge = self._like if len(old) * len(new) <= MAX_PAIRS else _roughly
        rows = [(judge(a, b), sorted((spell(a), spell(b))), a, b) for a in old for b in new]
        found: list[tuple[TypeRef, TypeRef]] = []
        left, right = list(old), list(new)
        for like, _, a, b in sorted(rows, key=lambda row: (-row[0], row[1])):
            if like >= ALIKE and a in left and b in right:
                left.remove(a)
                right.remove(b)
                found.append((a, b))
        return found, left, right

    def _like(self, old: TypeRef, new: TypeRef) -> float:
        match old, new:
            case Ref(), Ref():
                return self._structs(old, new)
            case Primitive(), Primitive():
                numbers = old.kind in _NUMBERS and new.kind in _NUMBERS
                return 2.0 if old == new else 1.0 if old.kind is new.kind else 0.9 * numbers
            case Literal(), Literal():
                return 1.0
            case (Literal() as closed, Primitive() as open_) | (Primitive() as open_, Literal() as closed):
                return 0.8 * all(fits(value, Primitive(kind=open_.kind)) for value in closed.values)
            case ListOf(item=a), ListOf(item=b):
                return 2.0 if self._same(old, new) else 1.0 if self._same(a, b) else 0.7
            case MapOf(), MapOf():
                return 2.0 if self._same(old, new) else 0.7
            case (Ref(), MapOf()) | (MapOf(), Ref()):
                return ALIKE
            case _:
                return 0.0

    def _structs(self, old: Ref, new: Ref) -> float:
        a, b = self._old.resolve(old), self._new.resolve(new)
        if not isinstance(a, Struct) or not isinstance(b, Struct):
            return 0.0
        same_name = 2.0 * (old.name == new.name)
        if constants(a) != constants(b):
            return same_name
        if self._same(old, new):
            return 3.0 + same_name
        names = [{f.wire_name for f in side.fields} for side in (a, b)]
        return same_name or len(names[0] & names[1]) / max(1, len(names[0] | names[1]))


def _roughly(old: TypeRef, new: TypeRef) -> float:
    return 2.0 if old == new else 0.7 * (type(old) is type(new) and not isinstance(old, Ref | Primitive))


def renamed(gone: Iterable[Field], come: Iterable[Field], same: Same) -> Mapping[str, str]:
    """Return the properties that were only renamed, old to new: same type and optionality, and similar names."""
    rows: list[tuple[float, list[str], str, str]] = []
    arrived = list(come)
    for old in gone:
        for new in arrived:
            like = _names_alike(old.wire_name, new.wire_name)
            if like >= SIMILAR and old.required == new.required and same(old.type, new.type):
                rows.append((-like, sorted((old.wire_name, new.wire_name)), old.wire_name, new.wire_name))
    found: dict[str, str] = {}
    for _, _, was, is_ in sorted(rows):
        if was not in found and is_ not in found.values():
            found[was] = is_
    return found


def _names_alike(old: str, new: str) -> float:
    """How similar two names are (0 to 1), in either order and ignoring how words are joined."""
    a, b = sorted(name.lower().replace("_", "").replace("-", "") for name in (old, new))
    return SequenceMatcher(None, a, b).ratio()
