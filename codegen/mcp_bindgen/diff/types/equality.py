"""Tell whether types of two revisions say the same, whatever they are called and however they are written."""

from collections.abc import Iterable
from difflib import SequenceMatcher
from typing import TypeAlias

from mcp_bindgen.diff.types.leaves import constants, forms, members, rest_of
from mcp_bindgen.ir.nodes import ListOf, Literal, MapOf, Primitive, Protocol, Ref, Struct, TypeRef

Answers: TypeAlias = dict[tuple[TypeRef, TypeRef], bool]
"""Which types say the same. Those that are being compared further out count as equal, or it would never end."""


class Equality:
    """Compares types of an old revision with types of a new one by what they admit.

    Names, aliases, nesting and order of unions, order of members, formats and prose make no difference. `pairs` are
    definitions that count as equal without a look inside, by their old name and their new one.
    """

    def __init__(self, old: Protocol, new: Protocol, pairs: Iterable[tuple[str, str]] = ()) -> None:
        self._old = old
        self._new = new
        self._pairs = frozenset(pairs)
        self._known: Answers = {}

    def same(self, old: TypeRef, new: TypeRef) -> bool:
        """Whether the two types say the same."""
        if (old, new) not in self._known:
            answers: Answers = {}
            self._known[old, new] = self._same(old, new, answers)
            # A yes may hang on a question that is open further out; a no never does.
            self._known |= {key: answer for key, answer in answers.items() if not answer}
        return self._known[old, new]

    def alike(self, old: Struct, new: Struct) -> bool:
        """Whether two objects say the same, even if they are one of `pairs` themselves."""
        return self._contents(old, new, {})

    def _same(self, old: TypeRef, new: TypeRef, answers: Answers) -> bool:
        key = (old, new)
        if key in self._known or key in answers:
            return self._known[key] if key in self._known else answers[key]
        if isinstance(old, Ref) and isinstance(new, Ref):
            if (old.name, new.name) in self._pairs:
                return True
            answers[key] = True
            answers[key] = self._forms(old, new, answers)
            return answers[key]
        return self._forms(old, new, answers)

    def _forms(self, old: TypeRef, new: TypeRef, answers: Answers) -> bool:
        before, after = forms(old, self._old), forms(new, self._new)
        if len(before) == 1 and len(after) == 1:
            return self._single(before[0], after[0], answers)
        return all(any(self._member(a, b, answers) for b in after) for a in before) and all(
            any(self._member(a, b, answers) for a in before) for b in after
        )

    def _member(self, old: TypeRef, new: TypeRef, answers: Answers) -> bool:
        """Whether two members of unions, none of them a union, say the same."""
        is_reference = isinstance(old, Ref) and isinstance(new, Ref)
        return self._same(old, new, answers) if is_reference else self._single(old, new, answers)

    def _single(self, old: TypeRef, new: TypeRef, answers: Answers) -> bool:
        if isinstance(old, Ref) and isinstance(new, Ref) and (old.name, new.name) in self._pairs:
            return True
        before, after = self._old.resolve(old), self._new.resolve(new)
        match before, after:
            case (Struct() | MapOf()), (Struct() | MapOf()):
                return self._contents(before, after, answers)
            case ListOf(), ListOf():
                return before.bounds == after.bounds and self._same(before.item, after.item, answers)
            case Primitive(), Primitive():
                return before.kind is after.kind and before.bounds == after.bounds
            case Literal(), Literal():
                return set(_each(before)) == set(_each(after))
            case _:
                return False

    def _contents(self, old: Struct | MapOf, new: Struct | MapOf, answers: Answers) -> bool:
        before, after = members(old), members(new)
        if before.keys() != after.keys() or any(before[n].required != after[n].required for n in before):
            return False
        if isinstance(old, MapOf) and isinstance(new, MapOf) and old.bounds != new.bounds:
            return False
        rest, other = rest_of(old), rest_of(new)
        same = rest is other if rest is None or other is None else self._same(rest, other, answers)
        return same and all(self._same(before[n].type, after[n].type, answers) for n in before)

    def likeness(self, old: Struct, new: Struct, ignored: frozenset[str] = frozenset()) -> float:
        """How much of two objects is the same: the share of equal members (0 to 1), 0 if their constants differ.

        A member of another type counts half, and those in `ignored` not at all while there are others.
        """
        if constants(old) != constants(new):
            return 0.0
        before, after = members(old), members(new)
        every = before.keys() | after.keys()
        every = every - ignored or every
        common = every & before.keys() & after.keys()
        equal = (1.0 if self.same(before[n].type, after[n].type) else 0.5 for n in common)
        return sum(equal) / len(every) if every else 1.0


def _each(literal: Literal) -> tuple[Literal, ...]:
    """The values, each as a constant, which tells true from 1."""
    return tuple(Literal(values=(value,)) for value in literal.values)


def name_likeness(old: str, new: str) -> float:
    """How alike two names are, whichever comes first (0 to 1)."""
    a, b = old.lower(), new.lower()
    return max(SequenceMatcher(None, a, b).ratio(), SequenceMatcher(None, b, a).ratio())
