"""Decide whether types of two revisions are equivalent or alike, whatever their names and notation."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher

from mcp_bindgen.diff.types.scalars import bound_sites
from mcp_bindgen.ir.leaves import constants, forms, is_json_value, members, rest_of
from mcp_bindgen.ir.names import closure, contained
from mcp_bindgen.ir.nodes import (
    ANY,
    Field,
    Kind,
    ListOf,
    Literal,
    MapOf,
    Primitive,
    Protocol,
    Ref,
    Struct,
    TypeRef,
    Union,
)
from mcp_bindgen.ir.scalars import fits
from mcp_bindgen.ir.spell import is_never, opaque_facts, spell


class Assumptions:
    """Answers to questions that refer to each other, as those about recursive types do.

    A question counts as answered with true while it is examined. If the answer is false, all answers found in the
    meantime are discarded, since they may depend on that assumption.
    """

    def __init__(self) -> None:
        self._answers: dict[Hashable, bool] = {}
        self._assumed: list[Hashable] = []
        self._depth = 0

    def decide(self, question: Hashable, examine: Callable[[], bool]) -> bool:
        """Return the answer to a question, examining it once."""
        if question in self._answers:
            return self._answers[question]
        start = len(self._assumed)
        self._answers[question] = True
        self._assumed.append(question)
        self._depth += 1
        found = examine()
        if not found:
            for assumed in self._assumed[start:]:
                if self._answers[assumed]:
                    del self._answers[assumed]
            del self._assumed[start:]
            self._answers[question] = False
        self._depth -= 1
        if not self._depth:
            self._assumed.clear()
        return found


def untouched(old: Protocol, new: Protocol) -> frozenset[str]:
    """Return the names of the definitions that are equal on both sides, as are all definitions that they refer to."""
    stated = {fact.name.partition(".")[0] for side in (old, new) for fact in opaque_facts(side)}
    users: dict[str, list[str]] = {}
    for name, definition in old.definitions.items():
        for other in contained(definition):
            users.setdefault(other, []).append(name)
    changed = [n for n, definition in old.definitions.items() if n in stated or definition != new.definitions.get(n)]
    return frozenset(old.definitions.keys() - closure(changed, lambda name: users.get(name, ())))


def stated(type_: TypeRef, protocol: Protocol) -> str:
    """Return what a schema says about a value that its type does not express, through references; empty if nothing."""
    found = [type_.opaque.text] if type_.opaque and not is_never(type_) else []
    while isinstance(type_, Ref):
        definition = protocol.definitions[type_.name]
        target = definition if isinstance(definition, Struct) else definition.type
        found += [target.opaque.text] if target.opaque and not is_never(target) else []
        if isinstance(target, Struct):
            break
        type_ = target
    # What a text refers to may differ: only files that are equal are known to agree.
    files = " and ".join(source.sha256[:12] for source in protocol.sources)
    return "; ".join(f"{text} in the schema {files}" if "$ref" in text else text for text in found)


def said(type_: TypeRef, protocol: Protocol) -> str:
    """Return what a schema says about a value beyond its type, also in the members of a union."""
    return "; ".join(sorted({text for _, text in marked(type_, protocol, "") if text}))


def marked(type_: TypeRef, protocol: Protocol, text: str) -> Iterator[tuple[TypeRef, str]]:
    """Iterate over the members of a union, each with what the schema says beyond the type."""
    pending: list[tuple[TypeRef, str]] = [(type_, text)]
    seen: set[tuple[TypeRef, str]] = set()
    while pending:
        part, outside = pending.pop()
        if (part, outside) in seen:
            continue
        seen.add((part, outside))
        text = "; ".join(filter(None, (outside, stated(part, protocol))))
        target = protocol.resolve(part)
        if isinstance(target, Union) and not is_json_value(target, protocol):
            pending += [(member, text) for member in target.members]
        elif isinstance(target, Struct):
            yield Ref(name=target.name), text
        else:
            yield ANY if isinstance(target, Union) else target, text


class Equality:
    """Compares types of an old revision with types of a new one by what they admit.

    Names, aliases, nesting and order of unions, order of properties and prose are ignored; so are formats, and what a
    schema says beyond its types, unless the comparison is `exact`. `pairs` are definitions that count as equal without
    comparing them, as old name and new name.
    """

    def __init__(
        self, old: Protocol, new: Protocol, pairs: Iterable[tuple[str, str]] = (), *, exact: bool = False
    ) -> None:
        self._old = old
        self._new = new
        self._exact = exact
        self._pairs = frozenset(pairs) | {(name, name) for name in untouched(old, new)}
        self._known = Assumptions()

    def same(self, old: TypeRef, new: TypeRef) -> bool:
        """Whether the two types are equivalent."""
        if isinstance(old, Ref) and isinstance(new, Ref):
            beyond = (old.opaque, new.opaque) if self._exact else (None, None)
            if (old.name, new.name) in self._pairs and beyond == (None, None):
                return True
            return self._known.decide((old.name, new.name, *beyond), lambda: self._forms(old, new))
        return self._forms(old, new)

    def _forms(self, old: TypeRef, new: TypeRef) -> bool:
        if self._exact and said(old, self._old) != said(new, self._new):
            return False
        before, after = forms(old, self._old), forms(new, self._new)
        if len(before) == 1 and len(after) == 1:
            return self._single(before[0], after[0])
        # Members that are written alike are compared first.
        return all(any(self._member(a, b) for b in sorted(after, key=lambda b: a != b)) for a in before) and all(
            any(self._member(a, b) for a in sorted(before, key=lambda a: a != b)) for b in after
        )

    def _member(self, old: TypeRef, new: TypeRef) -> bool:
        """Whether two union members, neither of them a union, are equivalent."""
        is_reference = isinstance(old, Ref) and isinstance(new, Ref)
        return self.same(old, new) if is_reference else self._single(old, new)

    def _single(self, old: TypeRef, new: TypeRef) -> bool:
        if isinstance(old, Ref) and isinstance(new, Ref) and (old.name, new.name) in self._pairs:
            return True
        before, after = self._old.resolve(old), self._new.resolve(new)
        match before, after:
            case (Struct() | MapOf()), (Struct() | MapOf()):
                return self.alike(before, after)
            case ListOf(), ListOf():
                return not any(bound_sites(before, after)) and self.same(before.item, after.item)
            case Primitive(), Primitive():
                same_format = before.format == after.format or not self._exact
                is_same = before.kind is after.kind and same_format
                return is_same and not any(bound_sites(before, after))
            case Literal(), Literal():
                return set(before.each()) == set(after.each())
            case _:
                return False

    def alike(self, old: Struct | MapOf, new: Struct | MapOf) -> bool:
        """Whether two objects are equivalent, even if they are one of `pairs` themselves."""
        before, after = members(old), members(new)
        if before.keys() != after.keys() or any(before[n].required != after[n].required for n in before):
            return False
        if any(bound_sites(old, new)):
            return False
        rest, other = rest_of(old), rest_of(new)
        same = rest is other if rest is None or other is None else self.same(rest, other)
        return same and all(self.same(before[n].type, after[n].type) for n in before)

    def likeness(self, old: Struct, new: Struct, ignored: frozenset[str] = frozenset()) -> float:
        """How similar two objects are: the share of equal properties (0 to 1), 0 if their constants differ.

        A property with a different type counts half; those in `ignored` count only if there are no others.
        """
        if constants(old) != constants(new):
            return 0.0
        before, after = members(old), members(new)
        every = before.keys() | after.keys()
        every = every - ignored or every
        common = every & before.keys() & after.keys()
        equal = (1.0 if self.same(before[n].type, after[n].type) else 0.5 for n in common)
        return sum(equal) / len(every) if every else 1.0


SIMILAR = 0.6
"""How similar two names must be to count as a rename (0 to 1)."""
ALIKE = 0.5
"""The share of properties that two objects must have in common to match (0 to 1)."""
MAX_PAIRS = 150
"""The maximum number of member pairs compared in depth; in larger unions only names and kinds are compared."""
MAX_ROUGH = 10_000
"""The maximum number of member pairs compared at all; in larger unions only equal members correspond."""
MAX_RENAMES = 2_500
"""The maximum number of pairs of names that may be a rename; with more, or with longer names, none is looked for."""
_MAX_NAME = 100
"""The maximum length of the name of a property that may be renamed, in characters."""

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
        if len(old) * len(new) > MAX_ROUGH:
            both = set(old) & set(new)
            gone, come = ([member for member in side if member not in both] for side in (old, new))
            return [(member, member) for member in dict.fromkeys(old) if member in both], gone, come
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
    left, arrived = ([one for one in side if len(one.wire_name) <= _MAX_NAME] for side in (gone, come))
    for old in left if len(left) * len(arrived) <= MAX_RENAMES else ():
        for new in arrived:
            like = name_likeness(old.wire_name, new.wire_name)
            if like >= SIMILAR and old.required == new.required and same(old.type, new.type):
                rows.append((-like, sorted((old.wire_name, new.wire_name)), old.wire_name, new.wire_name))
    found: dict[str, str] = {}
    for _, _, was, is_ in sorted(rows):
        if was not in found and is_ not in found.values():
            found[was] = is_
    return found


def name_likeness(old: str, new: str) -> float:
    """How similar two names are (0 to 1), in either order and ignoring how words are joined."""
    a, b = sorted(name.lower().replace("_", "").replace("-", "") for name in (old, new))
    return SequenceMatcher(None, a, b).ratio()
